//===- NestAnalysis.cpp ---------------------------------------------------===//
#include "compiler/target/common/NestAnalysis.h"
#include "compiler/conversion/GraphToLoops/Scalars.h"
#include "mlir/IR/Matchers.h"
#include "llvm/ADT/SetVector.h"

using namespace mlir;
using namespace minigptc;
using namespace minigptc::target;
using namespace minigptc::graph::kernel;

static bool isSupported(Type type) {
  auto tensor = dyn_cast<RankedTensorType>(type);
  return tensor && !tensor.getElementType().isF16();
}

/// Such an op reads the kernel's arguments and returns all its results.
static LogicalResult verifyWholeKernel(func::FuncOp kernel, Operation &op) {
  Block &body = kernel.getBody().front();
  auto isArgument = [](Value operand) { return isa<BlockArgument>(operand); };
  if (&op != &body.front() || op.getNextNode() != body.getTerminator() ||
      !llvm::all_of(op.getOperands(), isArgument) ||
      !llvm::equal(op.getResults(), body.getTerminator()->getOperands()))
    return op.emitError("this op must be alone in its kernel, and its results the kernel's");
  return success();
}

LogicalResult minigptc::target::verifyKernel(func::FuncOp kernel, StringRef machine,
                                              StringRef name,
                                              function_ref<bool(Operation *)> isWhole) {
  auto refuse = [&](Operation *op, Type type) {
    return op->emitError() << "no " << machine << " code for " << type
                           << ": f16 does not compile for target '" << name
                           << "'; use bf16 or f32";
  };
  if (!kernel.getBody().hasOneBlock())
    return kernel.emitError("a kernel must have one block");
  for (Operation &op : kernel.getBody().front()) {
    for (Type type : op.getResultTypes())
      if (!isSupported(type))
        return refuse(&op, type);
    if (isWhole(&op)) {
      if (failed(verifyWholeKernel(kernel, op)))
        return failure();
    } else if (!isa<func::ReturnOp>(op) && !isa<graph::KernelOp>(op))
      return op.emitError(
          "this op has no kernel: it must be decomposed before the stage 'schedule'");
  }
  for (Type type : kernel.getArgumentTypes())
    if (!isSupported(type))
      return refuse(kernel, type);
  return success();
}

bool minigptc::target::isFlat(func::FuncOp kernel, ArrayRef<int64_t> shape) {
  auto fits = [&](Value value) { return getShape(value).empty() || getShape(value) == shape; };
  for (Operation &op : kernel.getBody().front().without_terminator()) {
    DenseElementsAttr constant;
    if (matchPattern(&op, m_Constant(&constant))) {
      if (!constant.isSplat() || !fits(op.getResult(0)))
        return false;
      continue;
    }
    auto fusible = dyn_cast<graph::FusibleOp>(op);
    if (!fusible || !llvm::all_of(op.getOperands(), fits) || !llvm::all_of(op.getResults(), fits))
      return false;
    bool scalarsOnly = op.getNumOperands() > 0 &&
                       llvm::all_of(op.getOperands(), [](Value v) { return getShape(v).empty(); });
    if (fusible.getFusionKind() != graph::FusionKind::elementwise && !scalarsOnly)
      return false;
  }
  return llvm::all_of(kernel.getBody().front().getTerminator()->getOperands(),
                      [&](Value value) { return getShape(value) == shape; });
}

/// Shorter rows or columns than this are read as they lie: cache lines serve several.
static constexpr int64_t kLeastTurned = 8;

/// The result's dimension in which the operand's elements lie beside each other; -1: it has
/// one element.
static int64_t getDenseDim(Value operand, ArrayRef<int64_t> permutation) {
  ArrayRef<int64_t> shape = getShape(operand);
  for (int64_t source = int64_t(shape.size()) - 1; source >= 0; --source)
    if (shape[source] != 1)
      return llvm::find(permutation, source) - permutation.begin();
  return -1;
}

TurnedValues minigptc::target::findTurnedValues(func::FuncOp kernel, ArrayRef<unsigned> outputs,
                                                ArrayRef<int64_t> shape, int64_t inner) {
  TurnedValues turned;
  Operation *terminator = kernel.getBody().front().getTerminator();
  bool reduces = llvm::any_of(kernel.getBody().front(),
                              [](Operation &op) { return isa<graph::ReductionKernelOp>(op); });
  if (shape[inner] < kLeastTurned || reduces)
    return turned;
  llvm::SetVector<Value> sameIndex; // as the outputs
  for (unsigned number : outputs)
    sameIndex.insert(terminator->getOperand(number));
  if (!llvm::all_of(sameIndex, [&](Value v) { return getShape(v) == shape; }))
    return turned;
  for (size_t i = 0; i < sameIndex.size(); ++i) {
    Operation *op = sameIndex[i].getDefiningOp();
    auto fusible = dyn_cast_or_null<graph::FusibleOp>(op);
    if (fusible && fusible.getFusionKind() == graph::FusionKind::elementwise)
      sameIndex.insert(op->operand_begin(), op->operand_end());
    std::optional<ArrayRef<int64_t>> permutation = getPermutation(op);
    if (!permutation)
      continue;
    int64_t dim = getDenseDim(op->getOperand(0), *permutation);
    bool isTurned = dim >= 0 && dim != inner && shape[dim] >= kLeastTurned;
    if (!isTurned || (turned.dim >= 0 && turned.dim != dim))
      continue;
    turned.dim = dim;
    turned.values.push_back(op->getResult(0));
  }
  return turned;
}
