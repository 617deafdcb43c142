//===- ContractionSharding.cpp - how reductions and products may be cut ---===//
#include "dialects/graph/IR/Builders.h"

using namespace mlir;
using namespace minigptc::graph;

ShardingRule ReduceOp::getShardingRule() {
  ShardingRule rule = ShardingRule::replicated(*this);
  rule.linearity = getKind() == ReduceKind::sum ? Linearity::joint : Linearity::none;
  unsigned kept = 0;
  for (auto [dim, size] : llvm::enumerate(shapeOf(getOperand()))) {
    bool reduced = llvm::is_contained(getDims(), int64_t(dim));
    unsigned factor =
        rule.addFactor(size, reduced ? FactorKind::reduction : FactorKind::passThrough);
    rule.factors[factor].combine = getKind();
    rule.operands[0][dim] = {factor};
    if (!reduced)
      rule.results[0][kept++] = {factor};
  }
  return rule;
}

/// Adds the factors of a product: batch, M, N, and K of kind `contracted`. `lhs` and
/// `rhs` are numbers of operands.
template <typename DotOp>
static void addDotFactors(DotOp op, ShardingRule &rule, unsigned lhs, unsigned rhs,
                          FactorKind contracted) {
  auto &lhsDims = rule.operands[lhs], &rhsDims = rule.operands[rhs];
  ArrayRef<int64_t> lhsShape = shapeOf(op.getLhs()), rhsShape = shapeOf(op.getRhs());
  auto *result = rule.results[0].begin();
  for (auto [left, right] : llvm::zip_equal(op.getLhsBatch(), op.getRhsBatch()))
    lhsDims[left] = rhsDims[right] = *result++ = {rule.addFactor(lhsShape[left])};
  for (auto [left, right] : llvm::zip_equal(op.getLhsContract(), op.getRhsContract()))
    lhsDims[left] = rhsDims[right] = {rule.addFactor(lhsShape[left], contracted)};
  auto addFree = [&](auto &dims, ArrayRef<int64_t> shape) {
    for (auto [factors, size] : llvm::zip_equal(dims, shape))
      if (factors.empty())
        factors = *result++ = {rule.addFactor(size)};
  };
  addFree(lhsDims, lhsShape);
  addFree(rhsDims, rhsShape);
}

ShardingRule DotGeneralOp::getShardingRule() {
  ShardingRule rule = ShardingRule::replicated(*this);
  rule.linearity = Linearity::each;
  addDotFactors(*this, rule, 0, 1, FactorKind::reduction);
  return rule;
}

/// Parts of K would each add the accumulator.
ShardingRule DotAccumulateOp::getShardingRule() {
  ShardingRule rule = ShardingRule::replicated(*this);
  addDotFactors(*this, rule, 1, 2, FactorKind::replicated);
  rule.operands[0] = rule.results[0];
  return rule;
}

namespace {
/// The dimensions that gather and scatter share. `table` is what is read or written by
/// index, `slices` what is picked or put: first the dimensions of `indices` but for the
/// last, then those of the table that have no index.
struct IndexedDims {
  SmallVectorImpl<DimFactors> &table, &indices, &slices;

  void addFactors(ShardingRule &rule, ArrayRef<int64_t> tableShape, ArrayRef<int64_t> indexShape,
                  ArrayRef<int64_t> placed, FactorKind positions) {
    auto *slice = slices.begin();
    for (auto [factors, size] : llvm::zip(indices, indexShape.drop_back()))
      factors = *slice++ = {rule.addFactor(size, positions)};
    for (auto [dim, size] : llvm::enumerate(tableShape))
      if (!llvm::is_contained(placed, int64_t(dim)))
        table[dim] = *slice++ = {rule.addFactor(size)};
  }
};
} // namespace

/// Rows that are picked by index are whole on every device.
ShardingRule GatherOp::getShardingRule() {
  ShardingRule rule = ShardingRule::replicated(*this);
  rule.linearity = Linearity::joint;
  rule.linear = {true, false};
  IndexedDims{rule.operands[0], rule.operands[1], rule.results[0]}.addFactors(
      rule, shapeOf(getOperand()), shapeOf(getIndices()), getDims(), FactorKind::passThrough);
  return rule;
}

/// Rows are a matter of who has them: each device drops the slices that belong to others'
/// rows. Positions of a sum are summed by parts, where one device alone starts with the
/// operand, the others with zeros; of updates the last counts, so all are everywhere.
ShardingRule ScatterOp::getShardingRule() {
  ShardingRule rule = ShardingRule::replicated(*this);
  rule.linearity = Linearity::joint;
  rule.linear = {true, false, true};
  bool adds = getKind() == ScatterKind::add;
  IndexedDims{rule.operands[0], rule.operands[1], rule.operands[2]}.addFactors(
      rule, shapeOf(getOperand()), shapeOf(getIndices()), getDims(),
      adds ? FactorKind::reduction : FactorKind::replicated);
  for (int64_t dim : getDims())
    rule.operands[0][dim] = {rule.addFactor(shapeOf(getOperand())[dim], FactorKind::collective)};
  rule.results[0] = rule.operands[0];
  return rule;
}
