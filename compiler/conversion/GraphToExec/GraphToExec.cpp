//===- GraphToExec.cpp - --convert-graph-to-exec --------------------------===//
#include "compiler/conversion/GraphToExec/BufferAssignment.h"
#include "compiler/conversion/GraphToExec/Instructions.h"
#include "compiler/conversion/GraphToExec/Passes.h"
#include "dialects/dist/IR/Task.h"
#include "dialects/graph/Transforms/FunctionGraph.h"
#include "mlir/IR/Matchers.h"

namespace minigptc {
#define GEN_PASS_DEF_CONVERTGRAPHTOEXEC
#include "compiler/conversion/GraphToExec/Passes.h.inc"
} // namespace minigptc

using namespace mlir;
using namespace minigptc;

namespace {
/// The buffers' types of tensors. Making one takes a while, and models have few.
class BufferTypes {
public:
  MemRefType operator()(Type type) {
    MemRefType &known = types[type];
    if (!known) {
      auto tensor = cast<RankedTensorType>(type);
      known = MemRefType::get(tensor.getShape(), tensor.getElementType());
    }
    return known;
  }

private:
  DenseMap<Type, MemRefType> types;
};

bool isView(Operation *op) {
  auto instruction = dyn_cast<graph::InstructionOp>(op);
  return instruction && instruction.getInstructionKind() == graph::InstructionKind::view;
}

bool isHost(Operation *op) {
  auto instruction = dyn_cast<graph::InstructionOp>(op);
  return instruction && instruction.getInstructionKind() == graph::InstructionKind::host;
}

/// Emits one block from a function and its buffers.
class BlockEmitter {
public:
  BlockEmitter(func::FuncOp function, const BufferAssignment &buffers,
               BufferAssignment::CalleeLookup lookup, BufferTypes &getBufferType)
      : function(function), buffers(buffers), lookup(lookup), getBufferType(getBufferType),
        builder(function.getContext()) {}

  LogicalResult emit() {
    exec::BlockOp block = createBlock();
    builder.setInsertionPointToStart(&block.getBody().front());
    Block &body = function.getBody().front();
    for (bool host : {true, false}) // Host programs run before the step.
      for (Operation &op : body.without_terminator())
        if (isHost(&op) == host && failed(emitOp(&op)))
          return failure();
    emitFinalCopies();
    exec::ReturnOp::create(builder, body.getTerminator()->getLoc());
    return success();
  }

private:
  exec::BlockOp createBlock() {
    SmallVector<Type> types;
    SmallVector<Attribute> argumentAttrs;
    SmallVector<Location> locations;
    auto add = [&](Type type, DictionaryAttr attrs, Location loc) {
      types.push_back(getBufferType(type));
      argumentAttrs.push_back(attrs ? attrs : builder.getDictionaryAttr({}));
      locations.push_back(loc);
    };
    for (BlockArgument argument : function.getArguments())
      add(argument.getType(), function.getArgAttrDict(argument.getArgNumber()), argument.getLoc());
    Operation *terminator = function.getBody().front().getTerminator();
    for (auto [i, type] : llvm::enumerate(function.getResultTypes()))
      add(type, function.getResultAttrDict(i), terminator->getLoc());

    builder.setInsertionPoint(function);
    bool anyAttrs = llvm::any_of(
        argumentAttrs, [](Attribute attrs) { return !cast<DictionaryAttr>(attrs).empty(); });
    auto block = exec::BlockOp::create(builder, function.getLoc(), function.getSymNameAttr(),
                                       TypeAttr::get(builder.getFunctionType(types, {})),
                                       builder.getI64IntegerAttr(function.getNumArguments()),
                                       builder.getI64IntegerAttr(buffers.getFrameSize()),
                                       anyAttrs ? builder.getArrayAttr(argumentAttrs) : ArrayAttr(),
                                       ArrayAttr());
    block->setDiscardableAttrs(function->getDiscardableAttrDictionary());
    Block &body = block.getBody().emplaceBlock();
    body.addArguments(types, locations);
    for (BlockArgument argument : function.getArguments())
      values[argument] = body.getArgument(argument.getArgNumber());
    outputs = body.getArguments().drop_front(function.getNumArguments());
    return block;
  }

