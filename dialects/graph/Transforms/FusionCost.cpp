//===- FusionCost.cpp -----------------------------------------------------===//
#include "dialects/graph/Transforms/FusionCost.h"

using namespace mlir;
using namespace minigptc::graph;

double minigptc::graph::getNumElements(Value value) {
  return std::max<double>(1, double(cast<RankedTensorType>(value.getType()).getNumElements()));
}

double minigptc::graph::getElementBytes(Value value) {
  return (cast<RankedTensorType>(value.getType()).getElementTypeBitWidth() + 7) / 8;
}

double minigptc::graph::getElementCost(Operation *op) {
  if (isa<RandomBitsOp>(op))
    return 40; // Ten rounds of two multiplications.
  if (isa<CbrtOp, CosineOp, ErfOp, ExponentialOp, ExponentialMinusOneOp, LogOp, LogPlusOneOp,
          LogisticOp, PowerOp, SineOp, TanhOp>(op))
    return 16;
  if (isa<DivideOp, RemainderOp, RsqrtOp, SqrtOp>(op))
    return 4;
  if (auto fusible = dyn_cast<FusibleOp>(op))
    if (fusible.getFusionKind() == FusionKind::broadcast)
      return 0;
  return 1;
}

double minigptc::graph::getOpCost(Operation *op) {
  constexpr double flopsPerByte = 10; // of a core and its share of the memory's bandwidth
  if (auto cost = dyn_cast<CostOp>(op))
    if (double flops = cost.getMatmulFlops(); flops > 0)
      return flops / flopsPerByte;
  double elements = 0; // of the largest tensor: a reduction walks its operand
  for (ValueRange values : {ValueRange(op->getOperands()), ValueRange(op->getResults())})
    for (Value value : values)
      elements = std::max(elements, getNumElements(value));
  return elements * getElementCost(op);
}

double minigptc::graph::getEvaluations(OpOperand &use) {
  Operation *user = use.getOwner();
  auto fusible = dyn_cast<FusibleOp>(user);
  if (!fusible || fusible.getFusionKind() == FusionKind::reduction || user->getNumResults() != 1)
    return 1;
  double operand = getNumElements(use.get()), result = getNumElements(user->getResult(0));
  // These read each element of an operand once, though the result is larger.
  if (operand > 1 && isa<ConcatenateOp, PadOp, DynamicUpdateSliceOp>(user))
    return 1;
  return result / operand;
}

bool minigptc::graph::isSplit(ReshapeOp reshape) {
  ArrayRef<int64_t> from = cast<RankedTensorType>(reshape.getOperand().getType()).getShape();
  ArrayRef<int64_t> to = cast<RankedTensorType>(reshape.getType()).getShape();
  size_t next = 0;
  for (int64_t size : from) {
    int64_t product = 1;
    while (next < to.size() && product < size)
      product *= to[next++];
    if (product != size)
      return false;
    while (next < to.size() && to[next] == 1)
      ++next;
  }
  return true;
}
