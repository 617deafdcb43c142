//===- StackSums.cpp - --graph-stack-sums ---------------------------------===//
#include "dialects/graph/IR/Builders.h"
#include "dialects/graph/Transforms/Passes.h"

namespace minigptc::graph {
#define GEN_PASS_DEF_GRAPHSTACKSUMS
#include "dialects/graph/Transforms/Passes.h.inc"
} // namespace minigptc::graph

using namespace mlir;
using namespace minigptc::graph;

/// Shorter chains stay. A stack has so many parts, of which the first is the sum so far: few
/// enough to be one kernel with its reduction, whatever the chain's length.
static constexpr size_t kLeast = 4, kStack = 16;

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
  // The first stack is shorter, so that all others, and the last, which is fused with what
  // reads the sum, are the same kernels for any number of parts.
  OpBuilder builder(last);
  GraphBuilder b(builder, last->getLoc());
  constexpr size_t more = kStack - 1;
  size_t next = 2 + (parts.size() - 2) % more;
  Value sum = sumOf(b, ArrayRef(parts).take_front(next));
  for (; next < parts.size(); next += more) {
    SmallVector<Value> stacked{sum};
    llvm::append_range(stacked, ArrayRef(parts).slice(next, more));
    sum = sumOf(b, stacked);
  }
  last->getResult(0).replaceAllUsesWith(sum);
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
