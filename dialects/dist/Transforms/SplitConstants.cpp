//===- SplitConstants.cpp - a constant for every use ----------------------===//
#include "dialects/dist/Transforms/Passes.h"

namespace minigptc::dist {
#define GEN_PASS_DEF_DISTSPLITCONSTANTS
#include "dialects/dist/Transforms/Passes.h.inc"
} // namespace minigptc::dist

using namespace mlir;
using namespace minigptc;

namespace {
struct DistSplitConstants : dist::impl::DistSplitConstantsBase<DistSplitConstants> {
  void runOnOperation() override {
    if (!dist::findMesh(getOperation()))
      return;
    SmallVector<Operation *> shared;
    getOperation().walk([&](graph::ShardingRuleOp op) {
      if (op->getNumOperands() == 0 && isMemoryEffectFree(op) && !op->use_empty() &&
          !op->hasOneUse())
        shared.push_back(op);
    });
    for (Operation *op : shared)
      split(op);
  }

  /// The last use keeps the op, the others get a copy before it.
  static void split(Operation *op) {
    OpBuilder builder(op);
    SmallVector<OpOperand *> uses =
        llvm::map_to_vector(op->getUses(), [](OpOperand &use) { return &use; });
    for (OpOperand *use : llvm::drop_end(uses))
      use->set(builder.clone(*op)->getResult(0));
  }
};
} // namespace
