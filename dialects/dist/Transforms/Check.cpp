//===- Check.cpp - refuses shardings that do not fit ----------------------===//
#include "dialects/dist/Transforms/CallSites.h"
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
  LogicalResult checkFactors(Operation *op, const graph::ShardingRule &rule);
  LogicalResult checkCarried(Operation *op, const OpSharding &cut);
  LogicalResult checkOperands(Operation *op);
  LogicalResult checkReshard(ReshardOp reshard);
  LogicalResult checkCallSite(Operation *site);
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
             << what
             << " is part of a sum; only results of private functions may be, and what a "
                "loop carries";
    return success();
  };
  for (unsigned i = 0; i < function.getNumArguments(); ++i) {
    std::optional<unsigned> carried = getCarriedResult(function, i);
    // The condition of a loop has what that carries; nothing there reads a part of a sum.
    bool mayBePartial = carried || (function.isPrivate() && function.getArgument(i).use_empty());
    if (failed(check(function.getArgAttrDict(i), "argument " + Twine(i), mayBePartial)))
      return failure();
    if (carried && function.getArgAttr(i, attr::kSharding) !=
                       function.getResultAttr(*carried, attr::kSharding))
      return function.emitOpError()
             << "argument " << i << " is " << function.getArgAttr(i, attr::kSharding)
             << ", but comes back as " << function.getResultAttr(*carried, attr::kSharding)
             << "; what a loop carries has one sharding";
  }
  for (unsigned i = 0; i < function.getNumResults(); ++i)
    if (failed(check(function.getResultAttrDict(i), "result " + Twine(i), function.isPrivate())))
      return failure();
  return success();
}

/// What the results carry on must come out of operands in which the op is linear. Zero is the sum
/// of zeros.
LogicalResult Checker::checkCarried(Operation *op, const OpSharding &cut) {
  if (cut.carried.empty() || isZero(op))
    return success();
  if (cut.rule.linearity == graph::Linearity::none)
    return op->emitOpError() << "is not linear, but gives part of a sum over "
                             << names(cut.carried);
  size_t partial = llvm::count_if(op->getOpOperands(), [&](OpOperand &operand) {
    return isLinear(cut.rule, operand.getOperandNumber()) &&
           !Sharding::of(operand.get(), mesh)->partial.empty();
  });
  if (cut.rule.linearity == graph::Linearity::joint || partial == 1)
    return success();
  return op->emitOpError() << "gives part of a sum over " << names(cut.carried) << ", which "
                           << partial << " of its operands are; it is linear in one alone";
}

/// One list of axes per factor of the op's rule.
LogicalResult Checker::checkFactors(Operation *op, const graph::ShardingRule &rule) {
  auto given = op->getAttrOfType<ArrayAttr>(attr::kFactors);
  if (!given)
    return success();
  if (given.size() != rule.factors.size())
    return op->emitOpError() << "has " << rule.factors.size() << " factors, but " << attr::kFactors
                             << " = " << given << " is for " << given.size();
  return success();
}

LogicalResult Checker::checkResults(Operation *op) {
  if (isa<CollectiveOp, AxisIndexOp, VaryOp>(op))
    return op->emitOpError() << "speaks of one device's part, among whole tensors; it belongs "
                                "into the function of a dist.manual";
  OpSharding cut = OpSharding::read(op, mesh);
  if (failed(checkFactors(op, cut.rule)))
    return failure();
  if (auto manual = dyn_cast<ManualOp>(op))
    for (auto [factor, axis] : llvm::enumerate(manual.getUsedAxes(mesh)))
      if (cut.factorAxes[factor] != Axes{axis})
        return manual.emitOpError() << "has parts along " << names({axis}) << ", but its "
                                    << attr::kFactors << " say otherwise";
  for (OpResult result : op->getResults()) {
    std::optional<Sharding> sharding = Sharding::of(result, mesh);
    if (!sharding)
      return op->emitOpError() << "has no " << attr::kShardings;
    if (isCallSite(op) || isa<ReshardOp>(op))
      continue;
    Sharding expected = cut.ofResult(result.getResultNumber());
    if (*sharding != expected)
      return op->emitOpError() << "result " << result.getResultNumber() << " is "
                               << toString(*sharding, mesh) << ", but by the op's factors "
                               << toString(expected, mesh);
    if (failed(checkCarried(op, cut)))
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

/// A call's results are as the function gives them; what a loop cuts is whole along dimension 0.
LogicalResult Checker::checkCallSite(Operation *site) {
  for (OpResult result : site->getResults()) {
    unsigned number = result.getResultNumber();
    Sharding own = *Sharding::of(result, mesh);
    for (const CalledFunction &called : getCalledFunctions(site)) {
      if (!called.makesResults)
        continue;
      auto callee = SymbolTable::lookupNearestSymbolFrom<func::FuncOp>(site, called.name);
      auto given = callee.getResultAttrOfType<ShardingAttr>(number, attr::kSharding);
      if (given && Sharding::fromAttr(given, mesh) != own)
        return site->emitOpError() << "result " << number << " is " << toString(own, mesh)
                                   << ", but '" << callee.getSymName() << "' gives "
                                   << toString(Sharding::fromAttr(given, mesh), mesh);
    }
    if (isCutResult(site, number) && !own.dims[0].empty())
      return site->emitOpError() << "stacks result " << number << " along dimension 0, which "
                                 << names(own.dims[0]) << " cuts";
  }
  for (OpOperand &operand : site->getOpOperands()) {
    std::optional<Sharding> sharding = Sharding::of(operand.get(), mesh);
    if (sharding && isCutOperand(site, operand.getOperandNumber()) && !sharding->dims[0].empty())
      return site->emitOpError() << "takes parts of operand " << operand.getOperandNumber()
                                 << " along dimension 0, which " << names(sharding->dims[0])
                                 << " cuts";
  }
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
    if (isCallSite(&op) && failed(checkCallSite(&op)))
      return failure();
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
      if (isSharded(function) && failed(Checker(mesh.getMesh(), shardings).check(function)))
        return signalPassFailure();
  }
};
} // namespace
