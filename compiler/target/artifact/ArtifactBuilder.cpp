//===- ArtifactBuilder.cpp - numbering and instructions -------------------===//
#include "compiler/target/artifact/ArtifactBuilder.h"
#include "compiler/target/artifact/ArtifactTypes.h"
#include "compiler/target/artifact/HostPrograms.h"
#include "dialects/dist/IR/Task.h"
#include "dialects/graph/IR/Graph.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace minigptc;
using namespace minigptc::target;

LogicalResult ArtifactBuilder::collect() {
  for (exec::BlockOp block : module.getOps<exec::BlockOp>()) {
    blockNumbers[block] = blocks.size();
    blocks.push_back(block);
  }
  for (exec::BlockOp block : blocks)
    if (failed(collectBlock(block)))
      return failure();
  return success();
}

void ArtifactBuilder::addBuffer(BlockTables &tables, Value value, fb::Buffer buffer) {
  tables.bufferNumbers[value] = tables.buffers.size();
  tables.buffers.push_back(buffer);
}

static bool isString(Attribute value) { return isa<StringAttr>(value); }

static bool isInteger64(Attribute value) {
  auto integer = dyn_cast<IntegerAttr>(value);
  return integer && integer.getType().isInteger(64);
}

static bool isIndexChecks(Attribute value) {
  auto list = dyn_cast<ArrayAttr>(value);
  return list && llvm::all_of(list, llvm::IsaPred<graph::IndexCheckAttr>);
}

/// Of another kind, an attribute must not count as absent: an index would be unbounded.
static LogicalResult checkArgumentAttributes(exec::BlockOp block) {
  constexpr std::pair<StringRef, bool (*)(Attribute)> kKinds[] = {
      {graph::attr::kName, isString},
      {graph::attr::kDonate, isInteger64},
      {graph::attr::kIndexBound, isInteger64},
      {graph::attr::kIndexChecks, isIndexChecks}};
  for (unsigned i = 0; i < block.getNumArguments(); ++i)
    for (auto [name, fits] : kKinds) {
      Attribute value = block.getArgAttr(i, name);
      if (value && !fits(value))
        return block.emitOpError() << "has " << value << " as '" << name << "' of argument " << i;
    }
  return success();
}

LogicalResult ArtifactBuilder::collectBlock(exec::BlockOp block) {
  if (failed(checkArgumentAttributes(block)))
    return failure();
  BlockTables tables;
  std::vector<uint64_t> argumentSizes;
  for (BlockArgument argument : block.getBody().getArguments()) {
    uint64_t size = byteSize(argument.getType());
    argumentSizes.push_back(size);
    addBuffer(tables, argument,
              fb::Buffer(fb::BufferKind::argument, argument.getArgNumber(), 0, size));
  }
  for (Operation &op : block.getBody().front().without_terminator())
    if (failed(visit(op, tables)))
      return failure();
  blockTables.push_back(fb::CreateBlock(
      builder, builder.CreateString(block.getSymName().str()), block.getNumInputs(),
      builder.CreateVector(argumentSizes), block.getFrameSize(),
      builder.CreateVectorOfStructs(tables.buffers), builder.CreateVector(tables.operands),
      builder.CreateVectorOfStructs(tables.instructions),
      builder.CreateVectorOfStructs(tables.passes), builder.CreateVector(tables.layers)));
  return success();
}

void ArtifactBuilder::addInstruction(BlockTables &tables, Operation &op, fb::Opcode opcode,
                                     uint32_t target, ValueRange inputs, ValueRange outputs,
                                     uint64_t frame) {
  uint32_t first = tables.operands.size();
  for (ValueRange values : {inputs, outputs})
    for (Value value : values)
      tables.operands.push_back(tables.bufferNumbers.lookup(value));
  tables.instructions.emplace_back(opcode, target, first, inputs.size(), outputs.size(),
                                   locations.number(op.getLoc()), frame);
}

/// What the call that comes next is in a pipeline.
void ArtifactBuilder::addMarks(BlockTables &tables, Operation &call) {
  auto number = uint32_t(tables.instructions.size());
  if (std::optional<dist::Task> task = dist::getTask(&call))
    tables.passes.emplace_back(number, task->piece, task->microBatch,
                               task->phase == graph::Phase::backward);
  if (call.hasAttr(dist::attr::kLayer))
    tables.layers.push_back(number);
}

