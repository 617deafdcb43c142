// Artifacts with a block for each stage of a pipeline: what is refused, and runs.
#include "minigptc/runtime/Session.h"
#include "runtime/exec/ArtifactReader.h"
#include "test/runtime/support/TestProgram.h"

#include <catch2/catch.hpp>
#include <functional>
#include <numeric>

using namespace minigptc;
using namespace minigptc::runtime;
using namespace minigptc::runtime::test;
using Catch::Matchers::Contains;

namespace {

using fb::BufferKind;
using fb::Opcode;
constexpr uint64_t kBytes = 256; // of f32[8,8]

std::unique_ptr<fb::TensorTypeT> matrix() {
  auto type = std::make_unique<fb::TensorTypeT>();
  type->element = fb::ElementType::f32;
  type->shape = {8, 8};
  return type;
}

void add(fb::BlockT &block, Opcode opcode, uint32_t target, std::vector<uint32_t> inputs,
         std::vector<uint32_t> outputs) {
  block.instructions.emplace_back(opcode, target, uint32_t(block.operands.size()),
                                  uint32_t(inputs.size()), uint32_t(outputs.size()), 0, 0);
  block.operands.insert(block.operands.end(), inputs.begin(), inputs.end());
  block.operands.insert(block.operands.end(), outputs.begin(), outputs.end());
}

/// Of w0, w1 (inputs), out0, out1; buffer 4 is the frame.
std::unique_ptr<fb::BlockT> stageBlock(const char *name) {
  auto block = std::make_unique<fb::BlockT>();
  block->name = name;
  block->num_inputs = 2;
  block->arguments = {kBytes, kBytes, kBytes, kBytes};
  block->frame_size = kBytes;
  for (uint32_t i = 0; i < 4; ++i)
    block->buffers.emplace_back(BufferKind::argument, i, 0, kBytes);
  block->buffers.emplace_back(BufferKind::frame, 0, 0, kBytes);
  return block;
}

std::unique_ptr<fb::ParameterT> onStage(const char *name, uint32_t stage) {
  auto parameter = std::make_unique<fb::ParameterT>();
  parameter->name = name;
  parameter->type = matrix();
  parameter->stages = {stage};
  return parameter;
}

/// Entry "pipe": out1 = 2·w0 + w1 on stage 1, sent back as out0 to stage 0.
TestProgram makeStageProgram() {
  TestProgram program = makeTestProgram();
  fb::ArtifactT &table = program.table;
  for (auto [name, size] : {std::pair("stage", 2), std::pair("batch", 2)}) {
    auto axis = std::make_unique<fb::MeshAxisT>();
    axis->name = name;
    axis->size = size;
    table.mesh.push_back(std::move(axis));
  }
  for (auto [from, to] : {std::pair(0u, 1u), std::pair(1u, 0u)}) {
    auto message = std::make_unique<fb::MessageT>();
    message->from = from;
    message->to = to;
    message->type = matrix();
    table.messages.push_back(std::move(message));
  }
  auto first = stageBlock("pipe.0"), second = stageBlock("pipe.1");
  add(*first, Opcode::launch, 0, {0, 0}, {4});
  add(*first, Opcode::send, 0, {4}, {});
  add(*first, Opcode::recv, 1, {}, {2});
  add(*second, Opcode::recv, 0, {}, {4});
  add(*second, Opcode::launch, 0, {4, 1}, {3});
  add(*second, Opcode::send, 1, {3}, {});
  table.blocks.push_back(std::move(first));
  table.blocks.push_back(std::move(second));
  auto entry = std::make_unique<fb::EntryT>();
  entry->name = "pipe";
  entry->block = 3;
  entry->stages = {3, 4};
  entry->inputs.push_back(onStage("w0", 0));
  entry->inputs.push_back(onStage("w1", 1));
  entry->outputs.push_back(onStage("out0", 0));
  entry->outputs.push_back(onStage("out1", 1));
  table.entries.push_back(std::move(entry));
  return program;
}

std::string refusal(const std::function<void(fb::ArtifactT &)> &change) {
  TestProgram program = makeStageProgram();
  change(program.table);
  StatusOr<Program> result = readArtifact(program.finish());
  return result ? "" : result.status().message();
}

Array ramp(float from) {
  std::vector<float> values(64);
  std::iota(values.begin(), values.end(), from);
  return Array::fromSpan<float>({8, 8}, values);
}

} // namespace

