//===- ShardingTable.cpp - what propagation knows -------------------------===//
#include "dialects/dist/Transforms/ShardingTable.h"

#include "llvm/ADT/StringExtras.h"

using namespace mlir;
using namespace minigptc;
using namespace minigptc::dist;

//===----------------------------------------------------------------------===//
// Names
//===----------------------------------------------------------------------===//

StringRef dist::describe(ClaimClass claimClass) {
  switch (claimClass) {
  case ClaimClass::follower: return "a copy of a parameter is cut as it is stored";
  case ClaimClass::input: return "an input is cut";
  case ClaimClass::parameter: return "a product with a parameter is cut as that is stored";
  case ClaimClass::constraint: return "a value is pinned";
  case ClaimClass::state: return "the update follows how state is stored";
  case ClaimClass::storage: return "a parameter is stored so, and this moves least";
  }
  llvm_unreachable("all classes are listed");
}

std::string dist::shortName(StringRef path) {
  auto [before, after] = path.split("params.");
  return (after.empty() ? before : after).str();
}

std::string dist::describe(func::FuncOp function, unsigned number, bool isResult) {
  auto stored =
      isResult ? StringAttr() : function.getArgAttrOfType<StringAttr>(number, attr::kStored);
  if (stored && !stored.empty())
    return "'" + shortName(stored) + "'";
  auto name = isResult ? function.getResultAttrOfType<StringAttr>(number, graph::attr::kName)
                       : function.getArgAttrOfType<StringAttr>(number, graph::attr::kName);
  if (name)
    return "'" + shortName(name) + "'";
  return ((isResult ? "result " : "argument ") + Twine(number) + " of '" + function.getSymName() +
          "'")
      .str();
}

std::string dist::toSpec(const Sharding &sharding, MeshAttr mesh) {
  auto quote = [&](unsigned axis) { return "'" + mesh.getNames()[axis].str() + "'"; };
  std::string spec = "P(";
  for (auto [number, axes] : llvm::enumerate(sharding.dims)) {
    std::string names = llvm::join(llvm::map_range(axes, quote), ", ");
    spec += number ? ", " : "";
    spec += axes.empty() ? "None" : axes.size() == 1 ? names : "(" + names + ")";
  }
  return spec + ")";
}

//===----------------------------------------------------------------------===//
// Building
//===----------------------------------------------------------------------===//

FailureOr<ShardingTable> ShardingTable::build(ModuleOp module, MeshOp mesh) {
  FailureOr<graph::FunctionGraph> graph = graph::FunctionGraph::build(module);
  if (failed(graph))
    return failure();
  ShardingTable table;
  table.mesh = mesh.getMesh();
  table.planner = std::make_unique<ReshardPlanner>(table.mesh);
  table.graph = std::move(*graph);
  table.findRelatives();
  for (func::FuncOp function : table.graph.getPostOrder())
    if (isSharded(function))
      table.addFunction(function);
  return table;
}

void ShardingTable::findRelatives() {
  for (func::FuncOp function : graph.getPostOrder()) {
    relatives.insert(function);
    function.walk([&](Operation *op) {
      auto callees = getCalledFunctions(op);
      for (size_t i = 1; i < callees.size(); ++i)
        relatives.unionSets(graph.lookup(callees[0].name.getAttr()),
                            graph.lookup(callees[i].name.getAttr()));
    });
  }
}

void ShardingTable::addFunction(func::FuncOp function) {
  FunctionEntry &entry = functions.emplace_back();
  entry.function = function;
  entry.terminator = cast<func::ReturnOp>(function.front().getTerminator());
  addSignature(entry);
  order.push_back(&entry);
  functionOf[function] = &entry;
  for (Operation &op : function.front()) {
    if (auto constraint = dyn_cast<ConstraintOp>(op))
      addConstraint(constraint);
    else if (isCallSite(&op))
      addPredicates(&op);
    else if (!isa<func::ReturnOp>(op))
      opOf[&op] = &ops.emplace_back(OpEntry::of(&op, mesh));
  }
}

