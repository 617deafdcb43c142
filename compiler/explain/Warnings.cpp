//===- Warnings.cpp - annotations that cost more than they need -----------===//
#include "compiler/explain/Warnings.h"
#include "compiler/explain/ProductWarnings.h"
#include "compiler/explain/Roles.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/SymbolTable.h"
#include "runtime/base/Format.h"

#include <set>

using namespace mlir;
using namespace minigptc;
using graph::FactorKind;

namespace {

class Analysis {
public:
  Analysis(ModuleOp module, dist::MeshAttr mesh) : symbols(module), mesh(mesh) {}

  std::vector<ExplainedWarning> run(func::FuncOp entry) {
    collectAnnotations(entry);
    SmallVector<const AnnotatedParameter *> bound;
    for (Value argument : entry.getArguments())
      bound.push_back(byArgument.lookup(argument));
    countCalls(entry, 1);
    walk(entry, bound);
    shareOfWholeMatrices();
    return std::move(warnings);
  }

private:
  void collectAnnotations(func::FuncOp entry) {
    parameters.reserve(entry.getNumArguments());
    for (unsigned i = 0; i < entry.getNumArguments(); ++i) {
      auto sharding = entry.getArgAttrOfType<dist::ShardingAttr>(i, dist::attr::kSharding);
      auto path = entry.getArgAttrOfType<StringAttr>(i, graph::attr::kName);
      if (!sharding || !path)
        continue;
      dist::Sharding read = dist::Sharding::fromAttr(sharding, mesh);
      StringRef name = parameterName(path.getValue());
      if (!name.empty()) {
        parameters.push_back(
            {name.str(), cast<RankedTensorType>(entry.getArgumentTypes()[i]), std::move(read)});
        byArgument[entry.getArgument(i)] = &parameters.back();
      } else if (!entry.getArgAttr(i, dist::attr::kStored)) {
        for (const dist::Axes &axes : read.dims)
          inputAxes.insert(axes.begin(), axes.end());
      }
    }
    for (unsigned axis : inputAxes)
      batchParts *= mesh.getSizes()[axis];
  }

  /// How often every function runs.
  void countCalls(func::FuncOp function, double times) {
    runs[function] += times;
    function.walk([&](Operation *op) {
      auto loop = dyn_cast<graph::LoopOp>(op);
      if (func::FuncOp callee = calleeOf(op))
        countCalls(callee, loop ? times * double(loop.getTripCount()) : times);
    });
  }

  /// Once per function, for the parameters of its first call.
  void walk(func::FuncOp function, ArrayRef<const AnnotatedParameter *> bound) {
    if (!seen.insert(function).second)
      return;
    for (auto [argument, parameter] : llvm::zip_equal(function.getArguments(), bound))
      byArgument[argument] = parameter;
    function.walk([&](Operation *op) {
      if (func::FuncOp callee = calleeOf(op))
        return walkCall(op, callee);
      if (auto ruled = dyn_cast<graph::ShardingRuleOp>(op))
        visit(op, ruled.getShardingRule(), runs.lookup(function));
    });
  }

  /// What a call or a loop runs.
  func::FuncOp calleeOf(Operation *op) const {
    if (auto loop = dyn_cast<graph::LoopOp>(op))
      return symbols.lookup<func::FuncOp>(loop.getLoopBody().getValue());
    auto call = dyn_cast<func::CallOp>(op);
    return call ? symbols.lookup<func::FuncOp>(call.getCallee()) : func::FuncOp();
  }

  void walkCall(Operation *call, func::FuncOp callee) {
    if (phaseOf(callee) == Phase::backward)
      return;
    SmallVector<const AnnotatedParameter *> bound;
    for (Value operand : call->getOperands())
      bound.push_back(byArgument.lookup(operand));
    walk(callee, bound);
  }

  /// Axes that annotated parameters bring into a dimension of an activation.
  ArrayRef<dist::Axes> cutsOf(Value value) const {
    auto found = cuts.find(value);
    return found == cuts.end() ? ArrayRef<dist::Axes>() : ArrayRef<dist::Axes>(found->second);
  }

  void visit(Operation *op, const graph::ShardingRule &rule, double times) {
    // A parameter in another type is still the parameter.
    if (op->getNumOperands() == 1 && op->getNumResults() == 1)
      if (const AnnotatedParameter *same = byArgument.lookup(op->getOperand(0));
          same &&
          cast<RankedTensorType>(op->getResult(0).getType()).getShape() == same->type.getShape() &&
          rule.factors.size() == size_t(same->type.getRank())) {
        byArgument[op->getResult(0)] = same;
        return;
      }
    for (unsigned i = 0; i < op->getNumOperands(); ++i)
      if (const AnnotatedParameter *parameter = byArgument.lookup(op->getOperand(i)))
        warn(op, rule, i, *parameter, times);
    propagate(op, rule);
  }

