//===- Calls.cpp - verifiers of instructions that name a symbol -----------===//
#include "dialects/exec/IR/Exec.h"
#include "dialects/graph/IR/Graph.h"

using namespace mlir;
using namespace minigptc::exec;

/// An error at the instruction with a note at what it names.
static LogicalResult fail(Operation *op, Operation *symbol, const Twine &message) {
  InFlightDiagnostic error = op->emitOpError(message);
  error.attachNote(symbol->getLoc())
      << "@" << SymbolTable::getSymbolName(symbol).getValue() << " is defined here";
  return error;
}

/// Buffers of an instruction, against the shapes and element types of a function's tensors,
/// once for each group.
static LogicalResult checkBuffers(Operation *op, func::FuncOp function, StringRef what,
                                  TypeRange buffers, TypeRange tensors, uint64_t groups) {
  bool fits = tensors.empty() ? buffers.empty()
                              : buffers.size() % tensors.size() == 0 &&
                                    buffers.size() / tensors.size() == groups;
  if (!fits)
    return fail(op, function,
                "has " + Twine(buffers.size()) + " " + what + "s, but @" + function.getSymName() +
                    " has " + Twine(tensors.size()) +
                    (groups == 1 ? "" : " and is run " + Twine(groups) + " times"));
  for (auto [i, buffer] : llvm::enumerate(buffers)) {
    Type tensor = tensors[i % tensors.size()];
    if (failed(verifyBufferType(op, buffer)))
      return failure();
    auto memref = cast<MemRefType>(buffer);
    auto type = dyn_cast<RankedTensorType>(tensor);
    if (!type || memref.getShape() != type.getShape() ||
        memref.getElementType() != type.getElementType()) {
      InFlightDiagnostic error = op->emitOpError()
                                 << what << " " << i << " is " << buffer << ", but @"
                                 << function.getSymName() << " has " << tensor;
      error.attachNote(function.getLoc()) << "@" << function.getSymName() << " is defined here";
      return error;
    }
  }
  return success();
}

static FailureOr<func::FuncOp> lookupMarked(Operation *op, FlatSymbolRefAttr name, StringRef mark,
                                            SymbolTableCollection &tables) {
  auto function = tables.lookupNearestSymbolFrom<func::FuncOp>(op, name);
  if (!function)
    return op->emitOpError() << "names " << name << ", but there is no such function";
  if (!function->hasAttr(mark))
    return fail(op, function, "names @" + function.getSymName() + ", which is not marked " + mark);
  return function;
}

LogicalResult LaunchOp::verifySymbolUses(SymbolTableCollection &tables) {
  auto kernel = lookupMarked(*this, getKernelAttr(), graph::attr::kKernel, tables);
  if (failed(kernel))
    return failure();
  uint64_t groups = getGroups();
  if (int64_t(groups) < 1)
    return emitOpError() << "has " << int64_t(groups) << " groups; there must be at least one";
  if (failed(checkBuffers(*this, *kernel, "input", getInputs().getTypes(),
                          kernel->getArgumentTypes(), groups)))
    return failure();
  return checkBuffers(*this, *kernel, "output", getOutputs().getTypes(), kernel->getResultTypes(),
                      groups);
}

LogicalResult ScalarsOp::verifySymbolUses(SymbolTableCollection &tables) {
  auto program = lookupMarked(*this, getProgramAttr(), graph::attr::kHost, tables);
  if (failed(program))
    return failure();
  // The program computes in f64; scalars are converted on their way in and out.
  if (getInputs().size() != program->getNumArguments() ||
      getOutputs().size() != program->getNumResults())
    return fail(*this, *program,
                "has " + Twine(getInputs().size()) + " inputs and " + Twine(getOutputs().size()) +
                    " outputs, but @" + program->getSymName() + " has " +
                    Twine(program->getNumArguments()) + " and " + Twine(program->getNumResults()));
  for (Value buffer : getOperation()->getOperands())
    if (cast<MemRefType>(buffer.getType()).getRank() != 0)
      return emitOpError() << "has a buffer of type " << buffer.getType()
                           << "; all must be scalars";
  return success();
}

/// The call of number `count` - 1 still lies inside its operands.
static LogicalResult checkCallOperands(CallOp call, BlockOp callee) {
  int64_t count = int64_t(call.getCount());
  ArrayRef<int64_t> strides = call.getStrides().value_or(ArrayRef<int64_t>());
  if (count < 1)
    return call.emitOpError() << "has the count " << count << "; it must be at least 1";
  if (!strides.empty() && strides.size() != call->getNumOperands())
    return call.emitOpError() << "has " << strides.size() << " strides for "
                              << call->getNumOperands() << " operands";
  for (auto [i, given, expected] :
       llvm::enumerate(call->getOperandTypes(), callee.getArgumentTypes())) {
    int64_t stride = strides.empty() ? 0 : strides[i];
    if (stride < 0 || stride % 64 != 0)
      return call.emitOpError() << "has the stride " << stride << ", which is not a multiple of 64";
    auto whole = cast<MemRefType>(given), part = cast<MemRefType>(expected);
    bool fits = stride == 0 ? whole == part
                            : whole.getElementType() == part.getElementType() &&
                                  stride <= (getBufferBytes(whole) - getBufferBytes(part)) /
                                                std::max<int64_t>(count - 1, 1);
    if (fits)
      continue;
    InFlightDiagnostic error = call.emitOpError()
                               << "argument " << i << " is " << given << ", but @"
                               << callee.getSymName() << " has " << expected;
    if (stride != 0)
      error << ", " << count << " times at a stride of " << stride << " bytes";
    error.attachNote(callee.getLoc()) << "@" << callee.getSymName() << " is defined here";
    return error;
  }
  return success();
}