LogicalResult ArtifactBuilder::visit(Operation &op, BlockTables &tables) {
  return llvm::TypeSwitch<Operation *, LogicalResult>(&op)
      .Case([&](exec::FrameOp frame) {
        addBuffer(
            tables, frame,
            fb::Buffer(fb::BufferKind::frame, 0, frame.getOffset(), byteSize(frame.getType())));
        return success();
      })
      .Case([&](exec::ConstantOp constant) {
        addBuffer(tables, constant,
                  fb::Buffer(fb::BufferKind::constant, constantNumber(constant.getValue()), 0,
                             byteSize(constant.getType())));
        return success();
      })
      .Case([&](exec::ViewOp view) {
        tables.bufferNumbers[view] = tables.bufferNumbers.lookup(view.getSource());
        return success();
      })
      .Case([&](exec::LaunchOp launch) -> LogicalResult {
        FailureOr<uint32_t> number = kernelNumber(launch);
        if (failed(number))
          return failure();
        addInstruction(tables, op, fb::Opcode::launch, *number, launch.getInputs(),
                       launch.getOutputs());
        return success();
      })
      .Case([&](exec::GemmOp gemm) {
        SmallVector<Value> inputs = {gemm.getLhs(), gemm.getRhs()}, outputs = {gemm.getOut()};
        if (Value vector = gemm.getVector())
          (gemm.getEpilogue() == exec::Epilogue::sums ? outputs : inputs).push_back(vector);
        addInstruction(tables, op, fb::Opcode::gemm, gemmNumber(gemm), inputs, outputs);
        return success();
      })
      .Case([&](exec::CallOp call) -> LogicalResult {
        FailureOr<uint32_t> callee = blockNumber(op, call.getCallee());
        if (failed(callee))
          return failure();
        bool repeats = call.getCount() != 1;
        addMarks(tables, op);
        addInstruction(tables, op, repeats ? fb::Opcode::repeat : fb::Opcode::call,
                       repeats ? addLoop(call, *callee) : *callee, call.getInputs(),
                       call.getOutputs(), call.getFrame());
        return success();
      })
      .Case([&](exec::BranchOp branch) -> LogicalResult {
        FailureOr<uint32_t> number = addBranch(branch);
        if (failed(number))
          return failure();
        SmallVector<Value> inputs{branch.getPredicate()};
        llvm::append_range(inputs, branch.getInputs());
        addInstruction(tables, op, fb::Opcode::branch, *number, inputs, branch.getOutputs(),
                       branch.getFrame());
        return success();
      })
      .Case([&](exec::WhileOp loop) -> LogicalResult {
        FailureOr<uint32_t> number = addWhileLoop(loop);
        if (failed(number))
          return failure();
        SmallVector<Value> outputs(loop.getOutputs());
        outputs.push_back(loop.getPredicate());
        addInstruction(tables, op, fb::Opcode::while_loop, *number, loop.getInputs(), outputs,
                       loop.getFrame());
        return success();
      })
      .Case([&](exec::CopyOp copy) {
        addInstruction(tables, op, fb::Opcode::copy, 0, copy.getSource(), copy.getTarget());
        return success();
      })
      .Case([&](exec::ScalarsOp scalars) -> LogicalResult {
        FailureOr<uint32_t> number = hostProgramNumber(scalars);
        if (failed(number))
          return failure();
        addInstruction(tables, op, fb::Opcode::scalars, *number, scalars.getInputs(),
                       scalars.getOutputs());
        return success();
      })
      .Case([&](exec::CollectiveOp collective) {
        auto opcode = collective.getToken() ? fb::Opcode::start : fb::Opcode::collective;
        if (collective.getToken())
          tables.starts[collective.getToken()] = tables.instructions.size();
        addInstruction(tables, op, opcode, collectiveNumber(collective), collective.getInputs(),
                       collective.getOutputs());
        return success();
      })
      .Case([&](exec::WaitOp wait) {
        addInstruction(tables, op, fb::Opcode::wait, tables.starts.lookup(wait.getToken()), {}, {});
        return success();
      })
      .Case([&](exec::SendOp send) -> LogicalResult {
        FailureOr<uint32_t> number =
            messageNumber(op, send.getTag(), send.getSource().getType(), send.getTo(), true);
        if (failed(number))
          return failure();
        addInstruction(tables, op, fb::Opcode::send, *number, send.getSource(), {});
        return success();
      })
      .Case([&](exec::RecvOp recv) -> LogicalResult {
        FailureOr<uint32_t> number =
            messageNumber(op, recv.getTag(), recv.getTarget().getType(), recv.getFrom(), false);
        if (failed(number))
          return failure();
        addInstruction(tables, op, fb::Opcode::recv, *number, {}, recv.getTarget());
        return success();
      })
      .Case([&](exec::DeviceIndexOp index) {
        addInstruction(tables, op, fb::Opcode::device_index,
                       groupNumber(index.getStrides(), index.getSizes()), {}, index.getTarget());
        return success();
      })
      .Case([&](exec::PrintOp print) {
        addInstruction(tables, op, fb::Opcode::print, addPrint(print), print.getValues(), {});
        return success();
      })
      .Default([](Operation *other) {
        return other->emitError("the artifact has no instruction for this op");
      });
}

uint32_t ArtifactBuilder::constantNumber(ElementsAttr value) {
  auto [entry, isNew] = constantNumbers.try_emplace(value, constants.size());
  if (isNew)
    constants.push_back(value);
  return entry->second;
}

