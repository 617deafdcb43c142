// The reader against files that are wrong in every way we could think of.
#include "runtime/base/Cpu.h"
#include "runtime/base/Hash.h"
#include "runtime/exec/ArtifactReader.h"
#include "test/runtime/support/TestProgram.h"

#include <catch2/catch.hpp>
#include <cstddef>
#include <cstring>
#include <functional>
#include <random>

using namespace minigptc::runtime;
using namespace minigptc::runtime::test;
namespace fb = minigptc::fb;

namespace {

/// The message that refuses the test program after a change; "" if it is accepted.
std::string refusal(const std::function<void(TestProgram &)> &change) {
  TestProgram program = makeTestProgram();
  change(program);
  StatusOr<Program> result = readArtifact(program.finish());
  return result ? "" : result.status().message();
}

using Catch::Matchers::Contains;

} // namespace

TEST_CASE("a valid artifact is read") {
  StatusOr<Program> program = readArtifact(makeTestProgram().finish());
  REQUIRE(program.ok());
  CHECK(program->kernels.size() == 4);
  CHECK(program->findEntry("step")->inputs[0].donatedTo == 0);
  CHECK(program->findEntry("nothing") == nullptr);
  CHECK(program->blocks[1].frameSize == 768);
  CHECK(program->constants[0].size() == 256);
  CHECK(reinterpret_cast<uintptr_t>(program->constants[0].data()) % 64 == 0);
  CHECK(program->placeOf(1) == "model.cpp:20");
  CHECK(program->placeOf(kNoLocation) == "");
  CHECK(program->metadata == "{\"name\":\"test\"}");
  CHECK(checkTarget(*program).ok());
}

TEST_CASE("a file that is cut short is refused at any length") {
  std::vector<std::byte> file = makeTestProgram().finish();
  for (size_t size = 0; size < file.size(); size += size < 200 ? 1 : 97) {
    StatusOr<Program> result = readArtifact(std::span(file).first(size));
    REQUIRE_FALSE(result.ok());
    CHECK(result.status().code() == StatusCode::dataLoss);
  }
  CHECK_THAT(readArtifact(std::span(file).first(5000)).status().message(),
             Contains("cut short: 5000 bytes"));
  file.push_back({});
  CHECK_THAT(readArtifact(file).status().message(), Contains("too long"));
}

TEST_CASE("any changed byte is noticed") {
  std::vector<std::byte> file = makeTestProgram().finish();
  for (size_t at = 0; at < file.size(); at += at < 200 ? 1 : 97) {
    file[at] ^= std::byte(1);
    CHECK_FALSE(readArtifact(file).ok());
    file[at] ^= std::byte(1);
  }
  CHECK(readArtifact(file).ok());
}

TEST_CASE("other files and other versions say what they are") {
  std::vector<std::byte> file = makeTestProgram().finish();
  std::string text = "#!/bin/sh\nexit 1\n";
  CHECK(readArtifact(std::as_bytes(std::span(text))).status().message() ==
        "this is not an artifact");
  CHECK_FALSE(readArtifact({}).ok());
  file[8] = std::byte(kArtifactVersion + 1);
  Status status = readArtifact(file).status();
  CHECK_THAT(status.message(), Contains("has format 7, this runtime reads format 6"));
  CHECK_THAT(status.help(), Contains("compile it again"));
}

TEST_CASE("passes and layers of a pipeline are calls") {
  auto why = [](std::vector<fb::Pass> passes, std::vector<uint32_t> layers) {
    TestProgram program = makeTestProgram();
    program.table.blocks[1]->passes = std::move(passes);
    program.table.blocks[1]->layers = std::move(layers);
    return readArtifact(program.finish()).status().message();
  };
  CHECK(why({fb::Pass(2, 0, 5, true)}, {3}) == "");
  CHECK_THAT(why({fb::Pass(0, 0, 0, true)}, {}), Contains("a pass of a micro-batch is no call"));
  CHECK_THAT(why({fb::Pass(99, 0, 0, true)}, {}), Contains("a pass of a micro-batch is no call"));
  CHECK_THAT(why({fb::Pass(2, ~0u, 0, true)}, {}), Contains("piece 4294967295"));
  CHECK_THAT(why({}, {4}), Contains("a layer is no call"));
}

