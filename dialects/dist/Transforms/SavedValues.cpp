//===- SavedValues.cpp - what one function saves for another --------------===//
#include "dialects/dist/Transforms/SavedValues.h"
#include "dialects/dist/Transforms/CallSites.h"

#include "llvm/ADT/EquivalenceClasses.h"

using namespace mlir;
using namespace minigptc;
using namespace minigptc::dist;

namespace {

/// Slots that hold the same values: results that are passed as arguments, as they are.
class Handovers {
public:
  explicit Handovers(ShardingTable &table) : table(table) {}

  void run() {
    for (Slot &slot : table.getSlots())
      collect(slot);
    // In the order of the program, not of pointers.
    for (Slot &slot : table.getSlots())
      change(slot);
  }

private:
  struct Group {
    bool blocked = false;
    std::optional<Sharding> wanted;

    void want(const Sharding &sharding) {
      blocked |= wanted && *wanted != sharding;
      wanted = sharding;
    }
  };

  void collect(Slot &slot);
  void collectUses(Slot &slot, Value value);
  bool hasAnyway(Value value, const Sharding &wanted) const;
  void change(Slot &slot);

  Group &groupOf(Slot &slot) { return groups[&slot]; }
  void join(Slot &a, Slot *b) {
    if (b)
      same.unionSets(&a, b);
    else
      groupOf(a).blocked = true;
  }

  ShardingTable &table;
  llvm::EquivalenceClasses<Slot *> same;
  llvm::DenseMap<Slot *, Group> groups; ///< of the slot alone
};

} // namespace

void Handovers::collect(Slot &slot) {
  same.insert(&slot);
  groupOf(slot).blocked |=
      slot.fixed || slot.isCarried || slot.isPart || !slot.sharding.partial.empty();
  for (Value value : slot.values)
    collectUses(slot, value);
  if (slot.isArgument)
    for (Value source : slot.sources)
      join(slot, table.slotOf(source));
}

/// What reads a value: calls get it as it is.
void Handovers::collectUses(Slot &slot, Value value) {
  for (OpOperand &use : value.getUses()) {
    Operation *user = use.getOwner();
    if (OpEntry *entry = table.lookup(user))
      groupOf(slot).want(entry->ofOperand(use.getOperandNumber()));
    else
      join(slot, isCallSite(user) ? table.slotOf(use) : nullptr);
  }
}

/// Whether an op beside a value wants it so.
bool Handovers::hasAnyway(Value value, const Sharding &wanted) const {
  return llvm::any_of(value.getUses(), [&](OpOperand &use) {
    OpEntry *entry = table.lookup(use.getOwner());
    return entry && entry->ofOperand(use.getOperandNumber()) == wanted;
  });
}

void Handovers::change(Slot &slot) {
  auto leader = same.findLeader(&slot);
  if (*leader != &slot)
    return;
  Group all;
  bool made = false;
  for (auto member = leader; member != same.member_end(); ++member) {
    Group &group = groupOf(**member);
    all.blocked |= group.blocked;
    if (group.wanted)
      all.want(*group.wanted);
  }
  if (all.blocked || !all.wanted || !all.wanted->partial.empty())
    return;
  for (auto member = leader; member != same.member_end(); ++member)
    if (!(*member)->isArgument) {
      made = true;
      if (!hasAnyway((*member)->sources.front(), *all.wanted))
        return;
    }
  if (!made)
    return;
  for (auto member = leader; member != same.member_end(); ++member)
    (*member)->sharding = *all.wanted;
}

void dist::handOverAsRead(ShardingTable &table) { Handovers(table).run(); }
