// Artifacts for GPUs: launches, PTX and machine code are checked like everything else.
#include "runtime/exec/ArtifactReader.h"
#include "test/runtime/support/TestProgram.h"

#include <catch2/catch.hpp>
#include <functional>

namespace fb = minigptc::fb;
using namespace minigptc::runtime;
using namespace minigptc::runtime::test;
using Catch::Matchers::Contains;

TEST_CASE("code of GPUs has the form that a driver takes") {
  auto refusal = [](const std::function<void(TestProgram &)> &change) {
    TestProgram program = makeCudaProgram();
    change(program);
    StatusOr<Program> read = readArtifact(program.finish());
    return read ? std::string() : read.status().message();
  };
  auto blob = [](TestProgram &p, std::string text) {
    return std::make_unique<fb::Blob>(p.blobs.add(std::as_bytes(std::span(text))));
  };
  auto launch = [&](const std::function<void(fb::CudaLaunchT &)> &change) {
    return refusal([&](TestProgram &p) { change(*p.table.kernels[1]->cuda); });
  };
  StatusOr<Program> good = readArtifact(makeCudaProgram().finish());
  REQUIRE(good);
  CHECK(checkTarget(*good).ok());
  CHECK(good->kernels[1].cuda.block == 64);
  CHECK(good->deviceCode().kernels[1].cuda.ptx == "kernel scale");

  CHECK_THAT(launch([](auto &l) { l.grid = 0; }), Contains("no sensible size"));
  CHECK_THAT(launch([](auto &l) { l.grid = 1u << 31; }), Contains("no sensible size"));
  CHECK_THAT(launch([](auto &l) { l.block = 0; }), Contains("no sensible size"));
  CHECK_THAT(launch([](auto &l) { l.block = 1025; }), Contains("no sensible size"));
  CHECK_THAT(launch([](auto &l) { l.shared_bytes = 1 << 20; }), Contains("no sensible size"));
  CHECK_THAT(launch([](auto &l) { l.ptx = nullptr; }), Contains("no PTX that ends"));
  CHECK_THAT(launch([](auto &l) { *l.ptx = {l.ptx->offset(), 5}; }), Contains("no PTX that ends"));
  CHECK_THAT(launch([](auto &l) { *l.ptx = {1 << 30, 5}; }), Contains("outside of the file"));
  CHECK_THAT(refusal([](TestProgram &p) { p.table.kernels[0]->cuda = nullptr; }),
             Contains("has no launch on a GPU"));
  CHECK_THAT(refusal([](TestProgram &p) { p.table.target->kind = fb::TargetKind::cpu; }),
             Contains("kernels without code"));
  CHECK_THAT(refusal([&](TestProgram &p) {
               p.table.target->kind = fb::TargetKind::cpu;
               p.table.code = blob(p, "ELF");
             }),
             Contains("has a launch on a GPU"));
  CHECK_THAT(refusal([](TestProgram &p) { p.table.target->kind = fb::TargetKind(2); }),
             Contains("unknown kind of target"));
  CHECK_THAT(refusal([&](TestProgram &p) { p.table.code = blob(p, "ELF"); }),
             Contains("code of a CPU in a program for GPUs"));
  CHECK_THAT(refusal([&](TestProgram &p) { p.table.emulated = blob(p, "ELF"); }),
             Contains("no machine code"));

  auto cubins = [&](std::vector<std::pair<uint32_t, bool>> archs, std::string head) {
    return refusal([&](TestProgram &p) {
      for (auto [arch, specific] : archs) {
        auto cubin = std::make_unique<fb::CubinT>();
        cubin->arch = arch;
        cubin->specific = specific;
        cubin->code = blob(p, head);
        p.table.cubins.push_back(std::move(cubin));
      }
    });
  };
  std::string elf(64, '\0');
  elf.replace(0, 6,
              "\x7f"
              "ELF\x02\x01");
  elf[18] = char(190);
  CHECK(cubins({{90, false}, {90, true}, {80, false}}, elf) == "");
  CHECK_THAT(cubins({{90, true}, {90, true}}, elf), Contains("sm_90 twice"));
  CHECK_THAT(cubins({{0, false}}, elf), Contains("no known architecture"));
  CHECK_THAT(cubins({{80, false}}, elf.substr(0, 40)), Contains("is no cubin"));
  elf[18] = 62;
  CHECK_THAT(cubins({{80, false}}, elf), Contains("is no cubin"));
}

TEST_CASE("launches on a GPU have groups where the kernel takes a table of them") {
  auto groups = [](size_t kernel, size_t count) {
    TestProgram program = makeCudaProgram();
    fb::BlockT &step = *program.table.blocks[1];
    fb::Instruction &launch = step.instructions[4]; // t = t + t
    auto first = uint32_t(step.operands.size());
    for (size_t i = 0; i < 2 * count; ++i)
      step.operands.push_back(kernel == 0 || i % 2 == 0 ? 0 : 6); // w, or w and the rate
    for (size_t i = 0; i < count; ++i) {
      step.buffers.emplace_back(fb::BufferKind::frame, 0, step.frame_size, 256);
      step.operands.push_back(uint32_t(step.buffers.size() - 1));
      step.frame_size += 256;
    }
    launch = {
        fb::Opcode::launch, uint32_t(kernel), first, uint32_t(2 * count), uint32_t(count), 0, 0};
    StatusOr<Program> read = readArtifact(program.finish());
    return read ? std::string() : read.status().message();
  };
  CHECK(groups(0, 2) == "");
  CHECK(groups(1, 1) == "");
  CHECK_THAT(groups(1, 2), Contains("kernel 'scale' takes fewer groups"));
  CHECK_THAT(groups(0, 65536), Contains("kernel 'add' takes fewer groups"));
}
