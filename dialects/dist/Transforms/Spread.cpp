//===- Spread.cpp - claims of one class for one axis ----------------------===//
#include "dialects/dist/Transforms/Spread.h"
#include "dialects/dist/Transforms/ReshardCost.h"

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

void Spread::claim(OpEntry &entry, unsigned factor, const Annotation &annotation, bool alone) {
  queue.push(
      {rankOf(entry.op), numClaims++, &entry, nullptr, false, 0, factor, &annotation, alone});
}

void Spread::claimSlot(FunctionEntry *function, bool isResult, unsigned number, unsigned dim,
                       const Annotation &annotation) {
  if (function)
    queue.push({OpRank::elementwise, numClaims++, nullptr, function, isResult, number, dim,
                &annotation, false});
}

void Spread::claimOpAt(Operation *op, ArrayRef<DimFactors> tensor, unsigned dim,
                       const Annotation &annotation) {
  OpEntry &entry = *table.lookup(op);
  if (std::optional<unsigned> factor = factorAt(entry, tensor, dim, table.getMesh()))
    claim(entry, *factor, annotation);
}

void Spread::claimUsers(Value value, unsigned dim, const Annotation &annotation) {
  for (OpOperand &use : value.getUses()) {
    Operation *user = use.getOwner();
    unsigned number = use.getOperandNumber();
    if (OpEntry *entry = table.lookup(user)) {
      claimOpAt(user, entry->rule.operands[number], dim, annotation);
    } else if (auto call = dyn_cast<func::CallOp>(user)) {
      claimSlot(table.getCallee(call), false, number, dim, annotation);
    } else if (isa<func::ReturnOp>(user)) {
      claimSlot(table.lookup(cast<func::FuncOp>(user->getParentOp())), true, number, dim,
                annotation);
    } else if (auto constraint = dyn_cast<ConstraintOp>(user)) {
      if (table.shardingOf(constraint).dimOf(axis) == dim)
        claimUsers(constraint, dim, annotation);
    }
  }
}

void Spread::claimDefiner(Value value, unsigned dim, const Annotation &annotation) {
  // A sum that is wanted cut is scattered, and then all may have it so.
  bool partial = isPartial(value);
  if (partial && scattered.insert(value).second)
    claimUsers(value, dim, annotation);
  if (auto argument = dyn_cast<BlockArgument>(value)) {
    auto function = dyn_cast<func::FuncOp>(argument.getOwner()->getParentOp());
    return claimSlot(table.lookup(function), false, argument.getArgNumber(), dim, annotation);
  }
  Operation *op = value.getDefiningOp();
  unsigned number = cast<OpResult>(value).getResultNumber();
  if (auto call = dyn_cast<func::CallOp>(op))
    return claimSlot(table.getCallee(call), true, number, dim, annotation);
  if (auto constraint = dyn_cast<ConstraintOp>(op)) {
    if (table.shardingOf(constraint).dimOf(axis) == dim)
      claimDefiner(constraint.getInput(), dim, annotation);
    return;
  }
  OpEntry *entry = table.lookup(op);
  if (entry && !partial)
    claimOpAt(op, entry->rule.results[number], dim, annotation);
}

void Spread::run() {
  while (!queue.empty()) {
    Claim claim = queue.top();
    queue.pop();
    if (claim.entry) {
      grant(claim, *claim.entry);
      continue;
    }
    auto &slots = claim.isResult ? claim.function->results : claim.function->arguments;
    grant(claim, slots[claim.number]);
  }
}

//===----------------------------------------------------------------------===//
// Grants
//===----------------------------------------------------------------------===//