FailureOr<uint32_t> ArtifactBuilder::kernelNumber(exec::LaunchOp op) {
  auto kernel = symbols.lookup<func::FuncOp>(op.getKernel());
  if (!kernel)
    return op.emitError("launches kernel '") << op.getKernel() << "', which is not there";
  auto [entry, isNew] = kernelNumbers.try_emplace(kernel, kernels.size());
  if (isNew)
    kernels.push_back(kernel);
  return entry->second;
}

FailureOr<uint32_t> ArtifactBuilder::blockNumber(Operation &op, StringRef name) {
  auto block = symbols.lookup<exec::BlockOp>(name);
  if (!block)
    return op.emitError("calls block '") << name << "', which is not there";
  return blockNumbers.lookup(block);
}

FailureOr<uint32_t> ArtifactBuilder::addBranch(exec::BranchOp op) {
  FailureOr<uint32_t> onTrue = blockNumber(*op, op.getOnTrue());
  FailureOr<uint32_t> onFalse = blockNumber(*op, op.getOnFalse());
  if (failed(onTrue) || failed(onFalse))
    return failure();
  branches.push_back(fb::CreateBranch(builder, *onTrue, *onFalse));
  return branches.size() - 1;
}

FailureOr<uint32_t> ArtifactBuilder::addWhileLoop(exec::WhileOp op) {
  FailureOr<uint32_t> condition = blockNumber(*op, op.getCondition());
  FailureOr<uint32_t> body = blockNumber(*op, op.getBody());
  if (failed(condition) || failed(body))
    return failure();
  whileLoops.push_back(fb::CreateWhileLoop(builder, *condition, *body));
  return whileLoops.size() - 1;
}

uint32_t ArtifactBuilder::addLoop(exec::CallOp call, uint32_t callee) {
  std::vector<uint64_t> strides(call->getNumOperands(), 0);
  if (std::optional<ArrayRef<int64_t>> given = call.getStrides())
    strides.assign(given->begin(), given->end());
  loops.push_back(fb::CreateLoop(builder, callee, call.getCount(), builder.CreateVector(strides),
                                 call.getReverse()));
  return loops.size() - 1;
}

uint32_t ArtifactBuilder::gemmNumber(exec::GemmOp op) {
  auto elementOf = [](Value matrix) { return cast<ShapedType>(matrix.getType()).getElementType(); };
  Type lhsType = elementOf(op.getLhs()), rhsType = elementOf(op.getRhs());
  Type outType = elementOf(op.getOut());
  Type element = graph::getAccumulatorType(outType);
  Attribute key =
      ArrayAttr::get(op.getContext(), {op->getPropertiesAsAttribute(), TypeAttr::get(lhsType),
                                       TypeAttr::get(rhsType), TypeAttr::get(outType)});
  auto [entry, isNew] = gemmNumbers.try_emplace(key, gemms.size());
  if (!isNew)
    return entry->second;
  auto longs = [&](ArrayRef<int64_t> values) {
    return builder.CreateVector(values.data(), values.size());
  };
  auto batch = longs(op.getBatch());
  auto lhs = longs(op.getLhsStrides()), rhs = longs(op.getRhsStrides()),
       out = longs(op.getOutStrides());
  auto lhsBatch = longs(op.getLhsBatchStrides()), rhsBatch = longs(op.getRhsBatchStrides());
  auto outBatch = longs(op.getOutBatchStrides());
  gemms.push_back(fb::CreateGemm(builder, toElementType(element), op.getM(), op.getN(), op.getK(),
                                 batch, lhs, rhs, out, lhsBatch, rhsBatch, outBatch,
                                 op.getBeta().convertToDouble(), lhsType.isBF16(), rhsType.isBF16(),
                                 outType.isBF16(), op.getTf32(), fb::Epilogue(op.getEpilogue())));
  return gemms.size() - 1;
}

FailureOr<uint32_t> ArtifactBuilder::hostProgramNumber(exec::ScalarsOp op) {
  auto function = symbols.lookup<func::FuncOp>(op.getProgram());
  if (!function)
    return op.emitError("evaluates '") << op.getProgram() << "', which is not there";
  auto [entry, isNew] = hostNumbers.try_emplace(function, hostPrograms.size());
  if (!isNew)
    return entry->second;
  FailureOr<HostProgram> program = buildHostProgram(function);
  if (failed(program))
    return failure();
  auto types = [&](ValueRange buffers) {
    std::vector<fb::ElementType> result;
    for (Value buffer : buffers)
      result.push_back(toElementType(cast<ShapedType>(buffer.getType()).getElementType()));
    return builder.CreateVector(result);
  };
  auto name = builder.CreateString(function.getSymName().str());
  auto instructions = builder.CreateVectorOfStructs(program->instructions);
  auto inputTypes = types(op.getInputs());
  auto results = builder.CreateVector(program->results);
  auto resultTypes = types(op.getOutputs());
  hostPrograms.push_back(
      fb::CreateHostProgram(builder, name, instructions, inputTypes, results, resultTypes));
  return hostPrograms.size() - 1;
}