TEST_CASE("stages of an artifact are read") {
  StatusOr<Program> program = readArtifact(makeStageProgram().finish());
  INFO((program ? "" : program.status().message()));
  REQUIRE(program.ok());
  const Entry &entry = *program->findEntry("pipe");
  CHECK(entry.blocks == std::vector<uint32_t>{3, 4});
  CHECK(entry.blockOf(1) == 4);
  CHECK(program->findEntry("step")->blockOf(1) == 1);
  CHECK(entry.inputs[1].spec.stages == std::vector<int64_t>{1});
  CHECK(entry.inputs[1].spec.toString() == "P() on stage 1");
  CHECK(entry.inputs[1].isOn(1));
  CHECK_FALSE(entry.inputs[1].isOn(0));
  CHECK(program->onStage(1, 1) == 3);
  CHECK(program->onStage(2, 0) == 0);
}

TEST_CASE("messages of an artifact have two ends that agree") {
  using T = fb::ArtifactT;
  auto instruction = [](Opcode opcode, uint32_t target, uint32_t operand, bool sends) {
    return fb::Instruction(opcode, target, operand, sends, !sends, 0, 0);
  };
  CHECK_THAT(refusal([](T &t) { t.messages[0]->to = 2; }),
             Contains("between stages that are none"));
  CHECK_THAT(refusal([](T &t) { t.messages[0]->to = 0; }),
             Contains("between stages that are none"));
  CHECK_THAT(refusal([](T &t) { t.messages[0]->type->shape = {8, 9}; }),
             Contains("256 bytes where 288 are needed"));
  CHECK_THAT(
      refusal([](T &t) { t.blocks[3]->instructions.erase(t.blocks[3]->instructions.begin() + 1); }),
      Contains("receives message 0 (f32[8,8], stage 0 to 1), which nobody sends"));
  CHECK_THAT(refusal([](T &t) { t.blocks[3]->instructions.pop_back(); }),
             Contains("sends message 1 (f32[8,8], stage 1 to 0), which nobody receives"));
  CHECK_THAT(refusal([&](T &t) { t.blocks[3]->instructions[2] = t.blocks[3]->instructions[1]; }),
             Contains("sends message 0 (f32[8,8], stage 0 to 1) twice"));
  CHECK_THAT(
      refusal([&](T &t) { t.blocks[3]->instructions[1] = instruction(Opcode::send, 1, 3, true); }),
      Contains("has the wrong end of message 1 (f32[8,8], stage 1 to 0) on stage 0"));
  CHECK_THAT(
      refusal([&](T &t) { t.blocks[3]->instructions[1] = instruction(Opcode::send, 2, 3, true); }),
      Contains("a message that is not there"));
  CHECK_THAT(refusal([](T &t) {
               t.blocks[3]->instructions[1] = fb::Instruction(Opcode::send, 0, 2, 2, 0, 0, 0);
             }),
             Contains("a message is one operand"));
  CHECK_THAT(refusal([](T &t) {
               auto message = std::make_unique<fb::MessageT>(*t.messages[0]);
               t.messages.push_back(std::move(message));
             }),
             Contains("message 2 is of no entry"));
}

TEST_CASE("stages that wait for each other are refused with what they wait for") {
  std::string why = refusal([](fb::ArtifactT &t) {
    auto &first = t.blocks[3]->instructions;
    std::swap(first[1], first[2]);
  });
  CHECK_THAT(why, Contains("entry 'pipe' has stages that wait for each other: stage 0 to receive "
                           "message 1 (f32[8,8], stage 1 to 0); stage 1 to receive message 0"));
}

