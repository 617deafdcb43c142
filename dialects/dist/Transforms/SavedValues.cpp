//===- SavedValues.cpp - what one function saves for another --------------===//
#include "dialects/dist/Transforms/SavedValues.h"

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
    for (FunctionEntry *function : table.getFunctions())
      collect(*function);
    // In the order of the program, not of pointers.
    for (FunctionEntry *function : table.getFunctions())
      for (auto *slots : {&function->arguments, &function->results})
        for (Slot &slot : *slots)
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

  void collect(FunctionEntry &function);
  void collectArgument(FunctionEntry &function, unsigned number);
  void collectResult(FunctionEntry &function, unsigned number);
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
  llvm::DenseMap<Slot *, Value> returned;
};

} // namespace

void Handovers::collect(FunctionEntry &function) {
  for (unsigned i = 0; i < function.arguments.size(); ++i)
    collectArgument(function, i);
  for (unsigned i = 0; i < function.results.size(); ++i)
    collectResult(function, i);
}

/// What reads a value: calls get it as it is.
void Handovers::collectUses(Slot &slot, Value value) {
  for (OpOperand &use : value.getUses()) {
    Operation *user = use.getOwner();
    if (OpEntry *entry = table.lookup(user)) {
      groupOf(slot).want(table.wanted(*entry, use.getOperandNumber()));
    } else if (auto call = dyn_cast<func::CallOp>(user)) {
      FunctionEntry *callee = table.getCallee(call);
      join(slot, callee ? &callee->arguments[use.getOperandNumber()] : nullptr);
    } else {
      groupOf(slot).blocked = true;
    }
  }
}

void Handovers::collectArgument(FunctionEntry &function, unsigned number) {
  Slot &slot = function.arguments[number];
  same.insert(&slot);
  groupOf(slot).blocked |= slot.fixed;
  collectUses(slot, function.function.getArgument(number));
  for (func::CallOp call : table.getFunctionGraph().getUses(function.function).calls)
    join(slot, table.slotOf(call.getOperand(number)));
}

void Handovers::collectResult(FunctionEntry &function, unsigned number) {
  Slot &slot = function.results[number];
  same.insert(&slot);
  groupOf(slot).blocked |= slot.fixed || !slot.sharding.partial.empty();
  returned[&slot] = function.terminator.getOperand(number);
  for (func::CallOp call : table.getFunctionGraph().getUses(function.function).calls)
    collectUses(slot, call.getResult(number));
}

/// Whether an op beside a value wants it so.
bool Handovers::hasAnyway(Value value, const Sharding &wanted) const {
  return llvm::any_of(value.getUses(), [&](OpOperand &use) {
    OpEntry *entry = table.lookup(use.getOwner());
    return entry && table.wanted(*entry, use.getOperandNumber()) == wanted;
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
    if (Value value = returned.lookup(*member)) {
      made = true;
      if (!hasAnyway(value, *all.wanted))
        return;
    }
  if (!made)
    return;
  for (auto member = leader; member != same.member_end(); ++member)
    (*member)->sharding = *all.wanted;
}

void dist::handOverAsRead(ShardingTable &table) { Handovers(table).run(); }