void Spread::grant(const Claim &claim, Slot &slot) {
  if (!table.canCut(slot, claim.where, axis, claim.annotation->uneven))
    return;
  slot.sharding.dims[claim.where].push_back(axis);
  llvm::erase(slot.sharding.partial, axis);
  slot.decisions[axis] = Decision{claimClass, claim.annotation};
  func::FuncOp function = claim.function->function;
  if (claim.isResult)
    claimDefiner(claim.function->terminator.getOperand(claim.number), claim.where,
                 *claim.annotation);
  else
    claimUsers(function.getArgument(claim.number), claim.where, *claim.annotation);
  for (func::CallOp call : table.getFunctionGraph().getUses(function).calls) {
    if (claim.isResult)
      claimUsers(call.getResult(claim.number), claim.where, *claim.annotation);
    else
      claimDefiner(call.getOperand(claim.number), claim.where, *claim.annotation);
  }
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
      notePartial(entry.op->getResult(number));
  }
  // How state is stored goes back to gradients, not to what gradients are made of.
  bool simple = rankOf(entry.op) <= OpRank::movement;
  if (claim.alone || (claimClass == ClaimClass::state && !simple))
    return;
  for (auto [number, tensor] : llvm::enumerate(rule.operands))
    for (auto [dim, factors] : llvm::enumerate(tensor))
      if (hasFactor(factors, factor))
        claimDefiner(entry.op->getOperand(number), dim, *claim.annotation);
}

//===----------------------------------------------------------------------===//
// Sums that are not made yet
//===----------------------------------------------------------------------===//

bool Spread::isPartial(Value value) const {
  return llvm::is_contained(table.shardingOf(value).partial, axis);
}

/// Whether all that reads a value might take it as it is: partial.
static bool isCarriedOnByAll(const ShardingTable &table, Value value) {
  return llvm::all_of(value.getUsers(), [&](Operation *user) {
    if (isa<func::ReturnOp>(user))
      return cast<func::FuncOp>(user->getParentOp()).isPrivate();
    OpEntry *entry = table.lookup(user);
    return entry && entry->rule.linearity == graph::Linearity::joint;
  });
}

/// A jointly linear op carries partial sums on if all its linear operands are such, nobody
/// else wants them combined, and it makes no more of them.
bool Spread::carry(OpEntry &entry) {
  if (entry.rule.linearity != graph::Linearity::joint || entry.isDecided(axis))
    return false;
  double before = 0;
  for (auto [number, operand] : llvm::enumerate(entry.op->getOperands())) {
    if (!entry.rule.linear.empty() && !entry.rule.linear[number])
      continue;
    if (!isPartial(operand) || !isCarriedOnByAll(table, operand))
      return false;
    before += graph::detail::bytesOf(operand.getType());
  }
  if (graph::detail::bytesOf(entry.op->getResultTypes()) > before)
    return false;
  entry.carried.push_back(axis);
  return true;
}

void Spread::notePartial(Value value) {
  SmallVector<Value> values = {value};
  while (!values.empty()) {
    Value partial = values.pop_back_val();
    Sharding sharding = table.shardingOf(partial);
    if (sharding.combine != graph::ReduceKind::sum || !isCarriedOnByAll(table, partial))
      continue;
    for (OpOperand &use : partial.getUses()) {
      Operation *user = use.getOwner();
      if (isa<func::ReturnOp>(user)) {
        auto function = cast<func::FuncOp>(user->getParentOp());
        Slot &slot = table.lookup(function)->results[use.getOperandNumber()];
        if (slot.fixed || slot.sharding.uses(axis))
          continue;
        slot.sharding.partial.push_back(axis);
        llvm::sort(slot.sharding.partial);
        for (func::CallOp call : table.getFunctionGraph().getUses(function).calls)
          values.push_back(call.getResult(use.getOperandNumber()));
      } else if (OpEntry *entry = table.lookup(user); carry(*entry)) {
        llvm::append_range(values, entry->op->getResults());
      }
    }
  }
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
    cost += reshardCost(typeOf(operand), table.shardingOf(operand),
                        operandSharding(entry.rule, number, factorAxes), table.getMesh());
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
    cost += reshardCost(typeOf(result), from, to, table.getMesh());
  }
  return cost;
}