/// The frame that an instruction gives a block that it calls lies in its own.
static LogicalResult checkFrame(Operation *op, BlockOp callee, int64_t frame) {
  if (frame < 0 || frame % 64 != 0)
    return op->emitOpError() << "frame " << frame << " is not a multiple of 64";
  auto block = op->getParentOfType<BlockOp>();
  if (block && frame + int64_t(callee.getFrameSize()) > int64_t(block.getFrameSize()))
    return fail(op, callee,
                "gives a frame that ends at byte " + Twine(frame + int64_t(callee.getFrameSize())) +
                    ", outside the block's frame of " + Twine(block.getFrameSize()) + " bytes");
  return success();
}

LogicalResult CallOp::verifySymbolUses(SymbolTableCollection &tables) {
  auto callee = tables.lookupNearestSymbolFrom<BlockOp>(*this, getCalleeAttr());
  if (!callee)
    return emitOpError() << "names " << getCalleeAttr() << ", but there is no such block";
  if (getInputs().size() != callee.getNumInputs())
    return fail(*this, callee,
                "has " + Twine(getInputs().size()) + " inputs, but @" + callee.getSymName() +
                    " has " + Twine(callee.getNumInputs()));
  if (getOperation()->getNumOperands() != callee.getArgumentTypes().size())
    return fail(*this, callee,
                "has " + Twine(getOutputs().size()) + " outputs, but @" + callee.getSymName() +
                    " has " + Twine(callee.getArgumentTypes().size() - callee.getNumInputs()));
  if (failed(checkCallOperands(*this, callee)))
    return failure();
  return checkFrame(*this, callee, int64_t(getFrame()));
}

/// A block that an instruction may call, with these buffers.
static LogicalResult checkBranch(Operation *op, FlatSymbolRefAttr name, ValueRange inputs,
                                 ValueRange outputs, int64_t frame,
                                 SymbolTableCollection &tables) {
  auto callee = tables.lookupNearestSymbolFrom<BlockOp>(op, name);
  if (!callee)
    return op->emitOpError() << "names " << name << ", but there is no such block";
  ArrayRef<Type> types = callee.getArgumentTypes();
  uint64_t numInputs = callee.getNumInputs();
  if (inputs.getTypes() != TypeRange(types.take_front(numInputs)) ||
      outputs.getTypes() != TypeRange(types.drop_front(numInputs)))
    return fail(op, callee, "has other buffers than @" + callee.getSymName());
  return checkFrame(op, callee, frame);
}

static LogicalResult checkPredicate(Operation *op, Value predicate) {
  auto type = cast<MemRefType>(predicate.getType());
  if (type.getRank() == 0 && type.getElementType().isInteger(1))
    return success();
  return op->emitOpError() << "has the predicate " << type << "; it must be an i1 scalar";
}

LogicalResult BranchOp::verifySymbolUses(SymbolTableCollection &tables) {
  if (failed(checkPredicate(*this, getPredicate())))
    return failure();
  for (FlatSymbolRefAttr branch : {getOnTrueAttr(), getOnFalseAttr()})
    if (failed(checkBranch(*this, branch, getInputs(), getOutputs(), int64_t(getFrame()), tables)))
      return failure();
  return success();
}

LogicalResult WhileOp::verifySymbolUses(SymbolTableCollection &tables) {
  if (failed(checkPredicate(*this, getPredicate())))
    return failure();
  if (getOutputs().size() > getInputs().size() ||
      getInputs().take_back(getOutputs().size()) != getOutputs())
    return emitOpError("has outputs that are not the last of its inputs");
  int64_t frame = int64_t(getFrame());
  if (failed(checkBranch(*this, getConditionAttr(), getInputs(), getPredicate(), frame, tables)))
    return failure();
  return checkBranch(*this, getBodyAttr(), getInputs(), getOutputs(), frame, tables);
}

BlockCalls minigptc::exec::getBlockCalls(Operation *op) {
  if (auto call = dyn_cast<CallOp>(op))
    return {{call.getCallee()}, int64_t(call.getFrame())};
  if (auto branch = dyn_cast<BranchOp>(op))
    return {{branch.getOnTrue(), branch.getOnFalse()}, int64_t(branch.getFrame())};
  if (auto loop = dyn_cast<WhileOp>(op))
    return {{loop.getCondition(), loop.getBody()}, int64_t(loop.getFrame())};
  return {};
}
