//===- MatmulFlops.cpp - the work of a function's matrix products ---------===//
#include "compiler/analysis/MatmulFlops.h"
#include "dialects/dist/IR/Dist.h"
#include "llvm/ADT/StringMap.h"

using namespace mlir;

namespace {

class Counter {
public:
  explicit Counter(ModuleOp module) : symbols(module) {}

  double count(StringRef name) {
    if (auto found = known.find(name); found != known.end())
      return found->second;
    double flops = 0;
    if (auto function = symbols.lookup<func::FuncOp>(name))
      function.walk([&](Operation *op) { flops += ofOp(op); });
    return known[name] = flops;
  }

private:
  double ofOp(Operation *op) {
    if (auto cost = dyn_cast<minigptc::graph::CostOp>(op))
      return cost.getMatmulFlops();
    if (auto call = dyn_cast<func::CallOp>(op))
      return count(call.getCallee());
    if (auto manual = dyn_cast<minigptc::dist::ManualOp>(op)) {
      minigptc::dist::MeshAttr mesh =
          symbols.lookup<minigptc::dist::MeshOp>(manual.getMesh()).getMesh();
      return double(mesh.getSize(manual.getUsedAxes(mesh))) * count(manual.getCallee());
    }
    if (auto loop = dyn_cast<minigptc::graph::LoopOp>(op))
      return double(loop.getTripCount()) * count(loop.getLoopBody().getValue());
    if (auto vjp = dyn_cast<minigptc::graph::VjpOp>(op))
      return 3 * count(vjp.getCallee());
    return 0;
  }

  SymbolTable symbols;
  llvm::StringMap<double> known;
};

} // namespace

double minigptc::countMatmulFlops(ModuleOp module, StringRef function) {
  return Counter(module).count(function);
}