  LogicalResult emitOp(Operation *op) {
    if (isAbsent(op))
      return success();
    if (op->hasTrait<OpTrait::ConstantLike>()) {
      ElementsAttr contents;
      matchPattern(op, m_Constant(&contents));
      values[op->getResult(0)] = exec::ConstantOp::create(
          builder, op->getLoc(), getBufferType(op->getResult(0).getType()), contents);
      return success();
    }
    if (isView(op)) {
      values[op->getResult(0)] =
          view(values[op->getOperand(0)], op->getResult(0).getType(), op->getLoc());
      return success();
    }
    SmallVector<Value> ins, outs;
    for (Value operand : op->getOperands())
      ins.push_back(values[operand]);
    if (isWait(op)) {
      for (auto [result, buffer] : llvm::zip(op->getResults(), ins))
        values[result] = buffer;
      return emitWait(op, builder, ins);
    }
    for (Value result : op->getResults())
      outs.push_back(values[result] = makeBuffer(result));
    if (auto loop = dyn_cast<graph::LoopOp>(op))
      return emitLoop(loop, ins, outs);
    if (auto cond = dyn_cast<graph::CondOp>(op)) {
      exec::BranchOp::create(builder, op->getLoc(), ins[0], cond.getOnTrue(), cond.getOnFalse(),
                             ArrayRef(ins).drop_front(), outs,
                             uint64_t(buffers.getCallFrameOffset(op)));
      return success();
    }
    if (auto loop = dyn_cast<graph::WhileOp>(op)) {
      emitWhile(loop, ins, outs);
      return success();
    }
    auto call = dyn_cast<func::CallOp>(op);
    if (!call)
      return cast<graph::InstructionOp>(op).emitInstruction(builder, ins, outs);
    emitCall(call, ins, outs);
    return success();
  }

  /// What the callee continues in place starts in the outputs.
  void startInOutputs(Operation *op, SmallVector<Value> &ins, ArrayRef<Value> outs) {
    for (auto [result, out] : llvm::zip(op->getResults(), outs))
      if (std::optional<unsigned> operand = buffers.getOperandInPlace(result)) {
        emitCopyUnlessSame(builder, op->getLoc(), ins[*operand], out);
        ins[*operand] = out;
      }
  }

  void emitCall(func::CallOp call, SmallVector<Value> &ins, ArrayRef<Value> outs) {
    startInOutputs(call, ins, outs);
    if (lookup(call.getCalleeAttr()).kernel) {
      exec::LaunchOp::create(builder, call.getLoc(), call.getCalleeAttr(),
                             /*groups=*/IntegerAttr(), ins, outs);
      return;
    }
    auto copy = exec::CallOp::create(builder, call.getLoc(), call.getCalleeAttr(), ins, outs,
                                     builder.getI64IntegerAttr(buffers.getCallFrameOffset(call)),
                                     /*count=*/IntegerAttr(), /*strides=*/DenseI64ArrayAttr());
    for (StringRef mark : {StringRef(dist::attr::kTask), StringRef(dist::attr::kLayer)})
      if (Attribute value = call->getAttr(mark)) // Of a pipeline, for who measures it.
        copy->setAttr(mark, value);
  }

  /// A repeated call.
  LogicalResult emitLoop(graph::LoopOp loop, SmallVector<Value> &ins, ArrayRef<Value> outs) {
    startInOutputs(loop, ins, outs);
    int64_t count = loop.getTripCount();
    SmallVector<int64_t> strides;
    auto addStride = [&](Value buffer, bool isCut) {
      int64_t bytes = exec::getBufferBytes(cast<MemRefType>(buffer.getType())) / count;
      strides.push_back(isCut ? bytes : 0);
      return !isCut || count == 1 || bytes % kBufferAlignment == 0;
    };
    bool aligned = true;
    for (auto [i, buffer] : llvm::enumerate(ins))
      aligned &= addStride(buffer, loop.isCutOperand(i));
    for (auto [i, buffer] : llvm::enumerate(outs))
      aligned &= addStride(buffer, loop.isCutResult(i));
    if (!aligned)
      return loop.emitError() << "cuts tensors into parts that are no multiple of "
                              << kBufferAlignment << " bytes (--graph-align-loops)";
    auto stridesAttr = count == 1 ? DenseI64ArrayAttr() : builder.getDenseI64ArrayAttr(strides);
    exec::CallOp::create(builder, loop.getLoc(), loop.getLoopBody(), ins, outs,
                         builder.getI64IntegerAttr(buffers.getCallFrameOffset(loop)),
                         builder.getI64IntegerAttr(count), stridesAttr,
                         loop.isReversed() && count > 1 ? builder.getUnitAttr() : UnitAttr());
    return success();
  }

