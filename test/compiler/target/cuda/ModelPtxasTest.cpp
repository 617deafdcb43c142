//===- ModelPtxasTest.cpp - the models' kernels as machine code -----------===//
//
// Every kernel that models are made of, in all precisions and some modes, through `ptxas -v`: it
// is accepted, keeps everything in registers, and a block of it fits a multiprocessor. What
// `minigptc inspect` reads out of machine code is what ptxas says.
//
//===----------------------------------------------------------------------===//
#include "runtime/base/File.h"
#include "runtime/drivers/cuda/CubinInfo.h"
#include "runtime/exec/ArtifactReader.h"
#include "test/compiler/target/cuda/Ptxas.h"
#include <catch2/catch.hpp>

#include <cstdlib>
#include <filesystem>
#include <regex>
#include <set>
#include <unistd.h>

namespace runtime = minigptc::runtime;
namespace fs = std::filesystem;

namespace {
/// A directory that is gone after the test.
struct Folder {
  Folder() : path(fs::temp_directory_path() / ("minigptc-ptxas-" + std::to_string(getpid()))) {
    fs::create_directories(path);
  }
  ~Folder() { fs::remove_all(path); }
  fs::path path;
};

constexpr const char *kModels[] = {
    "--preset nano",
    "--preset nano --set training.precision=bf16",
    "--preset minigpt-tiny",
    "--preset minigpt-tiny --set training.precision=bf16",
    "--preset nano --devices 4 --mode fsdp_tp",
    "--preset nano --devices 2 --mode tp_sp --set training.precision=bf16",
    // The sizes of a real model, with a vocabulary that no access of 16 bytes divides.
    "--preset default --set model.d_model=768 --set model.num_heads=12 --set model.d_ff=2048 "
    "--set model.num_layers=2 --set model.vocab_size=50257 --set model.tie_embeddings=true "
    "--set training.batch_size=8 --set training.precision=bf16",
};
constexpr const char *kArchs[] = {"sm_80", "sm_90a", "sm_100", "sm_120"};
constexpr int64_t kRegistersOfBlock = 65536;

runtime::Program compileModel(const std::string &arguments, const Folder &folder) {
  std::string file = (folder.path / "model.mgx").string();
  std::string command = std::string(MINIGPTC_BIN_DIR) + "/minigptc compile " + arguments +
                        " --target cuda --quiet -o " + file;
  INFO(command);
  REQUIRE(std::system(command.c_str()) == 0);
  auto bytes = runtime::readFile(file);
  REQUIRE(bytes);
  auto program = runtime::readArtifact(*bytes);
  REQUIRE(program);
  return *program;
}

/// Kernels as one module: the heads of all but the first are dropped.
std::string joinModules(const std::vector<runtime::KernelInfo> &kernels) {
  static const std::regex head("(^|\n)\\.(version|target|address_size)[^\n]*");
  std::string all;
  for (const runtime::KernelInfo &kernel : kernels) {
    std::string ptx(kernel.cuda.ptx);
    all += all.empty() ? ptx : std::regex_replace(ptx, head, "$1");
    all += "\n";
  }
  return all;
}

void checkKernel(const runtime::KernelInfo &kernel, const PtxasKernel &said,
                 const runtime::cuda::CubinKernel &read) {
  INFO(kernel.symbol << " for " << kernel.cuda.block << " threads: " << said.registers
                     << " registers");
  CHECK(said.localBytes == 0);
  CHECK(said.sharedBytes == 0); // All is dynamic: the launch says how much.
  CHECK(int64_t(said.registers) * kernel.cuda.block <= kRegistersOfBlock);
  std::string bound = ".maxntid " + std::to_string(kernel.cuda.block) + ", 1, 1";
  CHECK(kernel.cuda.ptx.find(bound) != std::string_view::npos);

  CHECK(read.registers == uint32_t(said.registers));
  CHECK(read.stackBytes == uint32_t(said.localBytes));
  CHECK(read.sharedBytes == uint64_t(said.sharedBytes));
  CHECK(read.codeBytes > 0);
}
} // namespace

