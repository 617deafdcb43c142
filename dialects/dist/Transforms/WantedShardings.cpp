//===- WantedShardings.cpp - how an op wants its operands -----------------===//
#include "dialects/dist/Transforms/WantedShardings.h"

using namespace mlir;
using namespace minigptc;
using namespace minigptc::dist;

graph::ShardingRule dist::getRule(Operation *op) {
  auto ruled = dyn_cast<graph::ShardingRuleOp>(op);
  return ruled ? ruled.getShardingRule() : graph::ShardingRule::replicated(op);
}

bool dist::isLinear(const graph::ShardingRule &rule, unsigned operand) {
  return rule.linearity != graph::Linearity::none && (rule.linear.empty() || rule.linear[operand]);
}

Axes dist::getCarriedAxes(Operation *op, const graph::ShardingRule &rule, MeshAttr mesh) {
  Axes carried;
  std::optional<Sharding> result =
      op->getNumResults() ? Sharding::of(op->getResult(0), mesh) : std::nullopt;
  if (!result)
    return carried;
  Axes made = resultSharding(rule, 0, getFactorAxes(op, rule, mesh)).partial;
  llvm::copy_if(result->partial, std::back_inserter(carried),
                [&](unsigned axis) { return !llvm::is_contained(made, axis); });
  return carried;
}

static std::optional<Sharding> fromAttr(Attribute attribute, MeshAttr mesh) {
  if (auto sharding = dyn_cast_or_null<ShardingAttr>(attribute))
    return Sharding::fromAttr(sharding, mesh);
  return std::nullopt;
}

/// Of an op that is linear in each operand alone, the one that is partial; of a jointly
/// linear one all.
static bool carries(OpOperand &operand, const graph::ShardingRule &rule, MeshAttr mesh) {
  if (!isLinear(rule, operand.getOperandNumber()))
    return false;
  if (rule.linearity == graph::Linearity::joint)
    return true;
  std::optional<Sharding> sharding = Sharding::of(operand.get(), mesh);
  return sharding && !sharding->partial.empty();
}

SmallVector<std::optional<Sharding>> WantedShardings::of(Operation *op) const {
  SmallVector<std::optional<Sharding>> wanted(op->getNumOperands());
  if (isa<ReshardOp>(op))
    return wanted;
  if (auto call = dyn_cast<func::CallOp>(op)) {
    auto callee = symbols.lookup<func::FuncOp>(call.getCallee());
    for (unsigned i = 0; callee && i < wanted.size(); ++i)
      wanted[i] = fromAttr(callee.getArgAttr(i, attr::kSharding), mesh);
    return wanted;
  }
  if (isa<func::ReturnOp>(op)) {
    auto function = cast<func::FuncOp>(op->getParentOp());
    for (unsigned i = 0; i < wanted.size(); ++i)
      wanted[i] = fromAttr(function.getResultAttr(i, attr::kSharding), mesh);
    return wanted;
  }
  graph::ShardingRule rule = getRule(op);
  SmallVector<Axes> factorAxes = getFactorAxes(op, rule, mesh);
  Axes carried = getCarriedAxes(op, rule, mesh);
  for (unsigned i = 0; i < wanted.size(); ++i) {
    wanted[i] = operandSharding(rule, i, factorAxes);
    if (carries(op->getOpOperand(i), rule, mesh))
      llvm::append_range(wanted[i]->partial, carried);
  }
  return wanted;
}