TEST_CASE("two messages that are received in another order than they are sent are refused") {
  std::string why = refusal([](fb::ArtifactT &t) {
    t.messages.push_back(std::make_unique<fb::MessageT>(*t.messages[0]));
    t.blocks[3]->instructions.insert(t.blocks[3]->instructions.begin() + 2,
                                     fb::Instruction(Opcode::send, 2, 3, 1, 0, 0, 0));
    t.blocks[4]->instructions.insert(t.blocks[4]->instructions.begin(),
                                     fb::Instruction(Opcode::recv, 2, 0, 0, 1, 0, 0));
  });
  CHECK_THAT(why, Contains("wait for each other: stage 0 to send message 2 (f32[8,8], stage 0 to "
                           "1); stage 1 to receive message 2"));
}

TEST_CASE("a stage touches what it has, and nobody calls its block") {
  using T = fb::ArtifactT;
  CHECK_THAT(refusal([](T &t) { t.entries[2]->inputs[1]->stages = {0}; }),
             Contains("entry 'pipe' touches 'w1' on stage 1, which does not have it"));
  CHECK_THAT(refusal([](T &t) { t.entries[2]->outputs[0]->stages = {1}; }),
             Contains("touches 'out0' on stage 0"));
  CHECK_THAT(refusal([](T &t) { t.entries[2]->inputs[1]->stages = {1, 1}; }),
             Contains("names stages that the mesh does not have, or not in their order"));
  CHECK_THAT(refusal([](T &t) { t.entries[2]->inputs[1]->stages = {2}; }),
             Contains("names stages that the mesh does not have"));
  CHECK_THAT(refusal([](T &t) { t.entries[2]->stages = {3, 4, 3}; }),
             Contains("has a block that is another's"));
  CHECK_THAT(refusal([](T &t) { t.entries[2]->stages = {}; }),
             Contains("block 'pipe.0' of no stage has messages"));
  CHECK_THAT(refusal([](T &t) { t.entries[2]->stages = {3, 5}; }), Contains("not there"));
  CHECK_THAT(refusal([](T &t) { t.mesh[0]->size = 4; }), Contains("has 2 blocks for 4 stages"));
  CHECK_THAT(refusal([](T &t) { t.entries[0]->inputs[2]->stages = {0}; }),
             Contains("entry 'step' is the same on all stages, but 'x' is on some"));
  CHECK_THAT(refusal([](T &t) {
               addAllReduce(t);
               add(*t.blocks[3], Opcode::collective, 0, {4}, {4});
             }),
             Contains("has a collective between stages on stage 0"));
}

TEST_CASE("devices run their stage's block, and have their stage's tensors only") {
  StatusOr<Session> session = Session::load(makeStageProgram().finish());
  INFO((session ? "" : session.status().message()));
  REQUIRE(session.ok());
  CHECK(session->devices() == 4);
  StatusOr<std::vector<Array>> out = session->run("pipe", {ramp(1), ramp(100)});
  INFO((out ? "" : out.status().message()));
  REQUIRE(out.ok());
  for (Array &array : *out) {
    REQUIRE(array.span<float>().size() == 64);
    for (int i = 0; i < 64; ++i)
      CHECK(array.span<float>()[size_t(i)] == 2.0f * float(1 + i) + float(100 + i));
  }
  CHECK((*out)[0].shard(1).valid());
  CHECK_FALSE((*out)[0].shard(2).valid());
  CHECK_FALSE((*out)[1].shard(1).valid());
  CHECK((*out)[1].shard(3).valid());
  // What a run gave is taken by the next where it lies: out0 is on stage 0, as w0 is.
  CHECK((*out)[0].liesOn(session->mesh(), session->entry("pipe")->inputs[0].spec));
  StatusOr<std::vector<Array>> again = session->run("pipe", {(*out)[0], (*out)[1].clone()});
  REQUIRE(again.ok());
  CHECK((*again)[1].span<float>()[0] == 3 * 102.0f);
  CHECK((*again)[1].clone().whole().span<float>()[63] == 3 * (2.0f * 64 + 163));
}
