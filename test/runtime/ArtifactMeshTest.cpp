// Meshes, groups, collectives and shardings of artifacts.
#include "runtime/exec/ArtifactReader.h"
#include "test/runtime/support/TestProgram.h"

#include <catch2/catch.hpp>
#include <functional>

using namespace minigptc::runtime;
using namespace minigptc::runtime::test;
using Catch::Matchers::Contains;
namespace fb = minigptc::fb;

namespace {

std::string meshRefusal(const std::function<void(fb::ArtifactT &)> &change) {
  TestProgram program = makeMeshProgram();
  change(program.table);
  StatusOr<Program> result = readArtifact(program.finish());
  return result ? "" : result.status().message();
}

} // namespace

TEST_CASE("mesh, groups and collectives are read") {
  StatusOr<Program> program = readArtifact(makeMeshProgram().finish());
  INFO((program ? "" : program.status().message()));
  REQUIRE(program.ok());
  CHECK(program->mesh == minigptc::Mesh{{"x", 2}, {"y", 2}});
  CHECK(program->groups[0].rankOf(3) == 1);
  CHECK(program->collectives[0].describe() == "all_reduce sum f32[64] over 2 devices");
  const ParameterDecl &weights = program->findEntry("step")->inputs[0];
  CHECK(weights.type.shape == minigptc::Shape{8, 8});
  CHECK(weights.global.shape == minigptc::Shape{16, 8});
  CHECK(weights.spec == minigptc::P("x"));
}

TEST_CASE("a mesh has sensible axes, and groups are of its devices") {
  using T = fb::ArtifactT;
  CHECK_THAT(meshRefusal([](T &t) { t.mesh[0]->size = 0; }), Contains("no sensible size"));
  CHECK_THAT(meshRefusal([](T &t) { t.mesh[0]->size = 1 << 21; }), Contains("no sensible size"));
  CHECK_THAT(meshRefusal([](T &t) { t.mesh[0]->name = "y"; }), Contains("name of its own"));
  CHECK_THAT(meshRefusal([](T &t) { t.groups[0]->strides = {}; }), Contains("none of the mesh's"));
  CHECK_THAT(meshRefusal([](T &t) { t.groups[0]->strides = {0}; }), Contains("none of the mesh's"));
  CHECK_THAT(meshRefusal([](T &t) { t.groups[0]->strides = {3}; }), Contains("none of the mesh's"));
  CHECK_THAT(meshRefusal([](T &t) { t.groups[0]->sizes = {4}; }), Contains("none of the mesh's"));
  CHECK_THAT(meshRefusal([](T &t) {
               t.groups[0]->sizes = {2, 2};
               t.groups[0]->strides = {1, 1};
             }),
             Contains("none of the mesh's"));
  CHECK_THAT(meshRefusal([](T &t) { t.mesh.clear(); }), Contains("none of the mesh's"));
}

