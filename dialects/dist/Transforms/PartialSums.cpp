//===- PartialSums.cpp - sums that are made later -------------------------===//
#include "dialects/dist/Transforms/PartialSums.h"

#include "mlir/IR/Matchers.h"

using namespace mlir;
using namespace minigptc;
using namespace minigptc::dist;

bool PartialSums::isPartial(Value value) const {
  return llvm::is_contained(table.shardingOf(value).partial, axis);
}

/// Whether a value is one number in all its elements.
static bool isUniform(Value value) {
  auto hasOneElement = [](Value tensor) {
    return cast<RankedTensorType>(tensor.getType()).getNumElements() == 1;
  };
  if (hasOneElement(value))
    return true;
  DenseElementsAttr constant;
  if (matchPattern(value, m_Constant(&constant)))
    return constant.isSplat();
  auto fusible = value.getDefiningOp<graph::FusibleOp>();
  return fusible && fusible.getFusionKind() == graph::FusionKind::broadcast &&
         hasOneElement(fusible->getOperand(0));
}

/// Whether an op that is linear in each operand alone only scales this one by a number.
bool PartialSums::isScaled(const OpEntry &entry, unsigned operand) const {
  return llvm::all_of(entry.op->getOpOperands(), [&](OpOperand &other) {
    return other.getOperandNumber() == operand ||
           (isUniform(other.get()) && !isPartial(other.get()));
  });
}

/// Whether what reads a value might take it as it is: partial.
bool PartialSums::mayTake(OpOperand &use) const {
  if (isa<func::ReturnOp>(use.getOwner()))
    return cast<func::FuncOp>(use.getOwner()->getParentOp()).isPrivate();
  OpEntry *entry = table.lookup(use.getOwner());
  if (!entry)
    return false;
  switch (entry->rule.linearity) {
  case graph::Linearity::none: return false;
  case graph::Linearity::joint: return true;
  case graph::Linearity::each:
    return isLinear(entry->rule, use.getOperandNumber()) &&
           isScaled(*entry, use.getOperandNumber());
  }
  llvm_unreachable("all kinds are listed");
}

bool PartialSums::mayAllTake(Value value) const {
  return llvm::all_of(value.getUses(), [&](OpOperand &use) { return mayTake(use); });
}

/// An op carries partial sums on if all operands are such in which it is linear together (or the
/// one that it scales), nobody else wants them combined, and it makes no more of them.
bool PartialSums::carry(OpEntry &entry) {
  if (entry.isDecided(axis))
    return false;
  bool scales = entry.rule.linearity == graph::Linearity::each;
  std::optional<unsigned> scaled;
  double before = 0;
  for (OpOperand &operand : entry.op->getOpOperands()) {
    unsigned number = operand.getOperandNumber();
    if (!isLinear(entry.rule, number) || (scales && !isPartial(operand.get())))
      continue;
    if (!isPartial(operand.get()) || !mayTake(operand) || !mayAllTake(operand.get()))
      return false;
    scaled = number;
    before += graph::detail::bytesOf(operand.get().getType());
  }
  // Sums over several axes wait in one operand.
  if (!scaled || (scales && entry.carrier && entry.carrier != scaled) ||
      graph::detail::bytesOf(entry.op->getResultTypes()) > before)
    return false;
  if (scales)
    entry.carrier = scaled;
  entry.carried.push_back(axis);
  return true;
}

void PartialSums::note(Value value) {
  SmallVector<Value> values = {value};
  while (!values.empty()) {
    Value partial = values.pop_back_val();
    if (table.shardingOf(partial).combine != graph::ReduceKind::sum || !mayAllTake(partial))
      continue;
    for (OpOperand &use : partial.getUses()) {
      if (OpEntry *entry = table.lookup(use.getOwner())) {
        if (carry(*entry))
          llvm::append_range(values, entry->op->getResults());
        continue;
      }
      Slot &slot = *table.slotOf(use);
      if (slot.fixed || slot.sharding.uses(axis))
        continue;
      slot.sharding.partial.push_back(axis);
      llvm::sort(slot.sharding.partial);
      llvm::append_range(values, slot.values);
    }
  }
}

//===----------------------------------------------------------------------===//
// What comes of it
//===----------------------------------------------------------------------===//

static bool takes(const ShardingTable &table, OpOperand &use, unsigned axis) {
  if (OpEntry *entry = table.lookup(use.getOwner()))
    return llvm::is_contained(entry->carried, axis) && entry->carries(use.getOperandNumber());
  Slot *slot = table.slotOf(use);
  return slot && llvm::is_contained(slot->sharding.partial, axis);
}

/// Whether a value is partial, and all that read it take it so.
static bool staysPartial(const ShardingTable &table, Value value, unsigned axis) {
  return llvm::is_contained(table.shardingOf(value).partial, axis) &&
         llvm::all_of(value.getUses(), [&](OpOperand &use) { return takes(table, use, axis); });
}

/// Drops the axes over which what comes in does not stay partial; says whether there were any.
static bool keepPartial(const ShardingTable &table, Axes &axes, ArrayRef<Value> incoming) {
  size_t before = axes.size();
  llvm::erase_if(axes, [&](unsigned axis) {
    return !llvm::all_of(incoming,
                         [&](Value value) { return staysPartial(table, value, axis); });
  });
  return axes.size() != before;
}

/// Whether a number scales a value that has to be moved for it: the sum is made on that way.
static bool scalesWhatMoves(const ShardingTable &table, const OpEntry &entry) {
  return entry.carrier && table.shardingOf(entry.op->getOperand(*entry.carrier)) !=
                              entry.ofOperand(*entry.carrier);
}

void dist::settlePartialSums(ShardingTable &table) {
  for (bool changed = true; changed;) {
    changed = false;
    for (OpEntry &entry : table.getOps()) {
      if (entry.carried.empty())
        continue;
      SmallVector<Value> carriers;
      for (OpOperand &operand : entry.op->getOpOperands())
        if (entry.carries(operand.getOperandNumber()))
          carriers.push_back(operand.get());
      changed |= keepPartial(table, entry.carried, carriers);
      if (!entry.carried.empty() && scalesWhatMoves(table, entry)) {
        entry.carried.clear();
        changed = true;
      }
    }
    for (Slot &slot : table.getSlots())
      if (!slot.fixed && !slot.sharding.partial.empty())
        changed |= keepPartial(table, slot.sharding.partial, slot.sources);
  }
}
