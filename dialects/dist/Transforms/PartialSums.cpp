//===- PartialSums.cpp - sums that are made later -------------------------===//
#include "dialects/dist/Transforms/PartialSums.h"
#include "dialects/dist/Transforms/CallSites.h"

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
  if (isCallSite(use.getOwner()))
    return mayWait(*table.slotOf(use));
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

//===----------------------------------------------------------------------===//
// Loops
//===----------------------------------------------------------------------===//

/// A loop rounds what it carries in each call, if that has fewer bits than sums have.
static bool roundsSums(Type type) {
  auto element = dyn_cast<FloatType>(cast<RankedTensorType>(type).getElementType());
  return element && element != graph::getAccumulatorType(element);
}

/// Whether what a loop carries may be a part of a sum: if it starts with one, or with zeros.
bool PartialSums::mayWait(const Slot &slot) const {
  if (!slot.isCarried || slot.fixed || slot.sharding.uses(axis) || roundsSums(slot.type))
    return slot.isCarried && llvm::is_contained(slot.sharding.partial, axis);
  return llvm::all_of(slot.sources, [&](Value source) {
    Operation *op = source.getDefiningOp();
    bool isReturned = llvm::any_of(source.getUses(), [&](OpOperand &use) {
      return isa<func::ReturnOp>(use.getOwner()) && table.slotOf(use) == &slot;
    });
    OpEntry *entry = op ? table.lookup(op) : nullptr;
    return isReturned || isPartial(source) ||
           (entry && isZero(op) && source.hasOneUse() && !entry->isDecided(axis));
  });
}

/// The slot of what a loop has added up so far, if that may wait for its sum.
Slot *PartialSums::sumSoFar(Value value) const {
  Slot *slot = isa<BlockArgument>(value) ? table.slotOf(value) : nullptr;
  return slot && mayWait(*slot) ? slot : nullptr;
}

void PartialSums::wait(Slot &slot, SmallVectorImpl<Value> &noted) {
  if (llvm::is_contained(slot.sharding.partial, axis))
    return;
  slot.sharding.partial.push_back(axis);
  llvm::sort(slot.sharding.partial);
  for (Value source : slot.sources)
    if (Operation *op = source.getDefiningOp())
      if (OpEntry *entry = table.lookup(op); entry && isZero(op))
        entry->carried.push_back(axis);
  llvm::append_range(noted, slot.values);
}

void PartialSums::withdraw(Slot &slot) {
  llvm::erase(slot.sharding.partial, axis);
  for (Value source : slot.sources)
    if (Operation *op = source.getDefiningOp(); op && isZero(op))
      if (OpEntry *entry = table.lookup(op))
        llvm::erase(entry->carried, axis);
  SmallVector<Value> values;
  llvm::copy_if(slot.values, std::back_inserter(values), llvm::IsaPred<BlockArgument>);
  while (!values.empty())
    for (OpOperand &use : values.pop_back_val().getUses()) {
      OpEntry *entry = table.lookup(use.getOwner());
      if (!entry || !llvm::is_contained(entry->carried, axis) ||
          !entry->carries(use.getOperandNumber()))
        continue;
      llvm::erase(entry->carried, axis);
      llvm::append_range(values, entry->op->getResults());
    }
}

//===----------------------------------------------------------------------===//
// Ops
//===----------------------------------------------------------------------===//

/// An op carries partial sums on if all operands are such in which it is linear together (or the
/// one that it scales), nobody else wants them combined, and it makes no more of them.
bool PartialSums::carry(OpEntry &entry, SmallVectorImpl<Value> &noted) {
  if (entry.isDecided(axis))
    return false;
  bool scales = entry.rule.linearity == graph::Linearity::each;
  std::optional<unsigned> scaled;
  double before = 0;
  SmallVector<Slot *> sums;
  for (OpOperand &operand : entry.op->getOpOperands()) {
    unsigned number = operand.getOperandNumber();
    if (!isLinear(entry.rule, number) || (scales && !isPartial(operand.get())))
      continue;
    if (!isPartial(operand.get())) {
      Slot *sum = sumSoFar(operand.get());
      if (!sum)
        return false;
      sums.push_back(sum);
    }
    if (!mayTake(operand) || !mayAllTake(operand.get()))
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
  llvm::append_range(noted, entry.op->getResults());
  for (Slot *sum : sums)
    wait(*sum, noted);
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
        carry(*entry, values);
        continue;
      }
      Slot &slot = *table.slotOf(use);
      if (slot.fixed || slot.sharding.uses(axis) || (slot.isCarried && roundsSums(slot.type)))
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

/// Zeros are whole where they are wanted so; says whether anything changed.
static bool dropUntaken(const ShardingTable &table, OpEntry &zeros) {
  size_t before = zeros.carried.size();
  llvm::erase_if(zeros.carried, [&](unsigned axis) {
    return llvm::any_of(zeros.op->getResult(0).getUses(),
                        [&](OpOperand &use) { return !takes(table, use, axis); });
  });
  return zeros.carried.size() != before;
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
      if (isZero(entry.op)) {
        changed |= dropUntaken(table, entry);
        continue;
      }
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
