//===- BatchElementwise.cpp - elementwise ops on many examples ------------===//
#include "dialects/graph/IR/Batching.h"

using namespace mlir;
using namespace minigptc::graph;

/// A predicate that is a scalar chooses for all elements of its example.
static FailureOr<BatchedValues> batchSelect(SelectOp op, Batch &batch) {
  SmallVector<Value> operands{batch.get(0), batch.all(1), batch.all(2)};
  if (rankOf(op.getPred()) != 0 || rankOf(op.getOnTrue()) == 0)
    operands[0] = batch.all(0u);
  else if (batch.isBatched(0u))
    operands[0] = batch.b.broadcast(batch.get(0), {0}, shapeOf(operands[1]));
  return batch.clone(operands);
}

void minigptc::graph::attachElementwiseBatchRules(MLIRContext *context) {
  attachBatchRule<batchElementwise, CbrtOp, CeilOp, CosineOp, ErfOp, ExponentialOp,
                  ExponentialMinusOneOp, FloorOp, LogOp, LogPlusOneOp, LogisticOp,
                  RoundNearestEvenOp, RsqrtOp, SineOp, SqrtOp, TanhOp, AbsOp, NegateOp, SignOp,
                  NotOp, AddOp, SubtractOp, MultiplyOp, DivideOp, MaximumOp, MinimumOp, PowerOp,
                  RemainderOp, AndOp, OrOp, XorOp, ShiftLeftOp, ShiftRightLogicalOp,
                  ShiftRightArithmeticOp, CompareOp, IsFiniteOp, ClampOp, ConvertOp,
                  BitcastConvertOp, ReluOp, SiluOp, GeluOp>(context);
  attachBatchRule<batchSelect, SelectOp>(context);
}
