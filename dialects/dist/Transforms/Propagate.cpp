//===- Propagate.cpp - the axes that cut the factors of every op ----------===//
#include "dialects/dist/Transforms/Passes.h"
#include "dialects/dist/Transforms/SavedValues.h"
#include "dialects/dist/Transforms/Spread.h"

namespace minigptc::dist {
#define GEN_PASS_DEF_DISTPROPAGATE
#include "dialects/dist/Transforms/Passes.h.inc"
} // namespace minigptc::dist

using namespace mlir;
using namespace minigptc;
using namespace minigptc::dist;

namespace {

/// Makes the first claims of every class for one axis, and has them spread.
class AxisPropagation {
public:
  AxisPropagation(ShardingTable &table, unsigned axis)
      : table(table), axis(axis) {}

  void run() {
    decideFollowers();
    spreadInputs();
    spreadParameters();
    spreadConstraints();
    spreadState();
    decideByStorage();
    decideGenerators();
  }

private:
  /// The dimension that the axis cuts of a value that is a stored parameter.
  std::optional<unsigned> storedDim(Value value) const {
    return table.storedSlot(value) ? table.shardingOf(value).dimOf(axis) : std::nullopt;
  }
  const Annotation &annotationOf(Value stored) const {
    return table.storedSlot(stored)->annotation;
  }

  void decideFollowers();
  void spreadInputs();
  void spreadParameters();
  void spreadConstraints();
  void claimManual(Spread &spread);
  void spreadState();
  void decideByStorage();
  void decideByStorage(OpEntry &entry);
  void decideGenerators();
  double costOfResults(const OpEntry &entry, unsigned factor) const;

  ShardingTable &table;
  unsigned axis;
};

} // namespace

/// Copies of a stored parameter in another type are cut as it is.
void AxisPropagation::decideFollowers() {
  for (OpEntry &entry : table.getOps()) {
    if (!followedOperand(entry))
      continue;
    for (auto [number, operand] : llvm::enumerate(entry.op->getOperands())) {
      std::optional<unsigned> dim = storedDim(operand);
      auto factor =
          dim ? factorAt(entry, entry.rule.operands[number], *dim, table.getMesh()) : std::nullopt;
      if (factor && canCut(entry, *factor, axis, annotationOf(operand).uneven, table.getMesh()))
        entry.cut(*factor, axis, {ClaimClass::follower, &annotationOf(operand)});
    }
  }
}

void AxisPropagation::spreadInputs() {
  Spread spread(table, axis, ClaimClass::input);
  for (Slot &slot : table.getSlots())
    if (std::optional<unsigned> dim = slot.sharding.dimOf(axis);
        dim && slot.isArgument && slot.isAnnotated(axis) && !slot.stored)
      for (Value value : slot.values)
        spread.claimUsers(value, *dim, slot.annotation);
  spread.run();
}

void AxisPropagation::spreadParameters() {
  Spread spread(table, axis, ClaimClass::parameter);
  auto forEachStored = [&](auto visit) {
    for (OpEntry &entry : table.getOps()) {
      if (rankOf(entry.op) != OpRank::product)
        continue;
      for (auto [number, operand] : llvm::enumerate(entry.op->getOperands())) {
        std::optional<unsigned> dim = storedDim(operand);
        const auto *dims = &entry.rule.operands[number];
        if (dim && !(*dims)[*dim].empty())
          visit(entry, operand, *dims, *dim);
      }
    }
  };
  forEachStored([&](OpEntry &entry, Value operand, ArrayRef<graph::DimFactors> dims, unsigned dim) {
    std::optional<unsigned> factor = factorAt(entry, dims, dim, table.getMesh());
    // To cut what is contracted is asked by what makes the other operand, or is a matter of cost.
    if (factor && entry.rule.factors[*factor].kind != graph::FactorKind::reduction)
      spread.claim(entry, *factor, annotationOf(operand));
  });
  spread.run();
  // Where both operands are cut along what is contracted, people look for the parameter's name.
  forEachStored([&](OpEntry &entry, Value operand, ArrayRef<graph::DimFactors> dims, unsigned dim) {
    if (std::optional<unsigned> factor = entry.factorOf[axis];
        factor && entry.rule.factors[*factor].kind == graph::FactorKind::reduction &&
        entry.decisions[axis].claimClass == ClaimClass::parameter &&
        llvm::is_contained(dims[dim], *factor))
      entry.decisions[axis].annotation = &annotationOf(operand);
  });
}