TEST_CASE("an artifact for another machine is refused") {
  auto targetError = [](const std::function<void(fb::TargetT &)> &change) {
    TestProgram program = makeTestProgram();
    change(*program.table.target);
    StatusOr<Program> read = readArtifact(program.finish());
    REQUIRE(read.ok());
    return checkTarget(*read);
  };
  Status triple = targetError([](auto &target) { target.triple = "riscv64-linux"; });
  CHECK(triple.code() == StatusCode::failedPrecondition);
  CHECK_THAT(triple.message(), Contains("riscv64-linux"));
  Status feature = targetError([](auto &target) { target.features.push_back("avx9999"); });
  CHECK(feature.code() == StatusCode::failedPrecondition);
  CHECK_THAT(feature.message(), Contains("has no 'avx9999'"));
  CHECK(targetError([](auto &target) { target.features = hostCpuFeatures(); }).ok());
}

TEST_CASE("buffers lie inside of what they are a part of") {
  auto buffer = [](size_t number, fb::Buffer value) {
    return refusal([&](TestProgram &p) { p.table.blocks[1]->buffers[number] = value; });
  };
  using enum fb::BufferKind;
  CHECK(buffer(7, {frame, 0, 512, 256}) == "");
  CHECK_THAT(buffer(7, {frame, 0, 576, 256}), Contains("outside"));
  CHECK_THAT(buffer(7, {frame, 0, ~0ull - 63, 256}), Contains("outside"));
  CHECK_THAT(buffer(7, {frame, 0, 64, ~0ull}), Contains("outside"));
  CHECK_THAT(buffer(7, {frame, 0, 32, 256}), Contains("not aligned"));
  CHECK_THAT(buffer(0, {argument, 7, 0, 256}), Contains("argument that is not there"));
  CHECK_THAT(buffer(0, {argument, 0, 64, 256}), Contains("outside"));
  CHECK_THAT(buffer(9, {constant, 1, 0, 256}), Contains("constant that is not there"));
  CHECK_THAT(buffer(9, {constant, 0, 0, 320}), Contains("outside"));
  CHECK_THAT(buffer(7, {fb::BufferKind(3), 0, 0, 256}), Contains("unknown kind"));
  CHECK_THAT(buffer(7, {frame, 0, 0, 128}), Contains("128 bytes where 256 are needed"));
}

TEST_CASE("instructions get operands of the right number and size") {
  auto instruction = [](size_t number, const std::function<void(fb::Instruction &)> &change) {
    return refusal([&](TestProgram &p) { change(p.table.blocks[1]->instructions[number]); });
  };
  CHECK_THAT(instruction(1, [](auto &i) { i = {fb::Opcode::launch, 9, 2, 2, 1, 0, 0}; }),
             Contains("kernel that is not there"));
  CHECK_THAT(instruction(1, [](auto &i) { i = {fb::Opcode::launch, 2, 2, 1, 1, 0, 0}; }),
             Contains("takes other operands"));
  CHECK_THAT(instruction(1, [](auto &i) { i = {fb::Opcode::launch, 2, 99, 2, 1, 0, 0}; }),
             Contains("operands that are not there"));
  CHECK_THAT(instruction(1, [](auto &i) { i = {fb::Opcode::launch, 2, ~0u, 2, 1, 0, 0}; }),
             Contains("operands that are not there"));
  CHECK_THAT(instruction(1, [](auto &i) { i = {fb::Opcode::launch, 2, 2, 2, 1, 2, 0}; }),
             Contains("location that is not there"));
  CHECK(instruction(1, [](auto &i) { i = {fb::Opcode::launch, 2, 2, 2, 1, kNoLocation, 0}; }) ==
        "");
  CHECK_THAT(
      instruction(
          1, [](auto &i) { i = {fb::Opcode(uint8_t(fb::Opcode::MAX) + 1), 2, 2, 2, 1, 0, 0}; }),
      Contains("unknown operation"));
  CHECK_THAT(instruction(5, [](auto &i) { i = {fb::Opcode::gemm, 1, 12, 2, 1, 0, 0}; }),
             Contains("product that is not there"));
  CHECK_THAT(instruction(5, [](auto &i) { i = {fb::Opcode::gemm, 0, 12, 1, 1, 0, 0}; }),
             Contains("two inputs and one output"));
  CHECK_THAT(instruction(4, [](auto &i) { i = {fb::Opcode::copy, 0, 0, 1, 1, 0, 0}; }),
             Contains("different sizes"));
  CHECK_THAT(instruction(4, [](auto &i) { i = {fb::Opcode::copy, 0, 0, 2, 1, 0, 0}; }),
             Contains("one input and one output"));
  CHECK_THAT(instruction(0, [](auto &i) { i = {fb::Opcode::scalars, 1, 0, 1, 1, 0, 0}; }),
             Contains("scalar program that is not there"));
  CHECK_THAT(instruction(0, [](auto &i) { i = {fb::Opcode::scalars, 0, 0, 0, 1, 0, 0}; }),
             Contains("takes other operands"));
}

