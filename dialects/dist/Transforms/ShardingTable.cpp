//===- ShardingTable.cpp - what propagation knows -------------------------===//
#include "dialects/dist/Transforms/ShardingTable.h"
#include "dialects/dist/Transforms/WantedShardings.h"

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
    return "'" + stored.str() + "'";
  auto name = isResult ? function.getResultAttrOfType<StringAttr>(number, graph::attr::kName)
                       : function.getArgAttrOfType<StringAttr>(number, graph::attr::kName);
  if (name)
    return "'" + shortName(name) + "'";
  return ((isResult ? "result " : "argument ") + Twine(number) + " of '" + function.getSymName() +
          "'")
      .str();
}

bool dist::isStored(func::FuncOp function, unsigned argument) {
  if (function.getArgAttr(argument, attr::kStored) ||
      function.getArgAttr(argument, graph::attr::kDonate))
    return true;
  auto name = function.getArgAttrOfType<StringAttr>(argument, graph::attr::kName);
  return name && llvm::is_contained(llvm::split(name.getValue(), '.'), "params");
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
  table.graph = std::move(*graph);
  for (func::FuncOp function : table.graph.getPostOrder())
    if (runsOnDevices(function))
      table.addFunction(function);
  return table;
}

void ShardingTable::addFunction(func::FuncOp function) {
  FunctionEntry &entry = functions.emplace_back();
  entry.function = function;
  entry.terminator = cast<func::ReturnOp>(function.front().getTerminator());
  addSlots(entry);
  order.push_back(&entry);
  functionOf[function] = &entry;
  for (Operation &op : function.front()) {
    if (isa<func::CallOp, func::ReturnOp, ConstraintOp>(op))
      continue;
    opOf[&op] = &ops.emplace_back(OpEntry::of(&op, mesh));
  }
}

void ShardingTable::addSlots(FunctionEntry &entry) {
  for (unsigned i = 0; i < entry.function.getNumArguments(); ++i)
    entry.arguments.push_back(makeSlot(entry, i, false));
  for (unsigned i = 0; i < entry.function.getNumResults(); ++i)
    entry.results.push_back(makeSlot(entry, i, true));
}

Slot ShardingTable::makeSlot(FunctionEntry &entry, unsigned number, bool isResult) const {
  func::FuncOp function = entry.function;
  Slot slot;
  slot.type = cast<RankedTensorType>(isResult ? function.getResultTypes()[number]
                                              : function.getArgumentTypes()[number]);
  auto attribute = isResult ? function.getResultAttrOfType<ShardingAttr>(number, attr::kSharding)
                            : function.getArgAttrOfType<ShardingAttr>(number, attr::kSharding);
  slot.sharding =
      attribute ? Sharding::fromAttr(attribute, mesh) : Sharding::replicated(slot.type.getRank());
  slot.fixed = attribute || function.isPublic();
  slot.stored = !isResult && isStored(function, number);
  slot.annotation.text = describe(function, number, isResult) + " " + toSpec(slot.sharding, mesh);
  slot.annotation.uneven = !slot.sharding.isEven(slot.type, mesh);
  slot.decisions.resize(getNumAxes());
  return slot;
}

OpEntry OpEntry::of(Operation *op, MeshAttr mesh) {
  OpEntry entry;
  entry.op = op;
  entry.rule = getRule(op);
  entry.factorAxes.resize(entry.rule.factors.size());
  entry.factorOf.resize(mesh.getNames().size());
  entry.decisions.resize(mesh.getNames().size());
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

Slot *ShardingTable::slotOf(Value value) const {
  if (auto argument = dyn_cast<BlockArgument>(value)) {
    auto function = dyn_cast<func::FuncOp>(argument.getOwner()->getParentOp());
    FunctionEntry *entry = function ? lookup(function) : nullptr;
    return entry ? &entry->arguments[argument.getArgNumber()] : nullptr;
  }
  auto call = value.getDefiningOp<func::CallOp>();
  FunctionEntry *callee = call ? getCallee(call) : nullptr;
  return callee ? &callee->results[cast<OpResult>(value).getResultNumber()] : nullptr;
}

Sharding ShardingTable::shardingOf(Value value) const {
  if (Slot *slot = slotOf(value))
    return slot->sharding;
  if (auto constraint = value.getDefiningOp<ConstraintOp>())
    return Sharding::fromAttr(constraint.getSharding(), mesh);
  if (OpEntry *entry = lookup(value.getDefiningOp()))
    return resultOf(*entry, cast<OpResult>(value).getResultNumber());
  return Sharding::replicated(cast<RankedTensorType>(value.getType()).getRank());
}

static void addPartial(Sharding &sharding, ArrayRef<unsigned> axes) {
  for (unsigned axis : axes)
    if (!llvm::is_contained(sharding.partial, axis))
      sharding.partial.push_back(axis);
  llvm::sort(sharding.partial);
}

Sharding ShardingTable::wanted(const OpEntry &entry, unsigned operand) const {
  Sharding sharding = operandSharding(entry.rule, operand, entry.factorAxes);
  if (entry.rule.linear.empty() || entry.rule.linear[operand])
    addPartial(sharding, entry.carried);
  return sharding;
}

Sharding ShardingTable::resultOf(const OpEntry &entry, unsigned result) const {
  Sharding sharding = resultSharding(entry.rule, result, entry.factorAxes);
  addPartial(sharding, entry.carried);
  return sharding;
}

//===----------------------------------------------------------------------===//
// What is stored
//===----------------------------------------------------------------------===//

bool dist::isProduct(Operation *op) {
  auto cost = dyn_cast<graph::CostOp>(op);
  return cost && cost.getMatmulFlops() > 0;
}

std::optional<unsigned> dist::followedOperand(const OpEntry &entry) {
  if (entry.op->getNumResults() != 1 || isProduct(entry.op))
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
    if (isa<func::CallOp, ConstraintOp, ReshardOp>(op))
      return false;
    std::optional<unsigned> followed = followedOperand(OpEntry::of(op, mesh));
    if (!followed)
      return false;
    value = op->getOperand(*followed);
  }
  auto argument = cast<BlockArgument>(value);
  auto function = dyn_cast<func::FuncOp>(argument.getOwner()->getParentOp());
  return function && isStored(function, argument.getArgNumber());
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
  return !slot.fixed && !slot.sharding.dimOf(axis) && size > 1 && (uneven || size % parts == 0);
}