void AxisPropagation::spreadConstraints() {
  Spread spread(table, axis, ClaimClass::constraint);
  for (Slot &slot : table.getSlots())
    if (std::optional<unsigned> dim = slot.sharding.dimOf(axis);
        dim && slot.constraint && slot.isAnnotated(axis))
      spread.claimAround(slot, *dim, slot.annotation);
  claimManual(spread);
  spread.run();
}

/// What a manual op takes and gives is pinned.
void AxisPropagation::claimManual(Spread &spread) {
  for (OpEntry &entry : table.getOps()) {
    if (!isa<ManualOp>(entry.op))
      continue;
    const Annotation *annotation = entry.decisions[axis].annotation;
    for (OpOperand &operand : entry.op->getOpOperands())
      if (auto dim = entry.ofOperand(operand.getOperandNumber()).dimOf(axis))
        spread.claimDefiner(operand.get(), *dim, *annotation);
    for (OpResult result : entry.op->getResults())
      if (auto dim = entry.ofResult(result.getResultNumber()).dimOf(axis))
        spread.claimUsers(result, *dim, *annotation);
  }
}

void AxisPropagation::spreadState() {
  Spread spread(table, axis, ClaimClass::state);
  for (OpEntry &entry : table.getOps()) {
    if (rankOf(entry.op) != OpRank::elementwise || followedOperand(entry))
      continue;
    for (auto [number, operand] : llvm::enumerate(entry.op->getOperands())) {
      std::optional<unsigned> dim = storedDim(operand);
      auto factor =
          dim ? factorAt(entry, entry.rule.operands[number], *dim, table.getMesh()) : std::nullopt;
      if (factor && operand.getType() == entry.op->getResult(0).getType())
        spread.claim(entry, *factor, annotationOf(operand));
    }
  }
  for (FunctionEntry *function : table.getFunctions())
    for (auto [number, slot] : llvm::enumerate(function->results))
      if (std::optional<unsigned> dim = slot->sharding.dimOf(axis); dim && slot->fixed)
        spread.claimDefiner(function->terminator.getOperand(number), *dim, slot->annotation);
  spread.run();
}

//===----------------------------------------------------------------------===//
// What nobody else decides
//===----------------------------------------------------------------------===//

void AxisPropagation::decideByStorage() {
  for (OpEntry &entry : table.getOps())
    if (!entry.isDecided(axis) && llvm::any_of(entry.op->getOperands(), [&](Value operand) {
          return storedDim(operand).has_value();
        }))
      decideByStorage(entry);
}

/// What it costs to bring the results of an op together again.
double AxisPropagation::costOfResults(const OpEntry &entry, unsigned factor) const {
  OpEntry cut = entry;
  cut.cut(factor, axis, {});
  double cost = 0;
  for (auto [number, result] : llvm::enumerate(entry.op->getResults()))
    cost += table.reshardCost(cast<RankedTensorType>(result.getType()), cut.ofResult(number),
                              entry.ofResult(number));
  if (entry.rule.factors[factor].kind == graph::FactorKind::collective)
    cost += costOfSums(table, entry, axis, factor);
  return cost;
}