TEST_CASE("groups of a launch have operands each, and memory of their own") {
  // add(f32[8,8], f32[8,8]) -> f32[8,8]
  auto launch = [](std::vector<uint32_t> inputs, std::vector<uint32_t> outputs,
                   std::vector<fb::Buffer> more = {}) {
    return refusal([&](TestProgram &p) {
      fb::BlockT &block = *p.table.blocks[1];
      block.buffers.insert(block.buffers.end(), more.begin(), more.end()); // 10, …
      block.instructions[4] = {fb::Opcode::launch,
                               0,
                               uint32_t(block.operands.size()),
                               uint32_t(inputs.size()),
                               uint32_t(outputs.size()),
                               0,
                               0};
      block.operands.insert(block.operands.end(), inputs.begin(), inputs.end());
      block.operands.insert(block.operands.end(), outputs.begin(), outputs.end());
    });
  };
  CHECK(launch({7, 7, 8, 0}, {7, 8}) == ""); // each in place
  CHECK(launch({0, 9, 0, 9, 0, 9}, {3, 7, 8}) == "");
  CHECK_THAT(launch({7, 7, 8}, {7, 8}), Contains("takes other operands"));
  CHECK_THAT(launch({7, 7, 8, 0}, {7}), Contains("takes other operands"));
  CHECK_THAT(launch({7, 7, 8, 0}, {}), Contains("takes other operands"));
  CHECK_THAT(launch({7, 7, 8, 1}, {7, 8}), Contains("8 bytes where 256 are needed"));
  CHECK_THAT(launch({7, 7, 8, 0}, {7, 4}), Contains("8 bytes where 256 are needed"));
  CHECK_THAT(launch({7, 7, 7, 7}, {8, 0}), Contains("writes a constant or an input"));
  const char *race = "groups of a launch write one another's buffers";
  CHECK_THAT(launch({0, 0, 0, 0}, {7, 7}), Contains(race));
  CHECK_THAT(launch({0, 0, 7, 0}, {7, 8}), Contains(race));
  CHECK_THAT(launch({0, 8, 7, 0}, {7, 8}), Contains(race));
  // Half of another group's buffer.
  fb::Buffer between(fb::BufferKind::frame, 0, 128, 256), last(fb::BufferKind::frame, 0, 512, 256);
  CHECK_THAT(launch({0, 0, 0, 0}, {8, 10}, {between}), Contains(race));
  CHECK_THAT(launch({10, 0, 0, 0}, {11, 8}, {between, last}), Contains(race));
  CHECK(launch({7, 0, 7, 0}, {11, 8}, {between, last}) == "");
}

TEST_CASE("nothing writes inputs or constants") {
  auto target = [](uint32_t buffer) {
    return refusal([&](TestProgram &p) { p.table.blocks[1]->operands.back() = buffer; });
  };
  CHECK_THAT(target(1), Contains("writes a constant or an input"));
  CHECK_THAT(target(9), Contains("writes a constant or an input"));
  CHECK_THAT(target(100), Contains("no buffer"));
}

TEST_CASE("outputs lie apart, and reach into inputs in place only") {
  const char *overlap = "an output overlaps an input, and is not in its place";
  auto launch = [](uint32_t operand, uint32_t buffer) { // of t = t + t; 10: half of t and of p
    return refusal([&](TestProgram &p) {
      fb::BlockT &block = *p.table.blocks[1];
      block.buffers.emplace_back(fb::BufferKind::frame, 0, 128, 256);
      block.operands[block.instructions[4].first_operand() + operand] = buffer;
    });
  };
  CHECK(launch(1, 7) == "");
  CHECK(launch(2, 8) == "");
  CHECK_THAT(launch(2, 10), Contains(overlap));
  CHECK_THAT(launch(0, 10), Contains(overlap));
  auto gemm = [](uint32_t out) {
    return refusal([&](TestProgram &p) {
      fb::BlockT &block = *p.table.blocks[1];
      block.operands[block.instructions[5].first_operand() + 2] = out;
    });
  };
  CHECK_THAT(gemm(7), Contains(overlap));
  CHECK(gemm(3) == "");
}