  void emitWhile(graph::WhileOp loop, SmallVector<Value> &ins, ArrayRef<Value> outs) {
    startInOutputs(loop, ins, outs);
    Value predicate =
        exec::FrameOp::create(builder, loop.getLoc(), MemRefType::get({}, builder.getI1Type()),
                              buffers.getPredicateOffset(loop));
    exec::WhileOp::create(builder, loop.getLoc(), loop.getCondition(), loop.getBody(), ins, outs,
                          predicate, uint64_t(buffers.getCallFrameOffset(loop)));
  }

  /// The memory into which an op writes a result.
  Value makeBuffer(Value result) {
    const BufferAssignment::Storage &storage = buffers[buffers.getStorage(result)];
    if (storage.kind == BufferAssignment::Kind::output)
      return view(outputs[storage.index], result.getType(), result.getLoc());
    return exec::FrameOp::create(builder, result.getLoc(), getBufferType(result.getType()),
                                 storage.offset);
  }

  Value view(Value buffer, Type tensor, Location loc) {
    MemRefType type = getBufferType(tensor);
    return buffer.getType() == type ? buffer
                                    : Value(exec::ViewOp::create(builder, loc, type, buffer));
  }

  void emitFinalCopies() {
    Location loc = function.getBody().front().getTerminator()->getLoc();
    SmallVector<Value> sources;
    for (const BufferAssignment::FinalCopy &copy : buffers.getFinalCopies()) {
      Value source = values[copy.source];
      if (copy.temporary >= 0) {
        Value saved =
            exec::FrameOp::create(builder, loc, source.getType(), buffers[copy.temporary].offset);
        exec::CopyOp::create(builder, loc, source, saved);
        source = saved;
      }
      sources.push_back(source);
    }
    for (auto [copy, source] : llvm::zip(buffers.getFinalCopies(), sources))
      exec::CopyOp::create(builder, loc, source, outputs[copy.output]);
  }

  func::FuncOp function;
  const BufferAssignment &buffers;
  BufferAssignment::CalleeLookup lookup;
  BufferTypes &getBufferType;
  OpBuilder builder;
  DenseMap<Value, Value> values;
  ArrayRef<BlockArgument> outputs;
};

struct ConvertGraphToExec : minigptc::impl::ConvertGraphToExecBase<ConvertGraphToExec> {
  void runOnOperation() override {
    auto functions = graph::FunctionGraph::build(getOperation());
    if (failed(functions))
      return signalPassFailure();
    InPlaceAnalysis inPlace;
    BufferTypes types;
    DenseMap<StringAttr, BlockInfo> blocks;
    auto lookup = [&](FlatSymbolRefAttr callee) -> CalleeInfo {
      StringAttr name = callee.getAttr();
      if (auto found = blocks.find(name); found != blocks.end())
        return {func::FuncOp(), &found->second};
      return {functions->lookup(name), nullptr};
    };
    SmallVector<func::FuncOp> converted;
    for (func::FuncOp function : functions->getPostOrder()) {
      if (function->hasAttr(graph::attr::kKernel) || function->hasAttr(graph::attr::kHost))
        continue;
      if (function.isExternal()) {
        function.emitOpError("has no body");
        return signalPassFailure();
      }
      auto buffers = BufferAssignment::compute(function, lookup, inPlace);
      if (failed(buffers) || failed(BlockEmitter(function, *buffers, lookup, types).emit()))
        return signalPassFailure();
      BlockInfo &info = blocks[function.getSymNameAttr()];
      if (functions->getUses(function).size() > 0) // An entry's table would be large.
        info = buffers->getInfo();
      converted.push_back(function);
    }
    for (func::FuncOp function : converted)
      function.erase();
  }
};
} // namespace
