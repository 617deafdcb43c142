//===- Decompose.cpp - composites that nobody can cut ---------------------===//
#include "dialects/dist/Transforms/Passes.h"

namespace minigptc::dist {
#define GEN_PASS_DEF_DISTDECOMPOSE
#include "dialects/dist/Transforms/Passes.h.inc"
} // namespace minigptc::dist

using namespace mlir;
using namespace minigptc;

namespace {
struct DistDecompose : dist::impl::DistDecomposeBase<DistDecompose> {
  void runOnOperation() override {
    if (!dist::findMesh(getOperation()))
      return;
    // A decomposition may emit simpler composites, so that we go on until none is left.
    for (;;) {
      SmallVector<graph::DecomposableOp> composites;
      getOperation().walk([&](graph::DecomposableOp op) {
        if (!isa<graph::ShardingRuleOp>(*op))
          composites.push_back(op);
      });
      if (composites.empty())
        return;
      for (graph::DecomposableOp op : composites) {
        OpBuilder builder(op);
        op->replaceAllUsesWith(op.decompose(builder));
        op->erase();
      }
    }
  }
};
} // namespace