TEST_CASE("calls stay inside the frame and end") {
  auto call = [](fb::Instruction value) {
    return refusal([&](TestProgram &p) { p.table.blocks[1]->instructions[2] = value; });
  };
  CHECK_THAT(call({fb::Opcode::call, 0, 5, 1, 1, 0, 576}), Contains("frame does not lie"));
  CHECK_THAT(call({fb::Opcode::call, 0, 5, 1, 1, 0, ~0ull - 63}), Contains("frame does not lie"));
  CHECK_THAT(call({fb::Opcode::call, 0, 5, 1, 1, 0, 500}), Contains("frame does not lie"));
  CHECK_THAT(call({fb::Opcode::call, 3, 5, 1, 1, 0, 512}), Contains("block that is not there"));
  CHECK_THAT(call({fb::Opcode::call, 2, 5, 1, 1, 0, 512}), Contains("takes other operands"));
  CHECK_THAT(refusal([](TestProgram &p) {
               p.table.blocks[0]->instructions[1] = {fb::Opcode::call, 0, 3, 1, 1, 0, 0};
             }),
             Contains("calls itself"));
  // Each block calls the next one twice: 2^40 instructions, and a chain that is too deep.
  auto chain = [](size_t length) {
    return refusal([&](TestProgram &p) {
      for (size_t i = 0; i < length; ++i) {
        auto block = std::make_unique<fb::BlockT>();
        block->name = "chain";
        if (i + 1 < length)
          for (int call = 0; call < 2; ++call)
            block->instructions.emplace_back(fb::Opcode::call, uint32_t(p.table.blocks.size() + 1),
                                             0, 0, 0, 0, 0);
        p.table.blocks.push_back(std::move(block));
      }
    });
  };
  CHECK(chain(20) == "");
  CHECK_THAT(chain(40), Contains("too many instructions"));
  CHECK_THAT(chain(5000), Contains("nested too deep"));
}

TEST_CASE("loops stay inside their operands in every call") {
  // @rows copies 64 bytes; a block of its own calls it four times over 256 bytes.
  auto loop = [](const std::function<void(fb::LoopT &)> &change,
                 fb::Instruction call = {fb::Opcode::repeat, 0, 0, 1, 1, 0, 0}) {
    return refusal([&](TestProgram &p) {
      auto rows = std::make_unique<fb::BlockT>(), caller = std::make_unique<fb::BlockT>();
      rows->name = "rows", caller->name = "caller";
      rows->num_inputs = caller->num_inputs = 1;
      rows->arguments = {64, 64}, caller->arguments = {256, 256};
      rows->frame_size = 64, caller->frame_size = 128;
      for (auto *block : {rows.get(), caller.get()}) {
        for (uint32_t i : {0, 1})
          block->buffers.emplace_back(fb::BufferKind::argument, i, 0, block->arguments[i]);
        block->operands = {0, 1};
      }
      rows->instructions = {{fb::Opcode::copy, 0, 0, 1, 1, 0, 0}};
      caller->instructions = {call};
      auto table = std::make_unique<fb::LoopT>();
      table->block = uint32_t(p.table.blocks.size());
      table->count = 4;
      table->strides = {64, 64};
      change(*table);
      p.table.loops.push_back(std::move(table));
      p.table.blocks.push_back(std::move(rows));
      p.table.blocks.push_back(std::move(caller));
    });
  };
  auto unchanged = [](fb::LoopT &) {};
  CHECK(loop(unchanged) == "");
  CHECK(loop([](auto &l) { l.strides = {0, 64}; }) == "");
  CHECK_THAT(loop([](auto &l) { l.count = 5; }), Contains("256 bytes where 320 are needed"));
  CHECK_THAT(loop([](auto &l) { l.strides[1] = 128; }), Contains("where 448 are needed"));
  CHECK_THAT(loop([](auto &l) { l.count = 0; }), Contains("never runs"));
  CHECK_THAT(loop([](auto &l) { l.strides = {64, 32}; }), Contains("not aligned"));
  CHECK_THAT(loop([](auto &l) { l.strides = {64}; }), Contains("number of strides"));
  CHECK_THAT(loop([](auto &l) { l.strides = {64, 64, 64}; }), Contains("number of strides"));
  CHECK_THAT(loop([](auto &l) { l.block = 99; }), Contains("block that is not there"));
  CHECK_THAT(loop([](auto &l) { l.block = 1; }), Contains("takes other operands"));
  // 2^62 · 64 wraps around to 0; so does the sum with the argument's size.
  CHECK_THAT(loop([](auto &l) { l.count = (1ull << 58) + 1; }), Contains("reaches too far"));
  CHECK_THAT(loop([](auto &l) { l.count = 1ull << 58; }), Contains("reaches too far"));
  CHECK_THAT(loop([](auto &l) {
               l.count = 2, l.strides = {0, ~0ull - 63};
             }),
             Contains("reaches too far"));
  // Without strides nothing limits the count but the time that it takes.
  CHECK_THAT(loop([](auto &l) {
               l.count = 1ull << 40, l.strides = {0, 0};
             }),
             Contains("too many instructions"));
  CHECK_THAT(loop([](auto &l) {
               l.count = ~0ull, l.strides = {0, 0};
             }),
             Contains("too many instructions"));
  CHECK_THAT(loop(unchanged, {fb::Opcode::repeat, 1, 0, 1, 1, 0, 0}),
             Contains("loop that is not there"));
  CHECK_THAT(loop(unchanged, {fb::Opcode::repeat, 0, 0, 1, 1, 0, 128}),
             Contains("frame does not lie"));
  CHECK_THAT(loop(unchanged, {fb::Opcode::repeat, 0, 0, 2, 0, 0, 0}),
             Contains("takes other operands"));
  CHECK_THAT(refusal([](TestProgram &p) {
               auto table = std::make_unique<fb::LoopT>();
               table->count = 1;
               table->strides = {0, 0};
               p.table.loops.push_back(std::move(table));
               p.table.blocks[0]->instructions[1] = {fb::Opcode::repeat, 0, 3, 1, 1, 0, 0};
             }),
             Contains("calls itself"));
}

