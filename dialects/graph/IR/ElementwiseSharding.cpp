//===- ElementwiseSharding.cpp - how elementwise ops may be cut -----------===//
#include "dialects/graph/IR/Graph.h"

using namespace mlir;
using namespace minigptc::graph;

ShardingRule minigptc::graph::detail::elementwiseRule(Operation *op, Linearity linearity,
                                                      ArrayRef<bool> linear) {
  ShardingRule rule = ShardingRule::elementwise(op);
  rule.linearity = linearity;
  rule.linear.assign(linear.begin(), linear.end());
  return rule;
}

/// Quotients may be added up, whole numbers of times a divisor fits may not.
ShardingRule DivideOp::getShardingRule() {
  bool exact = isa<FloatType>(getType().getElementType());
  return detail::elementwiseRule(*this, exact ? Linearity::each : Linearity::none, {true, false});
}

/// Widening is exact; narrowing rounds summands that should be added first. So does what a
/// narrow value is: its sum is made in the accumulator type, and rounded before it is widened.
ShardingRule ConvertOp::getShardingRule() {
  auto from = dyn_cast<FloatType>(getOperand().getType().getElementType());
  auto to = dyn_cast<FloatType>(getType().getElementType());
  bool widens = from && to && from == getAccumulatorType(from) &&
                APFloat::isRepresentableBy(from.getFloatSemantics(), to.getFloatSemantics());
  return detail::elementwiseRule(*this, widens ? Linearity::joint : Linearity::none, {});
}
