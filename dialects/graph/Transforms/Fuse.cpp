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

/// Where a large splat is read from memory, it is filled for each reader, right before it: most
/// readers go on in that memory (a loop, a call that adds to it), and would else copy it first.
void splitSplats(Block &block) {
  for (ConstantOp constant : SmallVector<ConstantOp>(block.getOps<ConstantOp>())) {
    auto value = dyn_cast<DenseElementsAttr>(constant.getValue());
    if (!value || !value.isSplat() || value.getNumElements() == 1)
      continue;
    for (OpOperand &use : llvm::make_early_inc_range(constant->getUses()))
      if (isa<func::CallOp, LoopOp, WhileOp>(use.getOwner()))
        use.set(OpBuilder(use.getOwner()).clone(*constant)->getResult(0));
  }
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

/// As sortTopologically; and what sends or receives stays in its order, though no value says so,
/// for on the other side somebody waits, and so does what prints. False, with the block as it was,
/// if kernels were merged across them so that there is no such order.
bool sortInOrder(Block &block) {
  DenseSet<Operation *> left;
  SmallVector<Operation *> pending, order;
  for (Operation &op : block.without_terminator())
    left.insert(&op), pending.push_back(&op);
  auto isReady = [&](Operation *op) {
    return llvm::none_of(op->getOperands(),
                         [&](Value operand) { return left.contains(operand.getDefiningOp()); });
  };
  while (!pending.empty()) {
    SmallVector<Operation *> waiting;
    bool messageWaits = false, printWaits = false;
    for (Operation *op : pending) {
      bool message = isMessage(op), print = prints(op);
      if (isReady(op) && !(message && messageWaits) && !(print && printWaits)) {
        left.erase(op);
        order.push_back(op);
        continue;
      }
      messageWaits |= message;
      printWaits |= print;
      waiting.push_back(op);
    }
    if (waiting.size() == pending.size())
      return false;
    pending = std::move(waiting);
  }
  for (Operation *op : order)
    op->moveBefore(block.getTerminator());
  return true;
}

struct Fuse : minigptc::graph::impl::GraphFuseBase<Fuse> {
  using GraphFuseBase::GraphFuseBase;

  void runOnOperation() override {
    func::FuncOp function = getOperation();
    if (function.isExternal() || function->hasAttr(attr::kHost) || function->hasAttr(attr::kKernel))
      return;
    Block &block = function.getBody().front();
    splitSplats(block);
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
    bool hasOrder = llvm::any_of(block.without_terminator(),
                                 [](Operation &op) { return isMessage(&op) || prints(&op); });
    bool sorted = hasOrder && sortInOrder(block);
    if (!sorted && !sortTopologically(&block)) {
      function.emitOpError(
          "has kernels that depend on each other in a circle (an error of this pass)");
      signalPassFailure();
    }
  }
};
} // namespace