TEST_CASE("branches and loops with a condition fit the blocks that they call") {
  // @move copies 64 bytes, @ask one byte of them; the caller has 64 bytes in, 64 and one out.
  auto with = [](fb::Instruction call, const std::function<void(TestProgram &)> &change = {}) {
    return refusal([&](TestProgram &p) {
      uint32_t first = uint32_t(p.table.blocks.size());
      auto add = [&](const char *name, std::vector<uint64_t> arguments, uint32_t inputs,
                     std::vector<uint32_t> operands, fb::Instruction instruction) {
        auto block = std::make_unique<fb::BlockT>();
        block->name = name;
        block->num_inputs = inputs;
        block->arguments = arguments;
        block->frame_size = 64;
        for (uint32_t i = 0; i < arguments.size(); ++i)
          block->buffers.emplace_back(fb::BufferKind::argument, i, 0, arguments[i]);
        block->operands = operands;
        block->instructions = {instruction};
        p.table.blocks.push_back(std::move(block));
      };
      add("move", {64, 64}, 1, {0, 1}, {fb::Opcode::copy, 0, 0, 1, 1, 0, 0});
      add("ask", {64, 1}, 1, {1}, {fb::Opcode::device_index, 0, 0, 0, 0, 0, 0});
      p.table.blocks.back()->instructions.clear();
      // Operands: the byte, the input; the output, the byte.
      add("caller", {64, 64, 1}, 1, {2, 0, 1, 2}, call);
      auto branch = std::make_unique<fb::BranchT>();
      branch->on_true = branch->on_false = first;
      p.table.branches.push_back(std::move(branch));
      auto loop = std::make_unique<fb::WhileLoopT>();
      loop->condition = first + 1;
      loop->body = first;
      p.table.while_loops.push_back(std::move(loop));
      if (change)
        change(p);
    });
  };
  const fb::Instruction branch{fb::Opcode::branch, 0, 0, 2, 1, 0, 0};
  const fb::Instruction loop{fb::Opcode::while_loop, 0, 1, 1, 2, 0, 0};
  CHECK(with(branch) == "");
  CHECK(with(loop) == "");
  CHECK_THAT(with({fb::Opcode::branch, 1, 0, 2, 1, 0, 0}), Contains("branch that is not there"));
  CHECK_THAT(with({fb::Opcode::branch, 0, 0, 0, 1, 0, 0}), Contains("without a predicate"));
  CHECK_THAT(with({fb::Opcode::branch, 0, 0, 1, 1, 0, 0}), Contains("takes other operands"));
  CHECK_THAT(with({fb::Opcode::branch, 0, 0, 2, 1, 0, 64}), Contains("frame does not lie"));
  CHECK_THAT(with(branch, [](TestProgram &p) { p.table.branches[0]->on_false = 99; }),
             Contains("block that is not there"));
  CHECK_THAT(with(branch,
                  [](TestProgram &p) {
                    p.table.branches[0]->on_false = uint32_t(p.table.blocks.size()) - 1;
                  }),
             Contains("takes other operands"));
  CHECK_THAT(with({fb::Opcode::while_loop, 1, 1, 1, 2, 0, 0}), Contains("loop that is not there"));
  CHECK_THAT(with({fb::Opcode::while_loop, 0, 1, 0, 2, 0, 0}),
             Contains("carries more than it gets"));
  CHECK_THAT(with({fb::Opcode::while_loop, 0, 1, 1, 0, 0, 0}),
             Contains("carries more than it gets"));
  CHECK_THAT(with({fb::Opcode::while_loop, 0, 0, 1, 2, 0, 0}),
             Contains("1 bytes where 64 are needed"));
  CHECK_THAT(with(loop,
                  [](TestProgram &p) {
                    p.table.while_loops[0]->condition = uint32_t(p.table.blocks.size()) - 1;
                  }),
             Contains("takes other operands"));
  CHECK_THAT(with(loop, [](TestProgram &p) { p.table.while_loops[0]->body = 99; }),
             Contains("block that is not there"));
}

