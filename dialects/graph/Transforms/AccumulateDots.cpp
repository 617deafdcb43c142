//===- AccumulateDots.cpp - sums of matrix products in place --------------===//
#include "dialects/graph/Transforms/GemmForm.h"
#include "dialects/graph/Transforms/Passes.h"

#include "llvm/ADT/STLExtras.h"

namespace minigptc::graph {
#define GEN_PASS_DEF_GRAPHACCUMULATEDOTS
#include "dialects/graph/Transforms/Passes.h.inc"
} // namespace minigptc::graph

using namespace mlir;
using namespace minigptc::graph;

namespace {
/// The product that is a summand, if a GEMM computes it and nobody else reads it. One of
/// bf16 whose result is bf16 is rounded before it is added, and stays by itself.
DotGeneralOp getProduct(Value summand) {
  auto dot = summand.getDefiningOp<DotGeneralOp>();
  if (!dot || !summand.hasOneUse() || !getGemmForm(dot))
    return nullptr;
  Type type = dot.getType().getElementType();
  return type == getAccumulatorType(type) ? dot : nullptr;
}

struct AccumulateDots : minigptc::graph::impl::GraphAccumulateDotsBase<AccumulateDots> {
  void runOnOperation() override {
    func::FuncOp function = getOperation();
    if (function.isExternal() || function->hasAttr(attr::kHost) || function->hasAttr(attr::kKernel))
      return;
    // Program order: a sum that becomes a product is memory for the sums behind it.
    for (auto add : llvm::make_early_inc_range(function.getBody().front().getOps<AddOp>()))
      accumulate(add);
  }

  void accumulate(AddOp add) {
    Value lhs = add.getLhs(), rhs = add.getRhs();
    // Of two products the later one is added, so that the earlier dies sooner.
    DotGeneralOp left = getProduct(lhs), right = getProduct(rhs);
    if (left && right && right->isBeforeInBlock(left))
      std::swap(lhs, rhs), std::swap(left, right);
    if (right && isFreeMemory(lhs, add))
      return replace(add, lhs, right);
    if (left && isFreeMemory(rhs, add))
      replace(add, rhs, left);
  }

  void replace(AddOp add, Value accumulator, DotGeneralOp dot) {
    OpBuilder builder(add);
    Location loc = FusedLoc::get(add.getContext(), {dot.getLoc(), add.getLoc()});
    auto sum = DotAccumulateOp::create(builder, loc, accumulator, dot.getLhs(), dot.getRhs(),
                                       dot.getLhsBatch(), dot.getRhsBatch(), dot.getLhsContract(),
                                       dot.getRhsContract());
    add.replaceAllUsesWith(sum.getResult());
    add.erase();
    dot.erase();
  }

  /// Whether a value is in memory whatever is fused, and nobody reads it after the sum.
  bool isFreeMemory(Value value, AddOp sum) {
    for (Operation *user : value.getUsers())
      if (user != sum && (user->getBlock() != sum->getBlock() || !user->isBeforeInBlock(sum) ||
                          isa<ReshapeOp>(user)))
        return false; // Read later, or perhaps: a reshape is a view of the same memory.
    if (auto argument = dyn_cast<BlockArgument>(value))
      return bool(getOperation().getArgAttr(argument.getArgNumber(), attr::kDonate));
    Operation *producer = value.getDefiningOp();
    if (isa<func::CallOp>(producer) || getGemmForm(producer))
      return true;
    auto fusible = dyn_cast<FusibleOp>(producer);
    if (!fusible) // An instruction of its own.
      return true;
    FusionKind kind = fusible.getFusionKind();
    bool isComputed = kind == FusionKind::elementwise || kind == FusionKind::reduction ||
                      kind == FusionKind::opaque;
    return isComputed && (!value.hasOneUse() || kind == FusionKind::opaque);
  }
};
} // namespace
