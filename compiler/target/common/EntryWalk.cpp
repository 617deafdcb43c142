#include "compiler/target/common/EntryWalk.h"

#include "dialects/exec/IR/Exec.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/SymbolTable.h"
#include "llvm/ADT/DenseSet.h"

using namespace mlir;
using namespace minigptc;

namespace {
struct Walk {
  SymbolTable symbols;
  llvm::function_ref<void(Operation *)> visit;
  llvm::DenseSet<Operation *> seen;

  void add(Operation *symbol) {
    if (!symbol || !seen.insert(symbol).second)
      return;
    if (isa<func::FuncOp>(symbol)) {
      visit(symbol);
      return;
    }
    symbol->walk([&](Operation *op) {
      visit(op);
      if (auto launch = dyn_cast<exec::LaunchOp>(op))
        add(symbols.lookup(launch.getKernel()));
      for (StringRef block : exec::getBlockCalls(op).blocks)
        add(symbols.lookup(block));
    });
  }
};
} // namespace

void target::walkEntry(ModuleOp module, StringRef entry,
                       llvm::function_ref<void(Operation *)> visit) {
  Walk walk{SymbolTable(module), visit, {}};
  walk.add(walk.symbols.lookup(entry));
}