/// What decides which function is called is a number that all devices have.
void ShardingTable::addPredicates(Operation *site) {
  if (getCalledFunctions(site).front().firstOperand == 0)
    return;
  Value predicate = site->getOperand(0);
  Slot &slot = addSlot(cast<RankedTensorType>(predicate.getType()), {}, "the predicate");
  slot.fixed = true;
  slot.sources.push_back(predicate);
  predicateOf[site] = &slot;
}

Slot &ShardingTable::addArgument(FunctionEntry &entry, unsigned number, ArrayRef<CallSite> sites,
                                 Slot *shared) {
  func::FuncOp function = entry.function;
  BlockArgument argument = function.getArgument(number);
  Slot &slot = shared ? *shared
                      : addSlot(cast<RankedTensorType>(argument.getType()),
                                function.getArgAttrOfType<ShardingAttr>(number, attr::kSharding),
                                describe(function, number, /*isResult=*/false));
  slot.isArgument = true;
  slot.stored = bool(function.getArgAttr(number, attr::kStored));
  addValue(slot, argument);
  for (auto [op, callee] : sites) {
    slot.sources.push_back(op->getOperand(callee.firstOperand + number));
    slot.isPart |= isCutOperand(op, number);
  }
  if (std::optional<unsigned> carried = getCarriedResult(function, number)) {
    slot.isCarried = true;
    entry.results[*carried] = &slot;
  }
  return slot;
}

Slot &ShardingTable::addResult(FunctionEntry &entry, unsigned number, ArrayRef<CallSite> sites,
                               Slot *shared) {
  func::FuncOp function = entry.function;
  Slot &slot = shared ? *shared
                      : addSlot(cast<RankedTensorType>(function.getResultTypes()[number]),
                                function.getResultAttrOfType<ShardingAttr>(number, attr::kSharding),
                                describe(function, number, /*isResult=*/true));
  slot.sources.push_back(entry.terminator.getOperand(number));
  for (auto [op, callee] : sites) {
    if (callee.makesResults) {
      addValue(slot, op->getResult(number));
      slot.isPart |= isCutResult(op, number);
    } else {
      slot.fixed = true; // The condition of a loop: a number that all devices have.
    }
  }
  return slot;
}

void ShardingTable::addSignature(FunctionEntry &entry) {
  func::FuncOp function = entry.function;
  SmallVector<CallSite> sites = getCallSites(function, graph.getUses(function));
  auto &family = known[relatives.getLeaderValue(function)];
  FunctionEntry *relative = family.empty() ? nullptr : family.front();
  entry.results.resize(function.getNumResults());
  for (unsigned i = 0; i < function.getNumArguments(); ++i)
    entry.arguments.push_back(
        &addArgument(entry, i, sites, relative ? relative->arguments[i] : nullptr));
  for (auto [i, slot] : llvm::enumerate(entry.arguments))
    if (auto donated = function.getArgAttrOfType<IntegerAttr>(i, graph::attr::kDonate);
        donated && function.isPublic() &&
        function.getArgAttr(i, attr::kSharding) ==
            function.getResultAttr(donated.getInt(), attr::kSharding))
      entry.results[donated.getInt()] = slot;
  auto twin = llvm::find_if(family, [&](FunctionEntry *other) {
    return other->function.getResultTypes() == function.getResultTypes();
  });
  for (auto [i, slot] : llvm::enumerate(entry.results)) {
    Slot *shared = slot ? slot : twin == family.end() ? nullptr : (*twin)->results[i];
    slot = &addResult(entry, i, sites, shared);
  }
  family.push_back(&entry);
  for (auto *side : {&entry.arguments, &entry.results})
    for (Slot *slot : *side)
      if (function.isPublic() && !slot->fixed) {
        slot->fixed = true;
        slot->freedom = Freedom::none(slot->type.getRank());
      } else if (slot->isPart) {
        slot->freedom.open[0] = false;
      }
}

void ShardingTable::addConstraint(ConstraintOp constraint) {
  Slot &slot = addSlot(constraint.getType(), constraint.getSharding(), "the constraint");
  slot.constraint = constraint;
  slot.sources.push_back(constraint.getInput());
  addValue(slot, constraint);
}