TEST_CASE("matrix products reach no further than their buffers") {
  auto gemm = [](const std::function<void(fb::GemmT &)> &change) {
    return refusal([&](TestProgram &p) { change(*p.table.gemms[0]); });
  };
  CHECK(gemm([](auto &g) { g.lhs_strides = {1, 8}; }) == "");
  CHECK_THAT(gemm([](auto &g) {
               g.lhs_strides = {9, 1};
             }),
             Contains("256 bytes where 284 are needed"));
  CHECK_THAT(gemm([](auto &g) { g.m = 9; }), Contains("are needed"));
  CHECK_THAT(gemm([](auto &g) { g.m = -1; }), Contains("no sensible size"));
  CHECK_THAT(gemm([](auto &g) { g.lhs_strides = {-8, 1}; }), Contains("negative stride"));
  CHECK_THAT(gemm([](auto &g) { g.lhs_strides = {0, 1}; }), Contains("coincide"));
  CHECK_THAT(gemm([](auto &g) { g.lhs_strides = {INT64_MAX, 1}; }), Contains("reaches too far"));
  CHECK_THAT(gemm([](auto &g) { g.lhs_strides = {8}; }), Contains("number of strides"));
  CHECK_THAT(gemm([](auto &g) { g.batch = {2}; }), Contains("number of strides"));
  CHECK_THAT(gemm([](auto &g) { g.element = fb::ElementType::i32; }),
             Contains("neither f32 nor f64"));
  CHECK_THAT(gemm([](auto &g) { g.element = fb::ElementType::f64; }), Contains("are needed"));
  CHECK(gemm([](auto &g) { g.lhs_bf16 = g.rhs_bf16 = g.out_bf16 = true, g.beta = 0; }) == "");
  CHECK_THAT(gemm([](auto &g) { g.out_bf16 = true, g.beta = 1; }),
             Contains("added to a bf16 matrix"));
  CHECK_THAT(gemm([](auto &g) { g.rhs_bf16 = true, g.element = fb::ElementType::f64; }),
             Contains("not computed in f32"));
  auto batched = [&](int64_t m, int64_t outStride) {
    return gemm([&](fb::GemmT &g) {
      g.m = m;
      g.batch = {2};
      g.lhs_batch_strides = g.rhs_batch_strides = {0};
      g.out_batch_strides = {outStride};
    });
  };
  CHECK(batched(4, 32) == "");
  CHECK_THAT(batched(4, 16), Contains("coincide"));
  CHECK_THAT(batched(8, 64), Contains("are needed"));
}

