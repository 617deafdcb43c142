//===- Decompose.cpp - composite ops become primitives --------------------===//
#include "dialects/graph/Transforms/Passes.h"

namespace minigptc::graph {
#define GEN_PASS_DEF_GRAPHDECOMPOSE
#include "dialects/graph/Transforms/Passes.h.inc"
} // namespace minigptc::graph

using namespace mlir;
using namespace minigptc::graph;

namespace {
struct GraphDecompose : minigptc::graph::impl::GraphDecomposeBase<GraphDecompose> {
  using GraphDecomposeBase::GraphDecomposeBase;

  void runOnOperation() override {
    // A decomposition may emit simpler composites, so that we go on until none is left.
    for (;;) {
      SmallVector<DecomposableOp> composites;
      getOperation()->walk([&](DecomposableOp op) {
        auto whole = dyn_cast<WholeKernelOp>(*op);
        if (!keepWholeKernels || !whole || !whole.hasWholeKernel())
          composites.push_back(op);
      });
      if (composites.empty())
        return;
      for (DecomposableOp op : composites)
        replace(op);
    }
  }

  static void replace(DecomposableOp op) {
    OpBuilder builder(op);
    op->replaceAllUsesWith(op.decompose(builder));
    op->erase();
  }
};
} // namespace
