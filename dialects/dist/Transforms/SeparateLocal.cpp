//===- SeparateLocal.cpp - functions of local types are marked ------------===//
#include "dialects/dist/Transforms/CallSites.h"
#include "dialects/dist/Transforms/Passes.h"
#include "llvm/ADT/MapVector.h"

namespace minigptc::dist {
#define GEN_PASS_DEF_DISTSEPARATELOCAL
#include "dialects/dist/Transforms/Passes.h.inc"
} // namespace minigptc::dist

using namespace mlir;
using namespace minigptc;
using namespace minigptc::dist;

namespace {

using Functions = llvm::SetVector<Operation *>;

class Separator {
public:
  explicit Separator(ModuleOp module) : module(module), symbols(module) {}

  LogicalResult run() {
    for (auto function : module.getOps<func::FuncOp>())
      function.walk([&](ManualOp manual) { manuals.push_back(manual); });
    for (ManualOp manual : manuals)
      addCallees(symbols.lookup<func::FuncOp>(manual.getCallee()), local);
    for (ManualOp manual : manuals)
      if (local.contains(manual->getParentOfType<func::FuncOp>()))
        return manual.emitOpError() << "is in a function that another dist.manual calls: they do "
                                       "not nest";
    for (auto function : module.getOps<func::FuncOp>())
      if (!local.contains(function))
        addCallees(function, whole);
    separate();
    return success();
  }

private:
  /// A function and those that it calls, whatever their number.
  void addCallees(func::FuncOp root, Functions &functions) {
    SmallVector<func::FuncOp> open{root};
    while (!open.empty()) {
      func::FuncOp function = open.pop_back_val();
      if (function && functions.insert(function))
        function.walk([&](Operation *op) {
          for (const CalledFunction &callee : getCalledFunctions(op))
            open.push_back(symbols.lookup<func::FuncOp>(callee.name.getValue()));
        });
    }
  }

  void separate() {
    llvm::DenseMap<StringAttr, FlatSymbolRefAttr> copyOf;
    Functions separated;
    for (Operation *op : local) {
      auto function = cast<func::FuncOp>(op);
      StringAttr name = function.getSymNameAttr();
      if (whole.contains(op)) {
        function = function.clone();
        symbols.insert(function, std::next(Block::iterator(op)));
      }
      function->setAttr(attr::kLocal, UnitAttr::get(op->getContext()));
      copyOf[name] = FlatSymbolRefAttr::get(function.getSymNameAttr());
      separated.insert(function);
    }
    for (Operation *function : separated)
      function->walk([&](Operation *op) {
        for (const CalledFunction &callee : getCalledFunctions(op))
          replaceCallee(op, callee.name.getAttr(), copyOf.lookup(callee.name.getAttr()).getAttr());
      });
    for (ManualOp manual : manuals)
      manual.setCalleeAttr(copyOf.lookup(manual.getCalleeAttr().getAttr()));
  }

  ModuleOp module;
  SymbolTable symbols;
  SmallVector<ManualOp> manuals;
  Functions local; ///< that a manual op calls, directly or through others
  Functions whole; ///< that are called on whole tensors
};

struct DistSeparateLocal : dist::impl::DistSeparateLocalBase<DistSeparateLocal> {
  void runOnOperation() override {
    if (findMesh(getOperation()) && failed(Separator(getOperation()).run()))
      signalPassFailure();
  }
};

} // namespace