Slot &ShardingTable::addSlot(RankedTensorType type, ShardingAttr annotation, const Twine &name) {
  Slot &slot = slots.emplace_back();
  slot.name = name.str();
  slot.type = type;
  slot.fixed = bool(annotation);
  slot.sharding =
      annotation ? Sharding::fromAttr(annotation, mesh) : Sharding::replicated(type.getRank());
  slot.freedom = annotation ? Freedom::fromAttr(annotation, mesh) : Freedom::all(type.getRank());
  slot.annotation.text = slot.name + " " + toSpec(slot.sharding, mesh);
  slot.annotation.uneven = !slot.sharding.isEven(slot.type, mesh);
  slot.decisions.resize(getNumAxes());
  return slot;
}

void ShardingTable::addValue(Slot &slot, Value value) {
  slot.values.push_back(value);
  slotOfValue[value] = &slot;
}

OpEntry OpEntry::of(Operation *op, MeshAttr mesh) {
  OpEntry entry{OpSharding::whole(op), op, {}, {}};
  entry.factorOf.resize(mesh.getNames().size());
  entry.decisions.resize(mesh.getNames().size());
  static const Annotation specs{"the specs of shardMap"};
  if (auto manual = dyn_cast<ManualOp>(op))
    for (auto [factor, axis] : llvm::enumerate(manual.getUsedAxes(mesh)))
      entry.cut(factor, axis, {ClaimClass::constraint, &specs});
  return entry;
}

//===----------------------------------------------------------------------===//
// Shardings
//===----------------------------------------------------------------------===//

void OpEntry::cut(unsigned factor, unsigned axis, Decision decision) {
  factorAxes[factor].push_back(axis);
  factorOf[axis] = factor;
  decisions[axis] = decision;
}

void OpEntry::uncut(unsigned axis) {
  llvm::erase(factorAxes[*factorOf[axis]], axis);
  factorOf[axis] = std::nullopt;
}

Slot *ShardingTable::slotOf(OpOperand &use) const {
  Operation *user = use.getOwner();
  if (auto callees = getCalledFunctions(user); !callees.empty()) {
    // Relatives have the same slots.
    const CalledFunction &called = callees.front();
    if (use.getOperandNumber() < called.firstOperand)
      return predicateOf.lookup(user);
    FunctionEntry *callee = functionOf.lookup(graph.lookup(called.name.getAttr()));
    return callee ? callee->arguments[use.getOperandNumber() - called.firstOperand] : nullptr;
  }
  if (isa<func::ReturnOp>(user)) {
    FunctionEntry *function = functionOf.lookup(user->getParentOp());
    return function ? function->results[use.getOperandNumber()] : nullptr;
  }
  return isa<ConstraintOp>(user) ? slotOf(user->getResult(0)) : nullptr;
}

Sharding ShardingTable::shardingOf(Value value) const {
  if (Slot *slot = slotOf(value))
    return slot->sharding;
  if (OpEntry *entry = value.getDefiningOp() ? lookup(value.getDefiningOp()) : nullptr)
    return entry->ofResult(cast<OpResult>(value).getResultNumber());
  return Sharding::replicated(cast<RankedTensorType>(value.getType()).getRank());
}

double ShardingTable::reshardCost(RankedTensorType type, const Sharding &from,
                                  const Sharding &to) const {
  const FailureOr<ReshardPlan> &plan = planner->plan(type, from, to);
  return succeeded(plan) ? plan->cost : std::numeric_limits<double>::infinity();
}

//===----------------------------------------------------------------------===//
// What is stored
//===----------------------------------------------------------------------===//

bool dist::isProduct(Operation *op) {
  auto cost = dyn_cast<graph::CostOp>(op);
  return cost && cost.getMatmulFlops() > 0;
}

std::optional<unsigned> dist::followedOperand(const OpEntry &entry) {
  if (entry.op->getNumResults() != 1 || isProduct(entry.op) || isa<ManualOp>(entry.op))
    return std::nullopt;
  auto numElements = [](Value value) {
    return cast<RankedTensorType>(value.getType()).getNumElements();
  };
  std::optional<unsigned> large;
  for (auto [number, operand] : llvm::enumerate(entry.op->getOperands()))
    if (cast<RankedTensorType>(operand.getType()).getRank() > 0)
      if (std::exchange(large, number))
        return std::nullopt;
  bool reduces = llvm::any_of(entry.rule.factors, [](const graph::Factor &factor) {
    return factor.kind == graph::FactorKind::reduction;
  });
  if (!large || reduces ||
      numElements(entry.op->getOperand(*large)) != numElements(entry.op->getResult(0)))
    return std::nullopt;
  return large;
}