TEST_CASE("ptxas accepts every kernel of the models, without spills") {
  if (!hasPtxas()) {
    WARN("no ptxas in the path: kernels are not assembled");
    return;
  }
  Folder folder;
  std::set<std::string> known;
  for (const char *model : kModels) {
    INFO(model);
    runtime::Program program = compileModel(model, folder);
    std::vector<runtime::KernelInfo> kernels;
    for (const runtime::KernelInfo &kernel : program.kernels)
      if (known.insert(std::string(kernel.symbol)).second)
        kernels.push_back(kernel);
    std::string ptx = joinModules(kernels);
    for (const char *arch : kArchs) {
      std::string cubin = (folder.path / "kernels.cubin").string();
      PtxasReport report = assemble(ptx, arch, cubin);
      INFO(arch << ": " << report.text);
      REQUIRE(report.accepted);
      auto bytes = runtime::readFile(cubin);
      REQUIRE(bytes);
      auto read = runtime::cuda::readCubin(*bytes);
      REQUIRE(read);
      REQUIRE(read->size() == kernels.size());
      for (const runtime::KernelInfo &kernel : kernels)
        checkKernel(kernel, report.kernels.at(std::string(kernel.symbol)),
                    read->at(std::string(kernel.symbol)));
    }
  }
  CHECK(known.size() > 150);
}

TEST_CASE("machine code in artifacts keeps everything in registers") {
  if (!hasPtxas()) {
    WARN("no CUDA toolkit: no machine code is made");
    return;
  }
  // nvJitLink compiles kernels in another way than ptxas, with more registers.
  Folder folder;
  for (const char *model : {kModels[0], kModels[1]}) {
    INFO(model);
    runtime::Program program =
        compileModel(std::string(model) + " --gpu-arch sm_80,sm_90a,sm_100,sm_120", folder);
    REQUIRE(program.cubins.size() == std::size(kArchs));
    for (const runtime::Cubin &cubin : program.cubins) {
      auto read = runtime::cuda::readCubin(cubin.code);
      REQUIRE(read);
      for (const runtime::KernelInfo &kernel : program.kernels) {
        const runtime::cuda::CubinKernel &code = read->at(std::string(kernel.symbol));
        INFO(kernel.symbol << " for sm_" << cubin.arch << ": " << code.registers << " registers");
        CHECK(code.stackBytes == 0);
        CHECK(int64_t(code.registers) * kernel.cuda.block <= kRegistersOfBlock);
      }
    }
  }
}

TEST_CASE("what a kernel takes is read from machine code as ptxas says it") {
  if (!hasPtxas()) {
    WARN("no ptxas in the path");
    return;
  }
  // A static array in shared memory, and one that is indexed at run time, on the stack.
  const char *ptx = R"(
.version 7.0
.target sm_80
.address_size 64
.visible .entry odd(.param .u64 p, .param .u32 i)
.maxntid 96, 1, 1
{
  .shared .align 4 .b8 tile[2052];
  .local .align 4 .b8 depot[256];
  .reg .b32 %r<8>;
  .reg .b64 %d<8>;
  ld.param.u64 %d1, [p];
  ld.param.u32 %r1, [i];
  mul.wide.u32 %d2, %r1, 4;
  mov.u64 %d3, depot;
  add.u64 %d4, %d3, %d2;
  st.local.u32 [%d4], %r1;
  mov.u64 %d5, tile;
  add.u64 %d6, %d5, %d2;
  st.shared.u32 [%d6], %r1;
  bar.sync 0;
  ld.local.u32 %r2, [depot+4];
  ld.shared.u32 %r3, [tile+8];
  add.u32 %r4, %r2, %r3;
  st.global.u32 [%d1], %r4;
  ret;
})";
  Folder folder;
  for (const char *arch : kArchs) {
    std::string cubin = (folder.path / "odd.cubin").string();
    PtxasReport report = assemble(ptx, arch, cubin);
    INFO(arch << ": " << report.text);
    REQUIRE(report.accepted);
    const PtxasKernel &said = report.kernels.at("odd");
    CHECK(said.localBytes == 256);
    CHECK(said.sharedBytes == 2052);
    auto bytes = runtime::readFile(cubin);
    REQUIRE(bytes);
    auto read = runtime::cuda::readCubin(*bytes);
    REQUIRE(read);
    const runtime::cuda::CubinKernel &odd = read->at("odd");
    CHECK(odd.registers == uint32_t(said.registers));
    CHECK(odd.stackBytes == 256);
    CHECK(odd.sharedBytes == 2052);

    // Whatever is cut off or overwritten, nothing is read beyond the bytes.
    for (size_t size = 0; size < bytes->size(); size += 61)
      (void)runtime::cuda::readCubin(std::span(*bytes).first(size));
    for (size_t at = 0; at < bytes->size(); at += 3) {
      std::vector<std::byte> damaged = *bytes;
      damaged[at] = std::byte(0xff);
      (void)runtime::cuda::readCubin(damaged);
    }
  }
}