  void warn(Operation *op, const graph::ShardingRule &rule, unsigned operand,
            const AnnotatedParameter &parameter, double times) {
    auto cost = dyn_cast<graph::CostOp>(op);
    bool isProduct = cost && cost.getMatmulFlops() > 0;
    for (const dist::Axes &axes : parameter.sharding.dims)
      for (unsigned axis : axes) {
        if (inputAxes.contains(axis))
          continue; // Storage only: gathered for every use.
        AnnotatedUse use{op,           rule, &parameter, operand,    axis,
                         std::nullopt, {},   times,      batchParts, mesh};
        if (isProduct) {
          use.otherOperand = operand == 0 ? 1 : 0;
          for (auto [dim, cut] : llvm::enumerate(cutsOf(op->getOperand(*use.otherOperand))))
            if (llvm::is_contained(cut, axis))
              use.otherDims.push_back(dim);
        }
        if (std::optional<ExplainedWarning> warning = warningOf(use))
          add(std::move(*warning));
      }
  }

  void propagate(Operation *op, const graph::ShardingRule &rule) {
    SmallVector<dist::Axes> ofFactor(rule.factors.size());
    auto take = [&](unsigned operand, ArrayRef<dist::Axes> dims) {
      for (auto [dim, axes] : llvm::enumerate(dims)) {
        const graph::DimFactors &factors = rule.operands[operand][dim];
        if (factors.empty() || rule.factors[factors[0]].kind != FactorKind::passThrough)
          continue;
        for (unsigned axis : axes)
          if (!inputAxes.contains(axis) && !llvm::is_contained(ofFactor[factors[0]], axis))
            ofFactor[factors[0]].push_back(axis);
      }
    };
    for (unsigned i = 0; i < op->getNumOperands() && i < rule.operands.size(); ++i) {
      const AnnotatedParameter *parameter = byArgument.lookup(op->getOperand(i));
      take(i,
           parameter ? ArrayRef<dist::Axes>(parameter->sharding.dims) : cutsOf(op->getOperand(i)));
    }
    for (auto [result, dims] : llvm::zip_equal(op->getResults(), rule.results)) {
      SmallVector<dist::Axes, 4> cut;
      for (const graph::DimFactors &factors : dims)
        cut.push_back(factors.empty() ? dist::Axes() : ofFactor[factors[0]]);
      cuts[result] = std::move(cut);
    }
  }

  /// Matrices that no axis cuts over which others, and the inputs, are cut.
  void shareOfWholeMatrices() {
    for (unsigned axis : inputAxes) {
      double all = 0, whole = 0;
      std::string names;
      bool stores = false;
      for (const AnnotatedParameter &parameter : parameters) {
        double bytes = graph::detail::bytesOf(parameter.type);
        all += bytes;
        stores |= parameter.sharding.uses(axis);
        if (parameter.sharding.uses(axis) || parameter.type.getRank() < 2)
          continue;
        whole += bytes;
        names += (names.empty() ? "'" : ", '") + parameter.name + "'";
      }
      if (!stores || whole < 0.05 * all)
        continue;
      int64_t n = mesh.getSizes()[axis];
      std::string name = mesh.getNames()[axis].str();
      add({names + " lie whole on all " + std::to_string(n) + " devices of '" + name +
               "': " + runtime::format("%.0f %%", 100 * whole / all) + " of the parameters (" +
               bytesText(whole) + " of " + bytesText(all) +
               "), and so do their gradients and moments; a spec with '" + name +
               "' in one of their dimensions cuts them, too",
           "", whole * double(n - 1) / double(n)});
    }
  }

  void add(ExplainedWarning warning) {
    if (texts.insert(warning.text).second)
      warnings.push_back(std::move(warning));
  }

  SymbolTable symbols;
  dist::MeshAttr mesh;
  std::vector<AnnotatedParameter> parameters;
  llvm::DenseMap<Value, const AnnotatedParameter *> byArgument; ///< and what is made of it
  llvm::DenseMap<Value, SmallVector<dist::Axes, 4>> cuts;
  llvm::DenseMap<Operation *, double> runs;
  llvm::DenseSet<Operation *> seen;
  std::set<unsigned> inputAxes;
  int64_t batchParts = 1;
  std::set<std::string> texts;
  std::vector<ExplainedWarning> warnings;
};

} // namespace

std::vector<ExplainedWarning> minigptc::collectWarnings(ModuleOp module, StringRef entry) {
  dist::MeshOp mesh = dist::findMesh(module);
  auto function = module.lookupSymbol<func::FuncOp>(entry);
  if (!mesh || !function)
    return {};
  return Analysis(module, mesh.getMesh()).run(function);
}
