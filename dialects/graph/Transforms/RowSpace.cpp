//===- RowSpace.cpp -------------------------------------------------------===//
#include "dialects/graph/Transforms/RowSpace.h"

using namespace mlir;
using namespace minigptc::graph;

static ArrayRef<int64_t> shapeOf(Value value) {
  return cast<RankedTensorType>(value.getType()).getShape();
}
static int64_t countOf(Value value) {
  return cast<RankedTensorType>(value.getType()).getNumElements();
}
static FusionKind kindOf(Operation *op) { return cast<FusibleOp>(op).getFusionKind(); }

bool RowSpace::isFull(Value value) const {
  return !shapeOf(value).empty() && shapeOf(value).back() == columns &&
         countOf(value) == rows * columns;
}

bool RowSpace::isRow(Value value) const { return countOf(value) == rows && !isFull(value); }

RowSpace minigptc::graph::getRowSpace(Value full) {
  if (shapeOf(full).empty() || countOf(full) == 0)
    return {};
  int64_t columns = shapeOf(full).back();
  return {countOf(full) / columns, columns};
}

bool minigptc::graph::isPartialColumnSum(Operation *op) {
  auto reduce = dyn_cast<ReduceOp>(op);
  return reduce && reduce.getKind() == ReduceKind::sum &&
         shapeOf(reduce.getOperand()).size() == 3 && reduce.getDims() == ArrayRef<int64_t>{1};
}

std::optional<RowSpace> minigptc::graph::getReducedSpace(Operation *reduction) {
  auto reduce = dyn_cast<ReduceOp>(reduction);
  if (!reduce)
    return std::nullopt;
  int64_t last = int64_t(shapeOf(reduce.getOperand()).size()) - 1;
  if (!isPartialColumnSum(reduce) && (last < 0 || reduce.getDims() != ArrayRef<int64_t>{last}))
    return std::nullopt;
  RowSpace space = getRowSpace(reduce.getOperand());
  if (space.columns <= 1 || space.rows == 0)
    return std::nullopt;
  return space;
}

bool minigptc::graph::keepsColumns(ReshapeOp reshape) {
  ArrayRef<int64_t> from = shapeOf(reshape.getOperand()), to = shapeOf(reshape.getResult());
  return !from.empty() && !to.empty() && from.back() == to.back();
}

/// Whether result dimensions of more than one element are the operand's.
static bool repeatsNothing(BroadcastInDimOp broadcast, ArrayRef<int64_t> resultShape) {
  int64_t mapped = 1, all = 1;
  for (int64_t size : resultShape)
    all *= size;
  for (auto [dim, size] : llvm::zip(broadcast.getDims(), shapeOf(broadcast.getOperand())))
    mapped *= dim < int64_t(resultShape.size()) ? size : 1;
  return mapped == all;
}

RowAlignment::RowAlignment(ArrayRef<Operation *> body, ArrayRef<Operation *> roots, RowSpace space)
    : space(space) {
  for (Operation *root : roots)
    for (Value result : root->getResults()) {
      aligned.insert(result);
      rowKernel &= space.isFull(result) || space.isRow(result) || isPartialColumnSum(root);
    }
  // Readers come before what they read.
  for (Operation *op : llvm::reverse(body)) {
    bool here = llvm::all_of(op->getResults(), [&](Value result) { return isAligned(result); });
    for (Value operand : op->getOperands())
      (here && readsAtOwnPlace(op, operand) ? aligned : elsewhere).insert(operand);
    rowKernel &= kindOf(op) != FusionKind::opaque;
  }
  for (Operation *root : roots)
    for (Value result : root->getResults())
      rootsAligned &= !elsewhere.contains(result);
}

/// Whether an op that is computed at its own row (and column) reads an operand there.
bool RowAlignment::readsAtOwnPlace(Operation *op, Value operand) const {
  Value result = op->getResult(0);
  if (kindOf(op) == FusionKind::elementwise)
    return shapeOf(operand) == shapeOf(result);
  if (isPartialColumnSum(op) && space.isFull(operand) && space.rows % shapeOf(result)[0] == 0)
    return true;
  bool isFull = space.isFull(result), isRow = space.isRow(result);
  if (kindOf(op) == FusionKind::reduction)
    return isRow && space.isFull(operand) && getReducedSpace(op) == space;
  if (isa<ReshapeOp>(op))
    return (isFull && space.isFull(operand)) || (isRow && space.isRow(operand));
  if (auto broadcast = dyn_cast<BroadcastInDimOp>(op)) {
    if (isRow || (isFull && space.isFull(operand)))
      return countOf(operand) == countOf(result);
    // A row value: repeated along the last dimension only.
    return isFull && space.isRow(operand) && repeatsNothing(broadcast, shapeOf(result).drop_back());
  }
  return false;
}
