//===- Spread.cpp - claims of one class for one axis ----------------------===//
#include "dialects/dist/Transforms/Spread.h"

using namespace mlir;
using namespace minigptc;
using namespace minigptc::dist;

using graph::DimFactors;
using graph::FactorKind;

static RankedTensorType typeOf(Value value) { return cast<RankedTensorType>(value.getType()); }

static bool hasFactor(const DimFactors &dim, unsigned factor) {
  return llvm::is_contained(dim, factor);
}

static bool hasFactor(ArrayRef<DimFactors> tensor, unsigned factor) {
  return llvm::any_of(tensor, [&](const DimFactors &dim) { return hasFactor(dim, factor); });
}

OpRank dist::rankOf(Operation *op) {
  if (isProduct(op))
    return OpRank::product;
  auto fusible = dyn_cast<graph::FusibleOp>(op);
  if (!fusible)
    return OpRank::other;
  switch (fusible.getFusionKind()) {
  case graph::FusionKind::elementwise:
  case graph::FusionKind::broadcast: return OpRank::elementwise;
  case graph::FusionKind::data_movement: return OpRank::movement;
  default: return OpRank::other;
  }
}

//===----------------------------------------------------------------------===//
// Claims
//===----------------------------------------------------------------------===//

void Spread::claim(OpEntry &entry, unsigned factor, const Annotation &annotation) {
  queue.push({rankOf(entry.op), numClaims++, &entry, nullptr, factor, &annotation});
}

void Spread::claim(Slot &slot, unsigned dim, const Annotation &annotation) {
  queue.push({OpRank::elementwise, numClaims++, nullptr, &slot, dim, &annotation});
}

void Spread::claimOpAt(OpEntry &entry, ArrayRef<DimFactors> tensor, unsigned dim,
                       const Annotation &annotation) {
  if (std::optional<unsigned> factor = factorAt(entry, tensor, dim, table.getMesh()))
    claim(entry, *factor, annotation);
}

void Spread::claimAround(const Slot &slot, unsigned dim, const Annotation &annotation) {
  for (Value value : slot.values)
    claimUsers(value, dim, annotation);
  for (Value source : slot.sources)
    claimDefiner(source, dim, annotation);
}

void Spread::claimUsers(Value value, unsigned dim, const Annotation &annotation) {
  for (OpOperand &use : value.getUses()) {
    if (OpEntry *entry = table.lookup(use.getOwner()))
      claimOpAt(*entry, entry->rule.operands[use.getOperandNumber()], dim, annotation);
    else if (Slot *slot = table.slotOf(use))
      claim(*slot, dim, annotation);
  }
}

void Spread::claimDefiner(Value value, unsigned dim, const Annotation &annotation) {
  // A sum that is wanted cut is scattered, and then all may have it so.
  bool partial = sums.isPartial(value);
  if (partial && scattered.insert(value).second)
    claimUsers(value, dim, annotation);
  if (Slot *slot = table.slotOf(value))
    return claim(*slot, dim, annotation);
  OpEntry *entry = value.getDefiningOp() ? table.lookup(value.getDefiningOp()) : nullptr;
  if (entry && !partial)
    claimOpAt(*entry, entry->rule.results[cast<OpResult>(value).getResultNumber()], dim,
              annotation);
}

void Spread::run() {
  while (!queue.empty()) {
    Claim claim = queue.top();
    queue.pop();
    if (claim.entry)
      grant(claim, *claim.entry);
    else
      grant(claim, *claim.slot);
  }
}

//===----------------------------------------------------------------------===//
// Grants
//===----------------------------------------------------------------------===//

void Spread::grant(const Claim &claim, Slot &slot) {
  // A pinned value that the axis cuts just so lets claims pass.
  bool passes = slot.constraint && slot.sharding.dimOf(axis) == claim.where;
  if (passes ? !passed.insert(&slot).second
             : !table.canCut(slot, claim.where, axis, claim.annotation->uneven))
    return;
  if (!passes) {
    slot.sharding.dims[claim.where].push_back(axis);
    if (slot.isCarried && llvm::is_contained(slot.sharding.partial, axis))
      sums.withdraw(slot);
    llvm::erase(slot.sharding.partial, axis);
    slot.decisions[axis] = Decision{claimClass, claim.annotation};
  }
  claimAround(slot, claim.where, *claim.annotation);
}

