//===- CompositeSharding.cpp - how composite ops may be cut ---------------===//
#include "dialects/graph/IR/Builders.h"

using namespace mlir;
using namespace minigptc::graph;

/// An elementwise rule but for one dimension, over which statistics are made together.
static ShardingRule normalisingRule(Operation *op, unsigned dim) {
  ShardingRule rule = ShardingRule::replicated(op);
  for (auto [number, size] : llvm::enumerate(shapeOf(op->getResult(0)))) {
    auto kind = number == dim ? FactorKind::collective : FactorKind::passThrough;
    rule.operands[0][number] = rule.results[0][number] = {rule.addFactor(size, kind)};
  }
  return rule;
}

ShardingRule SoftmaxOp::getShardingRule() { return normalisingRule(*this, getDim()); }

/// A norm of the last dimension, which its parameters have too.
static ShardingRule normRule(Operation *op) {
  ShardingRule rule = normalisingRule(op, shapeOf(op->getResult(0)).size() - 1);
  for (auto &parameter : llvm::drop_begin(rule.operands))
    parameter[0] = rule.results[0].back();
  return rule;
}

ShardingRule LayerNormOp::getShardingRule() { return normRule(*this); }
ShardingRule RmsNormOp::getShardingRule() { return normRule(*this); }

/// Pairs of the last dimension turn together, by an angle that depends on the place in it.
ShardingRule RopeOp::getShardingRule() {
  ShardingRule rule = ShardingRule::replicated(*this);
  rule.linearity = Linearity::joint;
  rule.linear = {true, false};
  for (unsigned dim = 0; dim < 3; ++dim)
    rule.operands[0][dim] = rule.results[0][dim] = {rule.addFactor(shapeOf(getOperand())[dim])};
  rule.operands[1][0] = rule.operands[0][1];
  return rule;
}

/// A device that has some rows of the table looks up the ids of these; the sum over the
/// devices is the whole.
ShardingRule EmbeddingOp::getShardingRule() {
  ShardingRule rule = ShardingRule::replicated(*this);
  rule.linearity = Linearity::joint;
  rule.linear = {true, false};
  for (auto [dim, size] : llvm::enumerate(shapeOf(getIds())))
    rule.operands[1][dim] = rule.results[0][dim] = {rule.addFactor(size)};
  ArrayRef<int64_t> table = shapeOf(getTable());
  rule.operands[0][0] = {rule.addFactor(table[0], FactorKind::collective)};
  rule.operands[0][1] = rule.results[0].back() = {rule.addFactor(table[1])};
  return rule;
}

ShardingRule SoftmaxCrossEntropyOp::getShardingRule() {
  ShardingRule rule = ShardingRule::replicated(*this);
  for (auto [dim, size] : llvm::enumerate(shapeOf(getTargets())))
    rule.operands[0][dim] = rule.operands[1][dim] = rule.results[0][dim] = {rule.addFactor(size)};
  rule.operands[0].back() = {rule.addFactor(shapeOf(getLogits()).back(), FactorKind::collective)};
  return rule;
}

/// Rows: the gradient of `hidden` has them, loss and other gradients sum over them. Classes:
/// gradients of weight and bias have them, what sums over them is whole.
ShardingRule LinearCrossEntropyOp::getShardingRule() {
  ShardingRule rule = ShardingRule::replicated(*this);
  for (auto [dim, size] : llvm::enumerate(shapeOf(getTargets())))
    rule.operands[0][dim] = rule.operands[2][dim] =
        rule.results[1][dim] = {rule.addFactor(size, FactorKind::reduction)};
  unsigned classDim = getTransposed() ? 0 : 1;
  DimFactors classes = {rule.addFactor(shapeOf(getWeight())[classDim], FactorKind::collective)};
  rule.operands[1][classDim] = rule.results[2][classDim] = classes;
  if (getBias())
    rule.operands[3][0] = classes;
  if (getBiasGrad())
    rule.results[3][0] = classes;
  return rule;
}
