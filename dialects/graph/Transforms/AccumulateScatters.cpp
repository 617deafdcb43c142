//===- AccumulateScatters.cpp - --graph-accumulate-scatters ---------------===//
#include "dialects/graph/Transforms/Passes.h"
#include "mlir/IR/Matchers.h"

namespace minigptc::graph {
#define GEN_PASS_DEF_GRAPHACCUMULATESCATTERS
#include "dialects/graph/Transforms/Passes.h.inc"
} // namespace minigptc::graph

using namespace mlir;
using namespace minigptc::graph;

namespace {
bool isZero(Value value) {
  return matchPattern(value, m_AnyZeroFloat()) || matchPattern(value, m_Zero());
}

struct AccumulateScatters : minigptc::graph::impl::GraphAccumulateScattersBase<AccumulateScatters> {
  void runOnOperation() override {
    SmallVector<ScatterOp> scatters(getOperation().getOps<ScatterOp>());
    for (ScatterOp scatter : scatters)
      accumulate(scatter);
  }

  static void accumulate(ScatterOp scatter) {
    if (scatter.getKind() != ScatterKind::add || !scatter->hasOneUse() ||
        !isZero(scatter.getOperand()))
      return;
    auto add = dyn_cast<AddOp>(*scatter->user_begin());
    if (!add)
      return;
    // A reader of both operands has two uses: the other is another value.
    Value sum = add.getLhs() == scatter.getResult() ? add.getRhs() : add.getLhs();
    scatter->moveBefore(add); // Where the sum is known.
    scatter.getOperandMutable().assign(sum);
    scatter->setLoc(FusedLoc::get(add.getContext(), {scatter.getLoc(), add.getLoc()}));
    add.replaceAllUsesWith(scatter.getResult());
    add.erase();
  }
};
} // namespace