/// Whether a claim may displace one of the same class: if that moves less.
bool Spread::wins(const Claim &claim, OpEntry &entry) {
  bool mayConflict = claimClass == ClaimClass::input || claimClass == ClaimClass::parameter;
  unsigned current = *entry.factorOf[axis];
  if (!mayConflict || current == claim.where || entry.decisions[axis].claimClass != claimClass ||
      reconsidered.contains(&entry))
    return false;
  auto cost = [&](unsigned factor) {
    return costOfOperands(table, entry, axis, factor) + costOfSums(table, entry, axis, factor);
  };
  Decision before = entry.decisions[axis];
  double old = cost(current);
  entry.uncut(axis);
  if (canCut(entry, claim.where, axis, claim.annotation->uneven, table.getMesh()) &&
      cost(claim.where) < old) {
    reconsidered.insert(&entry);
    return true;
  }
  entry.cut(current, axis, before);
  return false;
}

/// Says once for an annotation that an axis does not divide what it would cut.
void Spread::noteUneven(const Claim &claim, OpEntry &entry) {
  MeshAttr mesh = table.getMesh();
  const graph::Factor &factor = entry.rule.factors[claim.where];
  int64_t parts = mesh.getSize(entry.factorAxes[claim.where]) * mesh.getSizes()[axis];
  if (entry.isDecided(axis) || factor.kind == FactorKind::replicated || factor.size % parts == 0 ||
      !indivisible.insert(claim.annotation).second)
    return;
  entry.op->emitRemark() << "'" << mesh.getNames()[axis].getValue() << "' would cut " << factor.size
                         << " elements into " << parts
                         << " parts, which is uneven: every device has all of them; "
                         << claim.annotation->text << " led here";
}

void Spread::grant(const Claim &claim, OpEntry &entry) {
  unsigned factor = claim.where;
  bool granted = entry.factorOf[axis]
                     ? wins(claim, entry)
                     : !entry.isDecided(axis) &&
                           canCut(entry, factor, axis, claim.annotation->uneven, table.getMesh());
  if (!granted)
    return noteUneven(claim, entry);
  entry.cut(factor, axis, {claimClass, claim.annotation});
  const graph::ShardingRule &rule = entry.rule;
  for (auto [number, tensor] : llvm::enumerate(rule.results)) {
    for (auto [dim, factors] : llvm::enumerate(tensor))
      if (hasFactor(factors, factor))
        claimUsers(entry.op->getResult(number), dim, *claim.annotation);
    if (rule.factors[factor].kind == FactorKind::reduction && !hasFactor(tensor, factor))
      sums.note(entry.op->getResult(number));
  }
  // How state is stored goes back to gradients, not to what gradients are made of.
  bool simple = rankOf(entry.op) <= OpRank::movement;
  if (claimClass == ClaimClass::state && !simple)
    return;
  for (auto [number, tensor] : llvm::enumerate(rule.operands))
    for (auto [dim, factors] : llvm::enumerate(tensor))
      if (hasFactor(factors, factor))
        claimDefiner(entry.op->getOperand(number), dim, *claim.annotation);
}

//===----------------------------------------------------------------------===//
// Costs
//===----------------------------------------------------------------------===//

static SmallVector<Axes> withAxis(const OpEntry &entry, unsigned axis,
                                  std::optional<unsigned> factor) {
  SmallVector<Axes> factorAxes = entry.factorAxes;
  for (Axes &axes : factorAxes)
    llvm::erase(axes, axis);
  if (factor)
    factorAxes[*factor].push_back(axis);
  return factorAxes;
}

double dist::costOfOperands(const ShardingTable &table, const OpEntry &entry, unsigned axis,
                            std::optional<unsigned> factor) {
  SmallVector<Axes> factorAxes = withAxis(entry, axis, factor);
  double cost = 0;
  for (auto [number, operand] : llvm::enumerate(entry.op->getOperands()))
    cost += table.reshardCost(typeOf(operand), table.shardingOf(operand),
                              operandSharding(entry.rule, number, factorAxes));
  return cost;
}

double dist::costOfSums(const ShardingTable &table, const OpEntry &entry, unsigned axis,
                        unsigned factor) {
  if (entry.rule.factors[factor].kind == FactorKind::passThrough)
    return 0;
  SmallVector<Axes> factorAxes = withAxis(entry, axis, factor);
  double cost = 0;
  for (auto [number, result] : llvm::enumerate(entry.op->getResults())) {
    if (hasFactor(entry.rule.results[number], factor))
      continue;
    Sharding to = resultSharding(entry.rule, number, factorAxes), from = to;
    llvm::erase(to.partial, axis);
    if (!llvm::is_contained(from.partial, axis))
      from.partial.push_back(axis);
    cost += table.reshardCost(typeOf(result), from, to);
  }
  return cost;
}
