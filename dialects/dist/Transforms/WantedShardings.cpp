//===- WantedShardings.cpp - how what reads a value wants it --------------===//
#include "dialects/dist/Transforms/WantedShardings.h"
#include "dialects/dist/Transforms/CallSites.h"

using namespace mlir;
using namespace minigptc;
using namespace minigptc::dist;

static std::optional<Sharding> fromAttr(Attribute attribute, MeshAttr mesh) {
  if (auto sharding = dyn_cast_or_null<ShardingAttr>(attribute))
    return Sharding::fromAttr(sharding, mesh);
  return std::nullopt;
}

SmallVector<std::optional<Sharding>> WantedShardings::of(Operation *op) const {
  SmallVector<std::optional<Sharding>> wanted(op->getNumOperands());
  if (isa<ReshardOp>(op))
    return wanted;
  if (auto constraint = dyn_cast<ConstraintOp>(op)) {
    wanted[0] = fromAttr(constraint.getSharding(), mesh);
    return wanted;
  }
  if (auto callees = getCalledFunctions(op); !callees.empty()) {
    auto callee = symbols.lookup<func::FuncOp>(callees.front().name.getValue());
    unsigned first = callees.front().firstOperand;
    for (unsigned i = 0; i < first; ++i)
      wanted[i] = Sharding::replicated(0);
    for (unsigned i = first; callee && i < wanted.size(); ++i)
      wanted[i] = fromAttr(callee.getArgAttr(i - first, attr::kSharding), mesh);
    return wanted;
  }
  if (isa<func::ReturnOp>(op)) {
    auto function = cast<func::FuncOp>(op->getParentOp());
    for (unsigned i = 0; i < wanted.size(); ++i)
      wanted[i] = fromAttr(function.getResultAttr(i, attr::kSharding), mesh);
    return wanted;
  }
  OpSharding cut = OpSharding::read(op, mesh);
  for (unsigned i = 0; i < wanted.size(); ++i)
    wanted[i] = cut.ofOperand(i);
  return wanted;
}
