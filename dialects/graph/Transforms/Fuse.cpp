//===- Fuse.cpp - --graph-fuse --------------------------------------------===//
#include "dialects/graph/Transforms/FusionPlan.h"
#include "dialects/graph/Transforms/Passes.h"

#include "mlir/Analysis/TopologicalSortUtils.h"
#include "mlir/IR/IRMapping.h"

namespace minigptc::graph {
#define GEN_PASS_DEF_GRAPHFUSE
#include "dialects/graph/Transforms/Passes.h.inc"
} // namespace minigptc::graph

using namespace mlir;
using namespace minigptc::graph;

namespace {
/// Erases pure ops without uses.
void eraseDead(Block &block) {
  for (Operation &op : llvm::make_early_inc_range(llvm::reverse(block)))
    if (isOpTriviallyDead(&op))
      op.erase();
}

/// The place of the ops whose values a kernel stores.
Location getLocation(const FusionGroup &group) {
  SmallVector<Location> locations;
  for (Value result : group.results)
    locations.push_back(result.getLoc());
  return FusedLoc::get(group.results.front().getContext(), locations);
}

/// The group as one op behind its last result. Results are not yet replaced.
FusionOp build(const FusionGroup &group) {
  OpBuilder builder(group.body.back()->getContext());
  builder.setInsertionPointAfter(group.body.back());
  auto fusion = FusionOp::create(builder, getLocation(group), ValueRange(group.results).getTypes(),
                                 group.inputs);
  Block &block = fusion.getBody().emplaceBlock();
  IRMapping map;
  for (Value input : group.inputs)
    map.map(input, block.addArgument(input.getType(), input.getLoc()));
  builder.setInsertionPointToStart(&block);
  for (Operation *op : group.body)
    builder.clone(*op, map);
  SmallVector<Value> results;
  for (Value result : group.results)
    results.push_back(map.lookup(result));
  YieldOp::create(builder, fusion.getLoc(), results);
  return fusion;
}

struct Fuse : minigptc::graph::impl::GraphFuseBase<Fuse> {
  using GraphFuseBase::GraphFuseBase;

  void runOnOperation() override {
    func::FuncOp function = getOperation();
    if (function.isExternal() || function->hasAttr(attr::kHost) || function->hasAttr(attr::kKernel))
      return;
    Block &block = function.getBody().front();
    eraseDead(block);
    std::vector<FusionGroup> groups = planFusions(block, explain);
    SmallVector<FusionOp> fusions;
    for (const FusionGroup &group : groups)
      fusions.push_back(build(group));
    // Only now: the bodies are copies of ops that read the values replaced.
    for (auto [group, fusion] : llvm::zip(groups, fusions))
      for (auto [result, output] : llvm::zip(group.results, fusion.getOutputs()))
        result.replaceAllUsesWith(output);
    eraseDead(block);
    if (!sortTopologically(&block)) {
      function.emitOpError(
          "has kernels that depend on each other in a circle (an error of this pass)");
      signalPassFailure();
    }
  }
};
} // namespace