TEST_CASE("collectives name what is there and fit their operands") {
  using T = fb::ArtifactT;
  CHECK_THAT(meshRefusal([](T &t) { t.collectives[0]->kind = fb::CollectiveKind(5); }),
             Contains("unknown kind"));
  CHECK_THAT(meshRefusal([](T &t) { t.collectives[0]->combine = fb::Combine(6); }),
             Contains("unknown kind"));
  CHECK_THAT(meshRefusal([](T &t) { t.collectives[0]->combine = fb::Combine::any; }),
             Contains("cannot combine f32"));
  CHECK_THAT(meshRefusal([](T &t) {
               t.collectives[0]->operands[0]->element = fb::ElementType::i1;
               t.collectives[0]->combine = fb::Combine::max;
             }),
             Contains("cannot combine i1"));
  CHECK_THAT(meshRefusal([](T &t) { t.collectives[0]->group = 1; }), Contains("not there"));
  CHECK_THAT(meshRefusal([](T &t) { t.collectives[0]->operands.clear(); }), Contains("of nothing"));
  CHECK_THAT(meshRefusal([](T &t) { t.collectives[0]->sources = {0, 1}; }), Contains("sources"));
  CHECK_THAT(meshRefusal([](T &t) {
               t.collectives[0]->kind = fb::CollectiveKind::permute;
               t.collectives[0]->sources = {0, 2};
             }),
             Contains("not in its group"));
  CHECK_THAT(meshRefusal([](T &t) { t.collectives[0]->operands[0]->outer = -1; }),
             Contains("no sensible size"));
  CHECK_THAT(meshRefusal([](T &t) { t.collectives[0]->operands[0]->inner = int64_t(1) << 45; }),
             Contains("no sensible size"));
  CHECK_THAT(
      meshRefusal([](T &t) { t.collectives[0]->operands[0]->element = fb::ElementType(10); }),
      Contains("unknown element type"));
  CHECK_THAT(meshRefusal([](T &t) { t.collectives[0]->operands[0]->block = 65; }),
             Contains("256 bytes where 260 are needed"));
  CHECK_THAT(meshRefusal([](T &t) { t.collectives[0]->kind = fb::CollectiveKind::all_gather; }),
             Contains("256 bytes where 512 are needed"));
  auto instruction = [](fb::Opcode opcode, uint32_t inputs) {
    return fb::Instruction(opcode, 1, 0, inputs, 1, kNoLocation, 0);
  };
  CHECK_THAT(meshRefusal([&](T &t) {
               t.blocks[1]->instructions[8] = instruction(fb::Opcode::collective, 1);
             }),
             Contains("a collective that is not there"));
  CHECK_THAT(meshRefusal([&](T &t) {
               t.blocks[1]->instructions[9] = instruction(fb::Opcode::device_index, 0);
             }),
             Contains("a group that is not there"));
  CHECK_THAT(meshRefusal([](T &t) { t.blocks[1]->operands.back() = 5; }),
             Contains("4 bytes where 8 are needed"));
}

TEST_CASE("of collectives, all-reduces alone work in place, and outputs lie apart") {
  using T = fb::ArtifactT;
  // Two operands, outputs at byte 256 (or `second`) of the frame; the first is the input's.
  auto collective = [](fb::CollectiveKind kind, uint64_t second) {
    return meshRefusal([&](T &t) {
      fb::CollectiveT &what = *t.collectives[0];
      what.kind = kind;
      if (kind == fb::CollectiveKind::permute)
        what.sources = {1, 0};
      what.operands.push_back(std::make_unique<fb::CollectiveOperandT>(*what.operands[0]));
      fb::BlockT &block = *t.blocks[1];
      block.buffers.emplace_back(fb::BufferKind::frame, 0, second, 256);
      fb::Instruction &instruction = block.instructions[block.instructions.size() - 2];
      instruction = {instruction.opcode(), 0, uint32_t(block.operands.size()), 2, 2, 0, 0};
      for (uint32_t buffer : {7, 0, 7, 10})
        block.operands.push_back(buffer);
    });
  };
  CHECK(collective(fb::CollectiveKind::all_reduce, 256) == "");
  CHECK_THAT(collective(fb::CollectiveKind::permute, 256), Contains("not in its place"));
  CHECK_THAT(collective(fb::CollectiveKind::all_reduce, 128), Contains("two of its outputs"));
}

TEST_CASE("parameters lie on the mesh as their sharding says") {
  auto layout = [](const std::function<void(fb::ParameterT &)> &change) {
    return meshRefusal([&](fb::ArtifactT &t) { change(*t.entries[0]->inputs[0]); });
  };
  CHECK_THAT(layout([](auto &p) { p.global_shape = {16}; }), Contains("number of dimensions"));
  CHECK_THAT(layout([](auto &p) { p.global_shape = {17, 8}; }), Contains("its shape on a device"));
  CHECK_THAT(layout([](auto &p) { p.global_shape = {-16, 8}; }), Contains("no sensible size"));
  CHECK_THAT(layout([](auto &p) { p.global_shape.clear(); }), Contains("has"));
  CHECK_THAT(layout([](auto &p) { p.dims[0]->axes = {2}; }), Contains("does not have"));
  CHECK_THAT(layout([](auto &p) { p.dims[0]->axes = {0, 0}; }), Contains("one twice"));
  // Cut in 15 rows, the second part has 7: the donated output has 16.
  CHECK_THAT(layout([](auto &p) { p.global_shape = {15, 8}; }), Contains("cannot have it"));
}

