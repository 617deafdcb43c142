#include "test/runtime/run/TableModel.h"

#include "runtime/base/Cpu.h"
#include "runtime/base/File.h"
#include "runtime/exec/Artifact.h"

#include <catch2/catch.hpp>

using namespace minigptc::runtime;

namespace minigptc::test {
namespace {

struct Leaf {
  std::string name;
  fb::ElementType element;
  std::vector<int64_t> shape;
  int donatedTo = -1;
  int64_t bound = 0;
};

std::unique_ptr<fb::TensorTypeT> typeOf(const Leaf &leaf) {
  auto type = std::make_unique<fb::TensorTypeT>();
  type->element = leaf.element;
  type->shape = leaf.shape;
  return type;
}

uint64_t bytesOf(const Leaf &leaf) {
  return uint64_t(TensorType{DType(leaf.element), leaf.shape}.numBytes());
}

std::unique_ptr<fb::ParameterT> parameterOf(const Leaf &leaf) {
  auto parameter = std::make_unique<fb::ParameterT>();
  parameter->name = leaf.name;
  parameter->type = typeOf(leaf);
  parameter->donated_to = leaf.donatedTo;
  parameter->index_bound = leaf.bound;
  return parameter;
}

/// An entry that is one launch of the kernel of its name.
void addEntry(fb::ArtifactT &table, const std::string &name, const std::vector<Leaf> &inputs,
              const std::vector<Leaf> &outputs) {
  auto kernel = std::make_unique<fb::KernelT>();
  auto block = std::make_unique<fb::BlockT>();
  auto entry = std::make_unique<fb::EntryT>();
  kernel->symbol = block->name = entry->name = name;
  kernel->items = kernel->grain = 1;
  block->num_inputs = uint32_t(inputs.size());
  entry->block = uint32_t(table.blocks.size());
  auto add = [&](const Leaf &leaf, auto &types, auto &parameters) {
    uint32_t number = uint32_t(block->arguments.size());
    types.push_back(typeOf(leaf));
    parameters.push_back(parameterOf(leaf));
    block->arguments.push_back(bytesOf(leaf));
    block->buffers.emplace_back(fb::BufferKind::argument, number, 0, bytesOf(leaf));
    block->operands.push_back(number);
  };
  for (const Leaf &input : inputs)
    add(input, kernel->inputs, entry->inputs);
  for (const Leaf &output : outputs)
    add(output, kernel->outputs, entry->outputs);
  block->instructions.emplace_back(fb::Opcode::launch, uint32_t(table.kernels.size()), 0,
                                   uint32_t(inputs.size()), uint32_t(outputs.size()), 0, 0);
  table.kernels.push_back(std::move(kernel));
  table.blocks.push_back(std::move(block));
  table.entries.push_back(std::move(entry));
}

} // namespace

RunConfig tableModelConfig() {
  RunConfig config;
  config.name = "table";
  config.model.vocabSize = 256;
  config.model.contextLength = 16;
  config.training.batchSize = 4;
  config.training.maxIters = 40;
  config.training.logInterval = 1;
  config.training.evalInterval = 20;
  config.checkpoint.saveInterval = 7;
  return config;
}

std::vector<std::byte> tableModelArtifact() {
  fb::ArtifactT table;
  ArtifactBlobs blobs;
  table.compiler = "by hand";
  table.target = std::make_unique<fb::TargetT>();
  table.target->triple = hostTriple();
  StatusOr<std::vector<std::byte>> code = readFile(MINIGPTC_TABLE_KERNELS);
  REQUIRE(code.ok());
  table.code = std::make_unique<fb::Blob>(blobs.add(*code, kPageSize));
  auto location = std::make_unique<fb::LocationT>();
  location->file = "table.cpp";
  location->line = 12;
  table.locations.push_back(std::move(location));

  using fb::ElementType;
  Leaf w{"state.params.w", ElementType::f32, {256, 256}};
  Leaf count{"state.optimizer.count", ElementType::i64, {}};
  Leaf x{"batch.x", ElementType::i32, {4, 16}, -1, 256},
      y{"batch.y", ElementType::i32, {4, 16}, -1, 256};
  Leaf key{"key", ElementType::u32, {2}}, loss{"loss", ElementType::f32, {}};
  Leaf donatedW = w, donatedCount = count, plainW = w;
  donatedW.donatedTo = 0;
  donatedCount.donatedTo = 1;
  plainW.name = "params.w";
  addEntry(table, "init", {key}, {w, count});
  addEntry(table, "train_step", {donatedW, donatedCount, x, y, key},
           {w,
            count,
            loss,
            {"grad_norm", ElementType::f32, {}},
            {"learning_rate", ElementType::f32, {}},
            {"finite", ElementType::i1, {}}});
  addEntry(table, "eval_loss", {plainW, x, y}, {loss, {"tokens", ElementType::f32, {}}});

  ProgramMetadata metadata;
  metadata.config = tableModelConfig();
  metadata.parameters = {{"w", {256, 256}, true}};
  metadata.streams = {"dropout"};
  metadata.modelFlopsPerStep = 1e6;
  table.metadata = metadata.toJson();
  flatbuffers::FlatBufferBuilder builder;
  builder.Finish(fb::Artifact::Pack(builder, &table));
  return assembleArtifact(std::as_bytes(std::span(builder.GetBufferPointer(), builder.GetSize())),
                          blobs);
}

} // namespace minigptc::test