bool dist::isCopyOfStored(Value value, MeshAttr mesh) {
  while (Operation *op = value.getDefiningOp()) {
    if (isCallSite(op) || isa<ConstraintOp, ReshardOp>(op))
      return false;
    std::optional<unsigned> followed = followedOperand(OpEntry::of(op, mesh));
    if (!followed)
      return false;
    value = op->getOperand(*followed);
  }
  auto argument = cast<BlockArgument>(value);
  auto function = dyn_cast<func::FuncOp>(argument.getOwner()->getParentOp());
  return function && function.getArgAttr(argument.getArgNumber(), attr::kStored);
}

bool dist::isGatheredAnew(Value value, const Sharding &from, const Sharding &to, MeshAttr mesh) {
  auto type = cast<RankedTensorType>(value.getType());
  auto localBytes = [&](const Sharding &sharding) {
    return graph::detail::bytesOf(sharding.localType(type, mesh));
  };
  return localBytes(to) > localBytes(from) && isCopyOfStored(value, mesh);
}

const Slot *ShardingTable::storedSlot(Value value) const {
  while (OpEntry *entry = value.getDefiningOp() ? lookup(value.getDefiningOp()) : nullptr) {
    std::optional<unsigned> followed = followedOperand(*entry);
    if (!followed)
      return nullptr;
    value = entry->op->getOperand(*followed);
  }
  Slot *slot = isa<BlockArgument>(value) ? slotOf(value) : nullptr;
  return slot && slot->stored ? slot : nullptr;
}

//===----------------------------------------------------------------------===//
// What may be cut
//===----------------------------------------------------------------------===//

/// Whether a device has but one element of a factor.
static bool isCutWhole(const OpEntry &entry, unsigned factor, MeshAttr mesh) {
  return mesh.getSize(entry.factorAxes[factor]) >= entry.rule.factors[factor].size;
}

std::optional<unsigned> dist::factorAt(const OpEntry &entry, ArrayRef<graph::DimFactors> tensor,
                                       unsigned dim, MeshAttr mesh) {
  for (unsigned factor : tensor[dim])
    if (!isCutWhole(entry, factor, mesh))
      return factor;
  return std::nullopt;
}

bool dist::canCut(const OpEntry &entry, unsigned factor, unsigned axis, bool uneven,
                  MeshAttr mesh) {
  const graph::Factor &info = entry.rule.factors[factor];
  if (info.kind == graph::FactorKind::replicated || isCutWhole(entry, factor, mesh))
    return false;
  int64_t parts = mesh.getSize(entry.factorAxes[factor]) * mesh.getSizes()[axis];
  bool isEven = info.size % parts == 0;
  if (!isEven && !uneven)
    return false;
  auto fits = [&](ArrayRef<graph::DimFactors> tensor) {
    unsigned seen = 0;
    for (const graph::DimFactors &dim : tensor) {
      if (!llvm::is_contained(dim, factor))
        continue;
      ++seen;
      bool first = llvm::all_of(dim, [&, before = true](unsigned other) mutable {
        before &= other != factor;
        return !before || isCutWhole(entry, other, mesh);
      });
      bool alone = llvm::all_of(dim, [&](unsigned other) {
        return other == factor || entry.rule.factors[other].size == 1;
      });
      if (!first || (!isEven && !alone))
        return false;
    }
    return seen <= 1;
  };
  return llvm::all_of(entry.rule.operands, fits) && llvm::all_of(entry.rule.results, fits);
}

bool ShardingTable::canCut(const Slot &slot, unsigned dim, unsigned axis, bool uneven) const {
  int64_t size = slot.type.getDimSize(dim);
  int64_t parts = mesh.getSize(slot.sharding.dims[dim]) * mesh.getSizes()[axis];
  return slot.freedom.allows(dim, axis) && !slot.sharding.dimOf(axis) && size > 1 &&
         (uneven || size % parts == 0);
}