/// A product takes the factor for which its operands move least, so that devices share the
/// work; other ops are cut as a parameter is stored if that is cheaper than to gather it.
void AxisPropagation::decideByStorage(OpEntry &entry) {
  bool isProduct = rankOf(entry.op) == OpRank::product;
  std::optional<unsigned> best;
  double bestCost = isProduct ? std::numeric_limits<double>::infinity()
                              : costOfOperands(table, entry, axis, std::nullopt);
  const Annotation *annotation = nullptr;
  for (auto [number, operand] : llvm::enumerate(entry.op->getOperands())) {
    std::optional<unsigned> dim = storedDim(operand);
    if (!dim)
      continue;
    annotation = &annotationOf(operand);
    for (unsigned factor = 0; factor < entry.rule.factors.size(); ++factor) {
      bool ofParameter =
          factorAt(entry, entry.rule.operands[number], *dim, table.getMesh()) == factor;
      if ((!isProduct && !ofParameter) ||
          !canCut(entry, factor, axis, annotation->uneven, table.getMesh()))
        continue;
      double cost = costOfOperands(table, entry, axis, factor) +
                    (isProduct ? costOfSums(table, entry, axis, factor)
                               : costOfResults(entry, factor));
      if (cost < bestCost) {
        best = factor;
        bestCost = cost;
      }
    }
  }
  if (!best)
    return;
  entry.cut(*best, axis, {ClaimClass::storage, annotation});
  if (entry.rule.factors[*best].kind == graph::FactorKind::reduction)
    for (Value result : entry.op->getResults())
      if (PartialSums sums(table, axis); sums.isPartial(result))
        sums.note(result);
}

/// What is made of nothing is made as its one use wants it.
void AxisPropagation::decideGenerators() {
  for (OpEntry &entry : table.getOps()) {
    if (entry.op->getNumOperands() || entry.isDecided(axis) || entry.op->getNumResults() != 1 ||
        !entry.op->hasOneUse())
      continue;
    OpOperand &use = *entry.op->getResult(0).getUses().begin();
    OpEntry *user = table.lookup(use.getOwner());
    Slot *slot = user ? nullptr : table.slotOf(use);
    auto dim = user   ? user->ofOperand(use.getOperandNumber()).dimOf(axis)
               : slot ? slot->sharding.dimOf(axis)
                      : std::nullopt;
    auto factor =
        dim ? factorAt(entry, entry.rule.results[0], *dim, table.getMesh()) : std::nullopt;
    if (factor && canCut(entry, *factor, axis, /*uneven=*/true, table.getMesh()))
      entry.cut(*factor, axis,
                user ? user->decisions[axis]
                     : slot->decisions[axis].value_or(
                           Decision{ClaimClass::state, &slot->annotation}));
  }
}

//===----------------------------------------------------------------------===//
// Writing it down
//===----------------------------------------------------------------------===//

namespace {
struct DistPropagate : dist::impl::DistPropagateBase<DistPropagate> {
  using DistPropagateBase::DistPropagateBase;

  void runOnOperation() override {
    MeshOp mesh = findMesh(getOperation());
    if (!mesh)
      return;
    FailureOr<ShardingTable> table = ShardingTable::build(getOperation(), mesh);
    if (failed(table))
      return signalPassFailure();
    for (unsigned axis = 0; axis < table->getNumAxes(); ++axis)
      AxisPropagation(*table, axis).run();
    settlePartialSums(*table);
    handOverAsRead(*table);
    write(*table, mesh);
    if (explain)
      explainTable(*table);
  }

