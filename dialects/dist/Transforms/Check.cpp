//===- Check.cpp - refuses shardings that do not fit ----------------------===//
#include "dialects/dist/Transforms/Passes.h"
#include "dialects/dist/Transforms/WantedShardings.h"
#include "llvm/ADT/StringExtras.h"

namespace minigptc::dist {
#define GEN_PASS_DEF_DISTCHECK
#include "dialects/dist/Transforms/Passes.h.inc"
} // namespace minigptc::dist

using namespace mlir;
using namespace minigptc;
using namespace minigptc::dist;

namespace {

/// Checks one function. Stops at the first thing that is wrong.
class Checker {
public:
  Checker(MeshAttr mesh, const WantedShardings &shardings) : mesh(mesh), shardings(shardings) {}

  LogicalResult check(func::FuncOp function);

private:
  LogicalResult checkSignature(func::FuncOp function);
  LogicalResult checkResults(Operation *op);
  LogicalResult checkCarried(Operation *op, const graph::ShardingRule &rule, const Axes &carried);
  LogicalResult checkOperands(Operation *op);
  LogicalResult checkReshard(ReshardOp reshard);
  std::string names(const Axes &axes) const;

  MeshAttr mesh;
  const WantedShardings &shardings;
};

} // namespace

std::string Checker::names(const Axes &axes) const {
  return llvm::join(
      llvm::map_range(axes, [&](unsigned axis) { return "'" + mesh.getNames()[axis].str() + "'"; }),
      ", ");
}

LogicalResult Checker::checkSignature(func::FuncOp function) {
  auto check = [&](DictionaryAttr attributes, const Twine &what,
                   bool mayBePartial) -> LogicalResult {
    auto sharding = attributes ? attributes.getAs<ShardingAttr>(attr::kSharding) : ShardingAttr();
    if (!sharding)
      return function.emitOpError() << what << " has no " << attr::kSharding;
    if (!mayBePartial && !sharding.getPartial().empty())
      return function.emitOpError()
             << what << " is part of a sum; only results of private functions may be";
    return success();
  };
  for (unsigned i = 0; i < function.getNumArguments(); ++i)
    if (failed(check(function.getArgAttrDict(i), "argument " + Twine(i), false)))
      return failure();
  for (unsigned i = 0; i < function.getNumResults(); ++i)
    if (failed(check(function.getResultAttrDict(i), "result " + Twine(i), function.isPrivate())))
      return failure();
  return success();
}

/// What the results carry on must come out of operands in which the op is linear.
LogicalResult Checker::checkCarried(Operation *op, const graph::ShardingRule &rule,
                                    const Axes &carried) {
  if (carried.empty())
    return success();
  if (rule.linearity == graph::Linearity::none)
    return op->emitOpError() << "is not linear, but gives part of a sum over " << names(carried);
  SmallVector<OpOperand *> partial;
  for (OpOperand &operand : op->getOpOperands())
    if (isLinear(rule, operand.getOperandNumber()) &&
        !Sharding::of(operand.get(), mesh)->partial.empty())
      partial.push_back(&operand);
  if (rule.linearity == graph::Linearity::joint || partial.size() == 1)
    return success();
  return op->emitOpError() << "gives part of a sum over " << names(carried) << ", which "
                           << partial.size() << " of its operands are; it is linear in one alone";
}

LogicalResult Checker::checkResults(Operation *op) {
  graph::ShardingRule rule = getRule(op);
  SmallVector<Axes> factorAxes = getFactorAxes(op, rule, mesh);
  for (OpResult result : op->getResults()) {
    std::optional<Sharding> sharding = Sharding::of(result, mesh);
    if (!sharding)
      return op->emitOpError() << "has no " << attr::kShardings;
    if (isa<func::CallOp, ReshardOp>(op))
      continue;
    Sharding expected = resultSharding(rule, result.getResultNumber(), factorAxes);
    Axes carried = getCarriedAxes(op, rule, mesh);
    llvm::append_range(expected.partial, carried);
    llvm::sort(expected.partial);
    if (*sharding != expected)
      return op->emitOpError() << "result " << result.getResultNumber() << " is "
                               << toString(*sharding, mesh) << ", but by the op's factors "
                               << toString(expected, mesh);
    if (failed(checkCarried(op, rule, carried)))
      return failure();
  }
  return success();
}

LogicalResult Checker::checkOperands(Operation *op) {
  for (auto [operand, wanted] : llvm::zip_equal(op->getOpOperands(), shardings.of(op))) {
    std::optional<Sharding> sharding = Sharding::of(operand.get(), mesh);
    if (!wanted || !sharding || *sharding == *wanted)
      continue;
    InFlightDiagnostic error = op->emitOpError()
                               << "operand " << operand.getOperandNumber() << " is "
                               << toString(*sharding, mesh) << ", but is needed as "
                               << toString(*wanted, mesh);
    error.attachNote(operand.get().getLoc()) << "the value is made here";
    return error;
  }
  return success();
}

LogicalResult Checker::checkReshard(ReshardOp reshard) {
  Sharding from = *Sharding::of(reshard.getInput(), mesh);
  Sharding to = Sharding::fromAttr(reshard.getSharding(), mesh);
  for (unsigned axis : to.partial)
    if (!llvm::is_contained(from.partial, axis))
      return reshard.emitOpError() << "nothing makes a value part of a sum over " << names({axis});
  return success();
}

LogicalResult Checker::check(func::FuncOp function) {
  if (failed(checkSignature(function)))
    return failure();
  for (Operation &op : function.front()) {
    if (failed(checkResults(&op)) || failed(checkOperands(&op)))
      return failure();
    if (auto reshard = dyn_cast<ReshardOp>(op); reshard && failed(checkReshard(reshard)))
      return failure();
    if (auto call = dyn_cast<func::CallOp>(op)) {
      auto callee = SymbolTable::lookupNearestSymbolFrom<func::FuncOp>(call, call.getCalleeAttr());
      for (OpResult result : call.getResults()) {
        unsigned number = result.getResultNumber();
        auto given = callee.getResultAttrOfType<ShardingAttr>(number, attr::kSharding);
        if (given && Sharding::fromAttr(given, mesh) != *Sharding::of(result, mesh))
          return call.emitOpError()
                 << "result " << number << " is " << toString(*Sharding::of(result, mesh), mesh)
                 << ", but '" << callee.getSymName() << "' gives "
                 << toString(Sharding::fromAttr(given, mesh), mesh);
      }
    }
  }
  return success();
}

namespace {
struct DistCheck : dist::impl::DistCheckBase<DistCheck> {
  void runOnOperation() override {
    MeshOp mesh = findMesh(getOperation());
    if (!mesh)
      return;
    WantedShardings shardings(getOperation(), mesh.getMesh());
    for (auto function : getOperation().getOps<func::FuncOp>())
      if (runsOnDevices(function) && failed(Checker(mesh.getMesh(), shardings).check(function)))
        return signalPassFailure();
  }
};
} // namespace
