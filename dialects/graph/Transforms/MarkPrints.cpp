//===- MarkPrints.cpp - --graph-mark-prints -------------------------------===//
#include "dialects/graph/Transforms/FunctionGraph.h"
#include "dialects/graph/Transforms/Passes.h"

namespace minigptc::graph {
#define GEN_PASS_DEF_GRAPHMARKPRINTS
#include "dialects/graph/Transforms/Passes.h.inc"
} // namespace minigptc::graph

using namespace mlir;
using namespace minigptc::graph;

namespace {

struct MarkPrints : minigptc::graph::impl::GraphMarkPrintsBase<MarkPrints> {
  void runOnOperation() override {
    FailureOr<FunctionGraph> functions = FunctionGraph::build(getOperation());
    if (failed(functions))
      return signalPassFailure();
    for (func::FuncOp function : functions->getPostOrder()) { // Callees first.
      bool here = function
                      ->walk([](Operation *op) {
                        return prints(op) ? WalkResult::interrupt() : WalkResult::advance();
                      })
                      .wasInterrupted();
      if (!here)
        continue;
      const FunctionGraph::Uses &uses = functions->getUses(function);
      for (func::CallOp call : uses.calls)
        call->setAttr(attr::kPrints, UnitAttr::get(&getContext()));
      for (Operation *op : uses.others)
        op->setAttr(attr::kPrints, UnitAttr::get(&getContext()));
    }
  }
};

} // namespace