  /// Says of every op what it gives and why, and so of what propagation has added to an argument,
  /// a result or a pinned value.
  static void explainTable(ShardingTable &table) {
    MeshAttr mesh = table.getMesh();
    auto explainAxes = [&](InFlightDiagnostic &remark, auto decisionOf, const Axes &waiting) {
      for (unsigned axis = 0; axis < table.getNumAxes(); ++axis) {
        StringRef name = mesh.getNames()[axis].getValue();
        if (llvm::is_contained(waiting, axis))
          remark << "; the sum over '" << name << "' is made later";
        else if (const Decision *decision = decisionOf(axis))
          remark << "; '" << name << "': " << describe(decision->claimClass) << ", "
                 << decision->annotation->text;
      }
    };
    for (Slot &slot : table.getSlots()) {
      auto decisionOf = [&](unsigned axis) {
        return slot.decisions[axis] ? &*slot.decisions[axis] : nullptr;
      };
      if (llvm::none_of(slot.decisions, [](const auto &decision) { return bool(decision); }) &&
          slot.sharding.partial.empty())
        continue;
      InFlightDiagnostic remark = emitRemark(slot.values.empty() ? slot.sources[0].getLoc()
                                                                 : slot.values[0].getLoc());
      remark << slot.name << ": " << toString(slot.sharding, mesh);
      explainAxes(remark, decisionOf, slot.sharding.partial);
    }
    for (OpEntry &entry : table.getOps()) {
      InFlightDiagnostic remark = entry.op->emitRemark();
      for (unsigned i = 0; i < entry.op->getNumResults(); ++i)
        remark << (i ? ", " : "") << toString(entry.ofResult(i), mesh);
      auto decisionOf = [&](unsigned axis) {
        return entry.factorOf[axis] ? &entry.decisions[axis] : nullptr;
      };
      explainAxes(remark, decisionOf, entry.carried);
    }
  }

  void write(ShardingTable &table, MeshOp mesh) {
    for (FunctionEntry *function : table.getFunctions()) {
      func::FuncOp op = function->function;
      for (auto [number, slot] : llvm::enumerate(function->arguments))
        op.setArgAttr(number, attr::kSharding, slot->sharding.toAttr(mesh));
      for (auto [number, slot] : llvm::enumerate(function->results))
        op.setResultAttr(number, attr::kSharding, slot->sharding.toAttr(mesh));
      for (Operation &inner : op.front())
        writeShardings(table, inner, mesh);
    }
    for (Slot &slot : table.getSlots())
      if (slot.constraint)
        slot.constraint.setShardingAttr(slot.sharding.toAttr(mesh));
    for (OpEntry &entry : table.getOps())
      writeFactors(entry, mesh);
    for (auto function : getOperation().getOps<func::FuncOp>())
      if (function->hasAttr(graph::attr::kHost))
        writeHost(function, mesh);
  }

  static void writeShardings(ShardingTable &table, Operation &op, MeshOp mesh) {
    if (op.getNumResults() == 0)
      return;
    SmallVector<Attribute> shardings;
    for (Value result : op.getResults())
      shardings.push_back(table.shardingOf(result).toAttr(mesh));
    op.setAttr(attr::kShardings, ArrayAttr::get(op.getContext(), shardings));
  }

  static void writeFactors(OpEntry &entry, MeshOp mesh) {
    if (llvm::all_of(entry.factorAxes, [](const Axes &axes) { return axes.empty(); }))
      return;
    setFactorAxes(entry.op, entry.factorAxes, mesh.getMesh());
    SmallVector<Attribute> origins;
    for (const Axes &axes : entry.factorAxes) {
      if (axes.empty())
        continue;
      const Annotation *annotation = entry.decisions[axes.front()].annotation;
      origins.push_back(OriginAttr::get(entry.op->getContext(),
                                        describe(entry.decisions[axes.front()].claimClass),
                                        annotation ? annotation->text : "", "", ""));
    }
    entry.op->setAttr(attr::kOrigins, ArrayAttr::get(entry.op->getContext(), origins));
  }

  /// Scalars of the host are the same for all devices.
  static void writeHost(func::FuncOp function, MeshOp mesh) {
    auto whole = Sharding::replicated(0).toAttr(mesh);
    for (unsigned i = 0; i < function.getNumArguments(); ++i)
      function.setArgAttr(i, attr::kSharding, whole);
    for (unsigned i = 0; i < function.getNumResults(); ++i)
      function.setResultAttr(i, attr::kSharding, whole);
    for (Operation &op : function.front())
      if (op.getNumResults())
        op.setAttr(
            attr::kShardings,
            ArrayAttr::get(op.getContext(), SmallVector<Attribute>(op.getNumResults(), whole)));
  }
};
} // namespace