TEST_CASE("what is started is waited for, and its memory is left alone until then") {
  // Instruction 8 is the collective, from buffer 7 of the frame to buffer 8; 9 writes buffer 7.
  auto refusal = [](fb::Opcode first, std::vector<fb::Instruction> behind) {
    return meshRefusal([&](fb::ArtifactT &t) {
      std::vector<fb::Instruction> &instructions = t.blocks[1]->instructions;
      fb::Instruction collective = instructions[instructions.size() - 2];
      instructions.resize(instructions.size() - 2);
      t.blocks[1]->operands.insert(t.blocks[1]->operands.end(), {7, 8, 8, 7, 9, 7, 0, 3});
      instructions.emplace_back(first, 0, collective.first_operand(), 1, 1, kNoLocation, 0);
      for (const fb::Instruction &instruction : behind)
        instructions.push_back(instruction);
    });
  };
  uint32_t number = 0, operands = 0;
  meshRefusal([&](fb::ArtifactT &t) {
    number = uint32_t(t.blocks[1]->instructions.size()) - 2;
    operands = uint32_t(t.blocks[1]->operands.size());
  });
  auto wait = [](uint32_t target, uint32_t inputs = 0) {
    return fb::Instruction(fb::Opcode::wait, target, 0, inputs, 0, kNoLocation, 0);
  };
  auto copy = [&](uint32_t first) { // of the operands {7, 8, 8, 7, 9, 7}
    return fb::Instruction(fb::Opcode::copy, 0, operands + first, 1, 1, kNoLocation, 0);
  };
  CHECK(refusal(fb::Opcode::collective, {}) == "");
  CHECK(refusal(fb::Opcode::start, {wait(number)}) == "");
  CHECK(refusal(fb::Opcode::start, {wait(number), copy(0), copy(2)}) == "");
  CHECK_THAT(refusal(fb::Opcode::start, {}), Contains("started and not waited for"));
  CHECK_THAT(refusal(fb::Opcode::start, {wait(number), wait(number)}),
             Contains("waits for what is not started"));
  CHECK_THAT(refusal(fb::Opcode::start, {wait(number + 1), wait(number)}),
             Contains("waits for what is not started"));
  CHECK_THAT(refusal(fb::Opcode::start, {wait(0), wait(number)}),
             Contains("waits for what is not started"));
  CHECK_THAT(refusal(fb::Opcode::collective, {wait(number)}),
             Contains("waits for what is not started"));
  CHECK_THAT(refusal(fb::Opcode::start, {wait(number, 1)}), Contains("no operands"));
  CHECK_THAT(refusal(fb::Opcode::start, {copy(0), wait(number)}),
             Contains("touches what a collective is still writing"));
  CHECK_THAT(refusal(fb::Opcode::start, {copy(1), wait(number)}),
             Contains("touches what a collective is still writing"));
  CHECK_THAT(refusal(fb::Opcode::start, {copy(4), wait(number)}),
             Contains("writes what a collective is still reading"));
  auto call = [&](uint64_t frame) {
    return fb::Instruction(fb::Opcode::call, 0, operands + 6, 1, 1, kNoLocation, frame);
  };
  CHECK(refusal(fb::Opcode::start, {call(512), wait(number)}) == "");
  CHECK_THAT(refusal(fb::Opcode::start, {call(0), wait(number)}),
             Contains("writes what a collective is still reading"));
}
