//===- OpSharding.cpp - how mesh axes cut an op ---------------------------===//
#include "dialects/dist/Transforms/OpSharding.h"

#include "mlir/IR/Matchers.h"

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

bool dist::isZero(Operation *op) {
  DenseElementsAttr constant;
  if (op->getNumResults() != 1 || !matchPattern(op, m_Constant(&constant)) || !constant.isSplat())
    return false;
  if (isa<FloatType>(constant.getElementType()))
    return constant.getSplatValue<APFloat>().isZero();
  return constant.getSplatValue<APInt>().isZero();
}

OpSharding OpSharding::whole(Operation *op) {
  OpSharding cut;
  cut.rule = getRule(op);
  cut.factorAxes.resize(cut.rule.factors.size());
  return cut;
}

OpSharding OpSharding::read(Operation *op, MeshAttr mesh) {
  OpSharding cut;
  cut.rule = getRule(op);
  cut.factorAxes = getFactorAxes(op, cut.rule, mesh);
  std::optional<Sharding> result =
      op->getNumResults() ? Sharding::of(op->getResult(0), mesh) : std::nullopt;
  if (!result)
    return cut;
  Axes made = resultSharding(cut.rule, 0, cut.factorAxes).partial;
  llvm::copy_if(result->partial, std::back_inserter(cut.carried),
                [&](unsigned axis) { return !llvm::is_contained(made, axis); });
  if (cut.rule.linearity == graph::Linearity::each)
    for (OpOperand &operand : op->getOpOperands()) {
      std::optional<Sharding> sharding = Sharding::of(operand.get(), mesh);
      if (isLinear(cut.rule, operand.getOperandNumber()) && sharding && !sharding->partial.empty())
        cut.carrier = operand.getOperandNumber();
    }
  return cut;
}

bool OpSharding::carries(unsigned operand) const {
  return isLinear(rule, operand) &&
         (rule.linearity == graph::Linearity::joint || carrier == operand);
}

static void addPartial(Sharding &sharding, ArrayRef<unsigned> axes) {
  for (unsigned axis : axes)
    if (!llvm::is_contained(sharding.partial, axis))
      sharding.partial.push_back(axis);
  llvm::sort(sharding.partial);
}

Sharding OpSharding::ofOperand(unsigned operand) const {
  Sharding sharding = operandSharding(rule, operand, factorAxes);
  if (carries(operand))
    addPartial(sharding, carried);
  return sharding;
}

Sharding OpSharding::ofResult(unsigned result) const {
  Sharding sharding = resultSharding(rule, result, factorAxes);
  addPartial(sharding, carried);
  return sharding;
}
