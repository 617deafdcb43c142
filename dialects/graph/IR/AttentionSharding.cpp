//===- AttentionSharding.cpp - how attention may be cut -------------------===//
//
// By sequences of the batch, by key heads, and, where there is one key head (or each device
// has one), by the query heads of its group. Queries and keys are whole on every device.
//
//===----------------------------------------------------------------------===//
#include "dialects/graph/IR/Builders.h"

using namespace mlir;
using namespace minigptc::graph;

namespace {
struct AttentionFactors {
  DimFactors batch, keyHeads, queryHeads;

  /// `group` is the kind of the factor that numbers the query heads of a key head.
  template <typename OpTy> AttentionFactors(OpTy op, ShardingRule &rule, FactorKind group) {
    ArrayRef<int64_t> query = shapeOf(op.getQuery());
    int64_t keys = shapeOf(op.getKey())[2];
    batch = {rule.addFactor(query[0])};
    keyHeads = {rule.addFactor(keys)};
    queryHeads = {keyHeads[0], rule.addFactor(query[2] / keys, group)};
  }

  /// [B, S, H, …], heads as said.
  void mapSequences(SmallVectorImpl<DimFactors> &dims, const DimFactors &heads) const {
    dims[0] = batch;
    dims[2] = heads;
  }
  /// [B, H, S].
  void mapRows(SmallVectorImpl<DimFactors> &dims) const {
    dims[0] = batch;
    dims[1] = queryHeads;
  }
  /// Mask and segments, of those operands that the op has.
  template <typename OpTy> void mapRestrictions(OpTy op, ShardingRule &rule) const {
    auto dimsOf = [&](unsigned group) -> SmallVectorImpl<DimFactors> * {
      auto [begin, length] = op.getODSOperandIndexAndLength(group);
      return length ? &rule.operands[begin] : nullptr;
    };
    unsigned tensors = firstRestriction(op);
    if (auto *mask = dimsOf(tensors)) {
      ArrayRef<int64_t> shape = shapeOf(op.getMask());
      if (shape[0] == shapeOf(op.getQuery())[0])
        (*mask)[0] = batch;
      if (shape[1] == shapeOf(op.getQuery())[2])
        (*mask)[1] = queryHeads;
    }
    for (unsigned segments : {tensors + 1, tensors + 2})
      if (auto *dims = dimsOf(segments))
        (*dims)[0] = batch;
  }

private:
  /// The number of the group of operands that is the mask.
  static unsigned firstRestriction(AttentionOp) { return 3; }
  static unsigned firstRestriction(AttentionGradOp) { return 6; }
};
} // namespace

ShardingRule AttentionOp::getShardingRule() {
  ShardingRule rule = ShardingRule::replicated(*this);
  AttentionFactors factors(*this, rule, FactorKind::passThrough);
  factors.mapSequences(rule.operands[0], factors.queryHeads);
  for (unsigned keysOrValues : {1, 2})
    factors.mapSequences(rule.operands[keysOrValues], factors.keyHeads);
  factors.mapSequences(rule.results[0], factors.queryHeads);
  factors.mapRows(rule.results[1]);
  factors.mapRestrictions(*this, rule);
  return rule;
}

/// The gradients of keys and values are sums over the query heads that read them.
ShardingRule AttentionGradOp::getShardingRule() {
  ShardingRule rule = ShardingRule::replicated(*this);
  AttentionFactors factors(*this, rule, FactorKind::reduction);
  for (unsigned ofQueries : {0, 3, 5})
    factors.mapSequences(rule.operands[ofQueries], factors.queryHeads);
  for (unsigned keysOrValues : {1, 2})
    factors.mapSequences(rule.operands[keysOrValues], factors.keyHeads);
  factors.mapRows(rule.operands[4]);
  factors.mapSequences(rule.results[0], factors.queryHeads);
  for (unsigned keysOrValues : {1, 2})
    factors.mapSequences(rule.results[keysOrValues], factors.keyHeads);
  factors.mapRestrictions(*this, rule);
  return rule;
}
