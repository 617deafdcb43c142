//===- ShardingRule.cpp - how an op may be cut ----------------------------===//
#include "dialects/graph/IR/ShardingRule.h"

#include "mlir/IR/BuiltinTypes.h"

using namespace mlir;
using namespace minigptc::graph;

static int64_t rankOf(Type type) {
  auto tensor = dyn_cast<RankedTensorType>(type);
  return tensor ? tensor.getRank() : 0;
}

ShardingRule ShardingRule::replicated(Operation *op) {
  ShardingRule rule;
  for (Type type : op->getOperandTypes())
    rule.operands.emplace_back().resize(rankOf(type));
  for (Type type : op->getResultTypes())
    rule.results.emplace_back().resize(rankOf(type));
  return rule;
}

ShardingRule ShardingRule::elementwise(Operation *op) {
  ShardingRule rule = replicated(op);
  auto shape = cast<RankedTensorType>(op->getResult(0).getType()).getShape();
  auto map = [&](auto &dims) {
    if (dims.size() == shape.size())
      for (unsigned i = 0; i < dims.size(); ++i)
        dims[i] = {i};
  };
  for (int64_t size : shape)
    rule.addFactor(size);
  llvm::for_each(rule.operands, map);
  llvm::for_each(rule.results, map);
  return rule;
}

unsigned ShardingRule::addFactor(int64_t size, FactorKind kind) {
  factors.push_back({size, kind});
  return factors.size() - 1;
}
