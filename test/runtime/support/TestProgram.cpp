#include "test/runtime/support/TestProgram.h"

#include "runtime/base/Cpu.h"
#include "runtime/base/File.h"
#include "runtime/exec/Program.h"

#include <stdexcept>

namespace minigptc::runtime::test {
namespace {

using fb::BufferKind;
using fb::ElementType;
using fb::Opcode;

std::unique_ptr<fb::TensorTypeT> type(ElementType element, std::vector<int64_t> shape) {
  auto result = std::make_unique<fb::TensorTypeT>();
  result->element = element;
  result->shape = std::move(shape);
  return result;
}

std::unique_ptr<fb::TensorTypeT> weights() { return type(ElementType::f32, {8, 8}); }
std::unique_ptr<fb::TensorTypeT> indices() { return type(ElementType::i32, {4}); }
std::unique_ptr<fb::TensorTypeT> scalar(ElementType element) { return type(element, {}); }

template <typename... Types> std::vector<std::unique_ptr<fb::TensorTypeT>> types(Types... all) {
  std::vector<std::unique_ptr<fb::TensorTypeT>> list;
  (list.push_back(std::move(all)), ...);
  return list;
}

std::unique_ptr<fb::KernelT> kernel(std::string symbol, int64_t items, int64_t grain,
                                    std::vector<std::unique_ptr<fb::TensorTypeT>> inputs,
                                    std::vector<std::unique_ptr<fb::TensorTypeT>> outputs) {
  auto result = std::make_unique<fb::KernelT>();
  result->symbol = std::move(symbol);
  result->items = items;
  result->grain = grain;
  result->inputs = std::move(inputs);
  result->outputs = std::move(outputs);
  result->flops = double(items);
  return result;
}

std::unique_ptr<fb::ParameterT> parameter(std::string name, std::unique_ptr<fb::TensorTypeT> type,
                                          int donatedTo = -1, int64_t bound = 0) {
  auto result = std::make_unique<fb::ParameterT>();
  result->name = std::move(name);
  result->type = std::move(type);
  result->donated_to = donatedTo;
  result->index_bound = bound;
  return result;
}

/// Appends an instruction whose operands are these buffers.
void add(fb::BlockT &block, Opcode opcode, uint32_t target, std::vector<uint32_t> inputs,
         std::vector<uint32_t> outputs, uint64_t frame = 0) {
  block.instructions.emplace_back(opcode, target, uint32_t(block.operands.size()),
                                  uint32_t(inputs.size()), uint32_t(outputs.size()),
                                  uint32_t(block.instructions.size() % 2), frame);
  block.operands.insert(block.operands.end(), inputs.begin(), inputs.end());
  block.operands.insert(block.operands.end(), outputs.begin(), outputs.end());
}

constexpr uint64_t kBytes = 256; // of f32[8,8]

std::unique_ptr<fb::BlockT> doubleBlock() {
  auto block = std::make_unique<fb::BlockT>();
  block->name = "double";
  block->num_inputs = 1;
  block->arguments = {kBytes, kBytes};
  block->frame_size = kBytes;
  block->buffers = {fb::Buffer(BufferKind::argument, 0, 0, kBytes),
                    fb::Buffer(BufferKind::argument, 1, 0, kBytes),
                    fb::Buffer(BufferKind::frame, 0, 0, kBytes)};
  add(*block, Opcode::launch, 0, {0, 0}, {2});
  add(*block, Opcode::copy, 0, {2}, {1});
  return block;
}

std::unique_ptr<fb::BlockT> stepBlock() {
  auto block = std::make_unique<fb::BlockT>();
  block->name = "step";
  block->num_inputs = 3;
  block->arguments = {kBytes, 8, 16, kBytes, 8, 4, 4};
  block->frame_size = 3 * kBytes;
  for (uint32_t i = 0; i < 7; ++i)
    block->buffers.emplace_back(BufferKind::argument, i, 0, block->arguments[i]);
  block->buffers.emplace_back(BufferKind::frame, 0, 0, kBytes);      // 7: t
  block->buffers.emplace_back(BufferKind::frame, 0, kBytes, kBytes); // 8: p
  block->buffers.emplace_back(BufferKind::constant, 0, 0, kBytes);   // 9: C
  add(*block, Opcode::scalars, 0, {1}, {6});
  add(*block, Opcode::launch, 2, {0, 2}, {5});
  add(*block, Opcode::call, 0, {0}, {7}, 2 * kBytes);
  add(*block, Opcode::call, 0, {7}, {8}, 2 * kBytes);
  add(*block, Opcode::launch, 0, {7, 7}, {7}); // t outlives the call
  add(*block, Opcode::gemm, 0, {7, 9}, {8});
  add(*block, Opcode::launch, 1, {8, 6}, {3});
  add(*block, Opcode::launch, 3, {1}, {4});
  return block;
}

std::unique_ptr<fb::BlockT> totalBlock() {
  auto block = std::make_unique<fb::BlockT>();
  block->name = "total";
  block->num_inputs = 2;
  block->arguments = {kBytes, 16, 4};
  for (uint32_t i = 0; i < 3; ++i)
    block->buffers.emplace_back(BufferKind::argument, i, 0, block->arguments[i]);
  add(*block, Opcode::launch, 2, {0, 1}, {2});
  return block;
}

std::unique_ptr<fb::HostProgramT> rateProgram() {
  using fb::ScalarOp;
  auto program = std::make_unique<fb::HostProgramT>();
  program->name = "rate";
  program->instructions = {{ScalarOp::input, 0, 0, 0, 0},
                           {ScalarOp::constant, 0, 0, 0, 1},
                           {ScalarOp::add, 0, 1, 0, 0},
                           {ScalarOp::divide, 1, 2, 0, 0}};
  program->input_types = {ElementType::i64};
  program->results = {3};
  program->result_types = {ElementType::f32};
  return program;
}

std::unique_ptr<fb::GemmT> squareGemm() {
  auto gemm = std::make_unique<fb::GemmT>();
  gemm->element = ElementType::f32;
  gemm->m = gemm->n = gemm->k = 8;
  gemm->lhs_strides = gemm->rhs_strides = gemm->out_strides = {8, 1};
  return gemm;
}

void addEntries(fb::ArtifactT &table) {
  auto step = std::make_unique<fb::EntryT>();
  step->name = "step";
  step->block = 1;
  step->inputs.push_back(parameter("state.w", weights(), 0));
  step->inputs.push_back(parameter("state.count", scalar(ElementType::i64), 1));
  step->inputs.push_back(parameter("x", indices(), -1, 64));
  step->outputs.push_back(parameter("state.w", weights()));
  step->outputs.push_back(parameter("state.count", scalar(ElementType::i64)));
  step->outputs.push_back(parameter("loss", scalar(ElementType::f32)));
  step->outputs.push_back(parameter("rate", scalar(ElementType::f32)));
  table.entries.push_back(std::move(step));

  auto total = std::make_unique<fb::EntryT>();
  total->name = "total";
  total->block = 2;
  total->inputs.push_back(parameter("w", weights()));
  total->inputs.push_back(parameter("x", indices(), -1, 64));
  total->outputs.push_back(parameter("loss", scalar(ElementType::f32)));
  table.entries.push_back(std::move(total));
}

} // namespace

std::vector<std::byte> testKernels() {
  StatusOr<std::vector<std::byte>> code = readFile(MINIGPTC_TEST_KERNELS);
  if (!code)
    throw std::runtime_error(code.status().message());
  return *code;
}

TestProgram makeTestProgram() {
  TestProgram program;
  fb::ArtifactT &table = program.table;
  table.compiler = "by hand";
  table.target = std::make_unique<fb::TargetT>();
  table.target->triple = hostTriple();
  if (!hostCpuFeatures().empty())
    table.target->features = {hostCpuFeatures().front()};
  table.code = std::make_unique<fb::Blob>(program.blobs.add(testKernels(), kPageSize));
  table.kernels.push_back(kernel("add", 64, 5, types(weights(), weights()), types(weights())));
  table.kernels.push_back(
      kernel("scale", 64, 7, types(weights(), scalar(ElementType::f32)), types(weights())));
  table.kernels.push_back(
      kernel("pick", 1, 1, types(weights(), indices()), types(scalar(ElementType::f32))));
  table.kernels.push_back(
      kernel("count", 1, 1, types(scalar(ElementType::i64)), types(scalar(ElementType::i64))));
  table.gemms.push_back(squareGemm());
  table.host_programs.push_back(rateProgram());
  table.blocks.push_back(doubleBlock());
  table.blocks.push_back(stepBlock());
  table.blocks.push_back(totalBlock());
  std::vector<float> twiceIdentity(64);
  for (int i = 0; i < 8; ++i)
    twiceIdentity[9 * i] = 2;
  table.constants.push_back(program.blobs.add(std::as_bytes(std::span(twiceIdentity))));
  for (uint32_t line : {10, 20}) {
    auto location = std::make_unique<fb::LocationT>();
    location->file = "model.cpp";
    location->line = line;
    table.locations.push_back(std::move(location));
  }
  table.locations[0]->caller = 1;
  addEntries(table);
  table.metadata = "{\"name\":\"test\"}";
  return program;
}

std::vector<std::byte> TestProgram::finish() const {
  flatbuffers::FlatBufferBuilder builder;
  builder.Finish(fb::Artifact::Pack(builder, &table));
  return assembleArtifact(std::as_bytes(std::span(builder.GetBufferPointer(), builder.GetSize())),
                          blobs);
}

TestProgram makeCudaProgram() {
  TestProgram program = makeTestProgram();
  fb::ArtifactT &table = program.table;
  table.target = std::make_unique<fb::TargetT>();
  table.target->kind = fb::TargetKind::cuda;
  table.code = nullptr;
  for (std::unique_ptr<fb::KernelT> &kernel : table.kernels) {
    kernel->cuda = std::make_unique<fb::CudaLaunchT>();
    kernel->cuda->grid = 1;
    kernel->cuda->block = 64;
    kernel->cuda->grouped = kernel->symbol == "add";
    std::string ptx = "kernel " + kernel->symbol;
    kernel->cuda->ptx = std::make_unique<fb::Blob>(
        program.blobs.add(std::as_bytes(std::span(ptx.c_str(), ptx.size() + 1))));
  }
  return program;
}

void addAllReduce(fb::ArtifactT &table) {
  auto group = std::make_unique<fb::GroupT>();
  group->strides = {2};
  group->sizes = {2};
  table.groups.push_back(std::move(group));
  auto collective = std::make_unique<fb::CollectiveT>();
  collective->kind = fb::CollectiveKind::all_reduce;
  auto operand = std::make_unique<fb::CollectiveOperandT>();
  operand->element = fb::ElementType::f32;
  operand->outer = operand->inner = 1;
  operand->block = 64;
  collective->operands.push_back(std::move(operand));
  table.collectives.push_back(std::move(collective));
}

TestProgram makeMeshProgram() {
  TestProgram program = makeTestProgram();
  fb::ArtifactT &table = program.table;
  for (const char *name : {"x", "y"}) {
    auto axis = std::make_unique<fb::MeshAxisT>();
    axis->name = name;
    axis->size = 2;
    table.mesh.push_back(std::move(axis));
  }
  addAllReduce(table);
  fb::BlockT &step = *table.blocks[1];
  for (auto [opcode, buffers] : {std::pair(fb::Opcode::collective, std::vector<uint32_t>{7, 8}),
                                 std::pair(fb::Opcode::device_index, std::vector<uint32_t>{7})}) {
    step.instructions.emplace_back(opcode, 0, uint32_t(step.operands.size()),
                                   uint32_t(buffers.size() - 1), 1, kNoLocation, 0);
    step.operands.insert(step.operands.end(), buffers.begin(), buffers.end());
  }
  for (fb::ParameterT *weights :
       {table.entries[0]->inputs[0].get(), table.entries[0]->outputs[0].get()}) {
    weights->global_shape = {16, 8};
    weights->dims.push_back(std::make_unique<fb::DimAxesT>());
    weights->dims[0]->axes = {0};
  }
  return program;
}

} // namespace minigptc::runtime::test