TEST_CASE("scalar programs use what was computed before") {
  auto program = [](const std::function<void(fb::HostProgramT &)> &change) {
    return refusal([&](TestProgram &p) { change(*p.table.host_programs[0]); });
  };
  using enum fb::ScalarOp;
  CHECK_THAT(program([](auto &h) {
               h.instructions[2] = {add, 0, 2, 0, 0};
             }),
             Contains("register 2 is not computed before"));
  CHECK_THAT(program([](auto &h) {
               h.instructions[2] = {fb::ScalarOp::select, 0, 1, 9, 0};
             }),
             Contains("register 9"));
  CHECK_THAT(program([](auto &h) {
               h.instructions[0] = {input, 1, 0, 0, 0};
             }),
             Contains("no input 1"));
  CHECK_THAT(program([](auto &h) {
               h.instructions[0] = {fb::ScalarOp(200), 0, 0, 0, 0};
             }),
             Contains("unknown operation"));
  CHECK_THAT(program([](auto &h) { h.results = {4}; }), Contains("register that is not there"));
  CHECK_THAT(program([](auto &h) { h.results = {3, 3}; }), Contains("differ in number"));
  CHECK_THAT(program([](auto &h) { h.result_types[0] = fb::ElementType::i32; }),
             Contains("f64 or f32"));
  CHECK_THAT(program([](auto &h) { h.result_types[0] = fb::ElementType::f64; }),
             Contains("are needed"));
}

TEST_CASE("entries, parameters, kernels and blobs make sense") {
  auto entry = [](const std::function<void(fb::EntryT &)> &change) {
    return refusal([&](TestProgram &p) { change(*p.table.entries[0]); });
  };
  CHECK_THAT(entry([](auto &e) { e.block = 3; }), Contains("block that is not there"));
  CHECK_THAT(entry([](auto &e) { e.name = "total"; }), Contains("name of its own"));
  CHECK_THAT(entry([](auto &e) { e.inputs.pop_back(); }), Contains("differ in arguments"));
  CHECK_THAT(entry([](auto &e) { e.inputs[0]->type->shape = {8, 4}; }), Contains("differ in size"));
  CHECK_THAT(entry([](auto &e) {
               e.inputs[0]->type->shape = {INT64_MAX, 8};
             }),
             Contains("no sensible size"));
  CHECK_THAT(entry([](auto &e) {
               e.inputs[0]->type->shape = {-8, -8};
             }),
             Contains("no sensible size"));
  CHECK_THAT(entry([](auto &e) { e.inputs[0]->type->shape.assign(17, 1); }),
             Contains("too many dimensions"));
  CHECK_THAT(entry([](auto &e) { e.inputs[0]->type->element = fb::ElementType(10); }),
             Contains("unknown element type"));
  CHECK_THAT(entry([](auto &e) { e.inputs[0]->type = nullptr; }), Contains("unknown element type"));
  CHECK_THAT(entry([](auto &e) { e.inputs[0]->donated_to = 4; }), Contains("cannot have it"));
  CHECK_THAT(entry([](auto &e) { e.inputs[0]->donated_to = -7; }), Contains("cannot have it"));
  CHECK_THAT(entry([](auto &e) { e.inputs[0]->donated_to = 2; }), Contains("cannot have it"));
  CHECK_THAT(entry([](auto &e) { e.inputs[1]->name = "x"; }), Contains("two parameters"));
  CHECK_THAT(entry([](auto &e) { e.inputs[0]->index_bound = 5; }), Contains("makes no sense"));
  auto check = [&](int64_t bound, std::vector<int64_t> start, std::vector<int64_t> limit,
                   std::vector<int64_t> strides) {
    return entry([&](auto &e) {
      auto &checks = e.inputs[2]->index_checks; // of i32[4]
      checks.push_back(std::make_unique<fb::IndexCheckT>());
      checks[0]->bound = bound;
      checks[0]->start = start;
      checks[0]->limit = limit;
      checks[0]->strides = strides;
    });
  };
  CHECK_THAT(check(0, {}, {}, {}), Contains("a check of 'x' makes no sense"));
  CHECK_THAT(check(5, {0}, {5}, {1}), Contains("a check of 'x' makes no sense"));
  CHECK_THAT(check(5, {-1}, {4}, {1}), Contains("a check of 'x' makes no sense"));
  CHECK_THAT(check(5, {0}, {4}, {0}), Contains("a check of 'x' makes no sense"));
  CHECK_THAT(check(5, {0}, {4}, {INT64_MAX}), Contains("a check of 'x' makes no sense"));
  CHECK_THAT(check(5, {0, 0}, {4, 1}, {1, 1}), Contains("a check of 'x' makes no sense"));
  CHECK_THAT(check(5, {0}, {}, {1}), Contains("a check of 'x' makes no sense"));
  CHECK_THAT(refusal([](auto &p) { p.table.kernels[0]->items = -1; }),
             Contains("no sensible size"));
  CHECK_THAT(refusal([](auto &p) { p.table.kernels[0]->grain = 0; }), Contains("no sensible size"));
  CHECK_THAT(refusal([](auto &p) { p.table.kernels[0]->items += int64_t(1) << 45; }),
             Contains("more work than operands"));
  CHECK_THAT(refusal([](auto &p) { p.table.kernels[0]->symbol = ""; }), Contains("has no name"));
  CHECK_THAT(refusal([](auto &p) { p.table.code = nullptr; }), Contains("kernels without code"));
  CHECK_THAT(refusal([](auto &p) {
               p.table.constants[0] = {~0ull - 63, 256};
             }),
             Contains("outside of the file"));
  CHECK_THAT(refusal([](auto &p) {
               p.table.constants[0] = {0, ~0ull};
             }),
             Contains("outside of the file"));
  CHECK_THAT(refusal([](auto &p) { p.table.constants[0] = {8, 256}; }), Contains("not aligned"));
  CHECK_THAT(refusal([](auto &p) { p.table.target = nullptr; }), Contains("no target"));
  CHECK_THAT(refusal([](auto &p) { p.table.locations[0]->caller = 2; }),
             Contains("caller is not there"));
  CHECK_THAT(refusal([](auto &p) { p.table.locations[1]->caller = 0; }),
             Contains("its own caller"));
  CHECK_THAT(refusal([](auto &p) { p.table.blocks[2]->frame_size = 100; }),
             Contains("frame has no sensible size"));
  CHECK_THAT(refusal([](auto &p) { p.table.blocks[2]->frame_size = 1ull << 60; }),
             Contains("frame has no sensible size"));
  CHECK_THAT(refusal([](auto &p) { p.table.blocks[2]->num_inputs = 9; }),
             Contains("fewer arguments than inputs"));
}

