//===- StackSums.cpp - --graph-stack-sums ---------------------------------===//
#include "dialects/graph/IR/Builders.h"
#include "dialects/graph/Transforms/Passes.h"

namespace minigptc::graph {
#define GEN_PASS_DEF_GRAPHSTACKSUMS
#include "dialects/graph/Transforms/Passes.h.inc"
} // namespace minigptc::graph

using namespace mlir;
using namespace minigptc::graph;

/// Shorter chains stay, and no kernel gets more parts: chains of any length share kernels.
static constexpr size_t kLeast = 4, kMost = 32;

static bool isScalarSum(Operation *op) {
  auto add = dyn_cast_or_null<AddOp>(op);
  auto type = add ? dyn_cast<RankedTensorType>(add.getType()) : nullptr;
  return type && type.getRank() == 0 && type.getElementType().isF32();
}

static bool isReduced(Value value) {
  return isa_and_nonnull<ReductionKernelOp>(value.getDefiningOp());
}

/// What a chain of additions adds up, in its order; `links` gets the additions, the last
/// one first.
static SmallVector<Value> collectParts(Operation *last, SmallVector<Operation *> &links) {
  SmallVector<Value> parts;
  Operation *op = last;
  while (true) {
    links.push_back(op);
    parts.push_back(op->getOperand(1));
    Value rest = op->getOperand(0);
    Operation *next = rest.getDefiningOp();
    if (!isScalarSum(next) || !rest.hasOneUse()) {
      parts.push_back(rest);
      break;
    }
    op = next;
  }
  std::reverse(parts.begin(), parts.end());
  return parts;
}

/// The parts beside each other, and their sum.
static Value sumOf(GraphBuilder &b, ArrayRef<Value> parts) {
  if (parts.size() == 1)
    return parts.front();
  SmallVector<Value> rows;
  for (Value part : parts)
    rows.push_back(b.reshape(part, {1}));
  return b.sum(b.concatenate(rows, 0), 0);
}

static void stack(Operation *last) {
  SmallVector<Operation *> links;
  SmallVector<Value> parts = collectParts(last, links);
  if (parts.size() < kLeast || !llvm::all_of(parts, isReduced))
    return;
  // Equal shapes make equal kernels: whole stacks first.
  OpBuilder builder(last);
  GraphBuilder b(builder, last->getLoc());
  while (parts.size() > 1) {
    SmallVector<Value> sums;
    for (size_t begin = 0; begin < parts.size(); begin += kMost)
      sums.push_back(sumOf(b, ArrayRef(parts).slice(begin, std::min(kMost, parts.size() - begin))));
    parts = std::move(sums);
  }
  last->getResult(0).replaceAllUsesWith(parts.front());
  for (Operation *link : links)
    link->erase();
}

namespace {
struct StackSums : minigptc::graph::impl::GraphStackSumsBase<StackSums> {
  void runOnOperation() override {
    SmallVector<Operation *> ends; // of chains
    getOperation().walk([&](AddOp op) {
      bool goesOn = op->hasOneUse() && isScalarSum(*op->user_begin()) &&
                    op->user_begin()->getOperand(0) == op->getResult(0);
      if (isScalarSum(op) && !goesOn)
        ends.push_back(op);
    });
    for (Operation *end : ends)
      stack(end);
  }
};
} // namespace
