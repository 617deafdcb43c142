//===- MatmulFlops.cpp - the work of a function's matrix products ---------===//
#include "compiler/analysis/MatmulFlops.h"
#include "dialects/dist/IR/Dist.h"

using namespace mlir;
using namespace minigptc;

double MatmulFlops::ofFunction(StringRef name) {
  if (auto found = known.find(name); found != known.end())
    return found->second;
  double flops = 0;
  if (auto function = symbols.lookup<func::FuncOp>(name))
    function.walk([&](Operation *op) { flops += ofOp(op); });
  return known[name] = flops;
}

double MatmulFlops::ofOp(Operation *op) {
  if (auto cost = dyn_cast<graph::CostOp>(op))
    return cost.getMatmulFlops();
  if (auto call = dyn_cast<func::CallOp>(op))
    return ofFunction(call.getCallee());
  if (auto manual = dyn_cast<dist::ManualOp>(op)) {
    dist::MeshAttr mesh = symbols.lookup<dist::MeshOp>(manual.getMesh()).getMesh();
    return double(mesh.getSize(manual.getUsedAxes(mesh))) * ofFunction(manual.getCallee());
  }
  if (auto loop = dyn_cast<graph::LoopOp>(op))
    return double(loop.getTripCount()) * ofFunction(loop.getLoopBody().getValue());
  if (auto cond = dyn_cast<graph::CondOp>(op))
    return std::max(ofFunction(cond.getOnTrue()), ofFunction(cond.getOnFalse()));
  if (auto loop = dyn_cast<graph::WhileOp>(op)) // how often, nobody knows
    return ofFunction(loop.getBody());
  if (auto vjp = dyn_cast<graph::VjpOp>(op))
    return 3 * ofFunction(vjp.getCallee());
  return 0;
}

double minigptc::countMatmulFlops(ModuleOp module, StringRef function) {
  return MatmulFlops(module).ofFunction(function);
}