TEST_CASE("random damage under right hashes crashes nothing") {
  // The code is not loaded here: nobody can vouch for machine code.
  const std::vector<std::byte> original = makeTestProgram().finish();
  ArtifactHeader header;
  std::memcpy(&header, original.data(), sizeof(header));
  std::mt19937 random(7);
  auto below = [&](uint64_t bound) { return uint64_t(random()) % bound; };
  static constexpr uint64_t nasty[] = {0,
                                       1,
                                       0x7f,
                                       0x80,
                                       0xff,
                                       0xffff,
                                       0x7fffffff,
                                       0x80000000,
                                       0xffffffff,
                                       0x7fffffffffffffff,
                                       0xffffffffffffffff,
                                       64};
  int accepted = 0, refused = 0;
  for (int round = 0; round < 20000; ++round) {
    std::vector<std::byte> file = original;
    for (uint64_t change = 0, changes = 1 + below(4); change < changes; ++change) {
      uint64_t width = 1ull << below(4);
      uint64_t at = sizeof(header) + below((header.metadataSize - width) / width) * width;
      uint64_t value = below(3) ? nasty[below(std::size(nasty))] : below(1 << 12);
      std::memcpy(&file[at], &value, width);
    }
    sealArtifact(file, header.metadataSize, header.blobsOffset);
    StatusOr<Program> program = readArtifact(file);
    (program ? accepted : refused) += 1;
  }
  // Damage of names and numbers may be harmless, most is not.
  CHECK(accepted > 100);
  CHECK(refused > 5000);
}

TEST_CASE("random sizes in the header, under a right hash, crash nothing") {
  const std::vector<std::byte> original = makeTestProgram().finish();
  std::mt19937 random(8);
  int refused = 0;
  for (int round = 0; round < 2000; ++round) {
    std::vector<std::byte> file = original;
    size_t field = 12 + 4 * (random() % 9); // from headerSize up to the content hash
    uint32_t value = random() % 2 ? random() : random() % (2 * uint32_t(file.size()));
    std::memcpy(&file[field], &value, sizeof(value));
    if (std::memcmp(file.data(), original.data(), 64) == 0)
      continue;
    uint64_t hash = hash64(std::span(file).first(offsetof(ArtifactHeader, headerHash)));
    std::memcpy(&file[offsetof(ArtifactHeader, headerHash)], &hash, sizeof(hash));
    refused += !readArtifact(file).ok();
  }
  CHECK(refused > 1800); // a few bytes more or less of metadata may do no harm
}
