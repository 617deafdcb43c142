//===- CanonicalizeDots.cpp - matrix products in a form a GEMM takes ------===//
#include "dialects/graph/Transforms/GemmForm.h"
#include "dialects/graph/Transforms/Passes.h"

#include "mlir/Pass/Pass.h"
#include "mlir/Transforms/GreedyPatternRewriteDriver.h"

namespace minigptc::graph {
#define GEN_PASS_DEF_GRAPHCANONICALIZEDOTS
#include "dialects/graph/Transforms/Passes.h.inc"
} // namespace minigptc::graph

using namespace mlir;
using namespace minigptc::graph;

namespace {
bool isGemm(DotGeneralOp dot) {
  return isGemmType(cast<RankedTensorType>(dot.getLhs().getType()).getElementType());
}

/// An operand of a dot_general and the roles of its dimensions.
struct Side {
  Value value;
  SmallVector<int64_t> batch, contract;

  ArrayRef<int64_t> shape() const { return cast<RankedTensorType>(value.getType()).getShape(); }
  SmallVector<int64_t> free() const { return getFreeDims(shape().size(), batch, contract); }
  bool collapsible() const { return areCollapsible(shape(), contract); }
  /// Batching, free, contracted dimensions, in that order.
  SmallVector<int64_t> order() const {
    SmallVector<int64_t> dims(batch);
    llvm::append_range(dims, free());
    llvm::append_range(dims, contract);
    return dims;
  }
  bool isPacked() const { return llvm::is_sorted(order()); }
};

Side lhsOf(DotGeneralOp dot) {
  return {dot.getLhs(), llvm::to_vector(dot.getLhsBatch()), llvm::to_vector(dot.getLhsContract())};
}
Side rhsOf(DotGeneralOp dot) {
  return {dot.getRhs(), llvm::to_vector(dot.getRhsBatch()), llvm::to_vector(dot.getRhsContract())};
}

void replace(PatternRewriter &rewriter, DotGeneralOp dot, const Side &lhs, const Side &rhs) {
  rewriter.replaceOpWithNewOp<DotGeneralOp>(dot, dot.getType(), lhs.value, rhs.value, lhs.batch,
                                            rhs.batch, lhs.contract, rhs.contract);
}

/// dot(transpose(x)) → dot(x), where the order of the free dimensions, which is
/// the result's, stays.
bool foldTranspose(Side &side) {
  auto transpose = side.value.getDefiningOp<TransposeOp>();
  if (!transpose)
    return false;
  ArrayRef<int64_t> permutation = transpose.getPermutation();
  auto source = [&](SmallVector<int64_t> dims) {
    for (int64_t &dim : dims)
      dim = permutation[dim];
    return dims;
  };
  Side folded = {transpose.getOperand(), source(side.batch), source(side.contract)};
  SmallVector<int64_t> free = source(side.free());
  llvm::erase_if(free, [&](int64_t dim) { return folded.shape()[dim] == 1; });
  if (!llvm::is_sorted(free))
    return false;
  // Dimensions of size 1 are named in the result's shape, too: they may move
  // only if no other moves past them.
  SmallVector<int64_t> sizes, foldedSizes;
  for (int64_t dim : side.free())
    sizes.push_back(side.shape()[dim]);
  for (int64_t dim : folded.free())
    foldedSizes.push_back(folded.shape()[dim]);
  if (sizes != foldedSizes)
    return false;
  side = folded;
  return true;
}

struct FoldTransposes : OpRewritePattern<DotGeneralOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(DotGeneralOp dot, PatternRewriter &rewriter) const override {
    if (!isGemm(dot))
      return failure();
    Side lhs = lhsOf(dot), rhs = rhsOf(dot);
    bool foldedLhs = foldTranspose(lhs), foldedRhs = foldTranspose(rhs);
    if (!foldedLhs && !foldedRhs)
      return failure();
    replace(rewriter, dot, lhs, rhs);
    return success();
  }
};

/// transpose(dot(a, b)) → dot(b, a), where the transpose moves the free dimensions of
/// b before those of a: the gradient of a matrix that is read transposed.
struct FoldResultTranspose : OpRewritePattern<TransposeOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(TransposeOp transpose, PatternRewriter &rewriter) const override {
    auto dot = transpose.getOperand().getDefiningOp<DotGeneralOp>();
    if (!dot || !dot->hasOneUse() || !isGemm(dot))
      return failure();
    Side lhs = lhsOf(dot), rhs = rhsOf(dot);
    int64_t numBatch = lhs.batch.size(), numLhs = lhs.free().size(), numRhs = rhs.free().size();
    SmallVector<int64_t> swapped = llvm::to_vector(llvm::seq(int64_t(0), numBatch));
    llvm::append_range(swapped, llvm::seq(numBatch + numLhs, numBatch + numLhs + numRhs));
    llvm::append_range(swapped, llvm::seq(numBatch, numBatch + numLhs));
    if (transpose.getPermutation() != ArrayRef(swapped))
      return failure();
    rewriter.replaceOpWithNewOp<DotGeneralOp>(transpose, transpose.getType(), rhs.value, lhs.value,
                                              rhs.batch, lhs.batch, rhs.contract, lhs.contract);
    return success();
  }
};

/// Puts the batching dimensions first and the contracted ones last, in the order in which they
/// are named: all free dimensions are one run then.
void packContraction(PatternRewriter &rewriter, Location loc, Side &side) {
  SmallVector<int64_t> permutation = side.order();
  auto type = cast<RankedTensorType>(side.value.getType());
  SmallVector<int64_t> shape;
  for (int64_t dim : permutation)
    shape.push_back(type.getDimSize(dim));
  side.value = TransposeOp::create(rewriter, loc, type.clone(shape), side.value, permutation);
  for (auto [i, dim] : llvm::enumerate(side.batch))
    dim = i;
  for (auto [i, dim] : llvm::enumerate(side.contract))
    dim = int64_t(permutation.size() - side.contract.size() + i);
}

/// Names the contracted pairs in the order of one side's dimensions.
void sortContraction(Side &by, Side &other) {
  SmallVector<std::pair<int64_t, int64_t>> pairs;
  for (auto [a, b] : llvm::zip(by.contract, other.contract))
    pairs.emplace_back(a, b);
  llvm::sort(pairs);
  for (auto [i, pair] : llvm::enumerate(pairs))
    std::tie(by.contract[i], other.contract[i]) = pair;
}

/// Makes the contracted dimensions one K on both sides: reorders the pairs if
/// that is enough, else transposes the operands that stand in the way.
struct MakeOneK : OpRewritePattern<DotGeneralOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(DotGeneralOp dot, PatternRewriter &rewriter) const override {
    if (!isGemm(dot) || getGemmForm(dot))
      return failure();
    Side lhs = lhsOf(dot), rhs = rhsOf(dot);
    // The order of the larger operand is the one that needs no packing, if any.
    bool lhsLarger = cast<RankedTensorType>(lhs.value.getType()).getNumElements() >=
                     cast<RankedTensorType>(rhs.value.getType()).getNumElements();
    Side &large = lhsLarger ? lhs : rhs, &small = lhsLarger ? rhs : lhs;
    sortContraction(large, small);
    if (!large.collapsible())
      sortContraction(small, large);
    if (!large.collapsible())
      packContraction(rewriter, dot.getLoc(), large);
    if (!small.collapsible())
      packContraction(rewriter, dot.getLoc(), small);
    replace(rewriter, dot, lhs, rhs);
    return success();
  }
};

/// Packs operands that no library takes as they lie; see GemmPacking.
struct PackOperands : OpRewritePattern<DotGeneralOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(DotGeneralOp dot, PatternRewriter &rewriter) const override {
    std::optional<GemmForm> form = getGemmForm(dot);
    GemmPacking packing = form ? getGemmPacking(*form) : GemmPacking();
    Side lhs = lhsOf(dot), rhs = rhsOf(dot);
    bool packsLhs = packing.lhs && !lhs.isPacked(), packsRhs = packing.rhs && !rhs.isPacked();
    if (packsLhs)
      packContraction(rewriter, dot.getLoc(), lhs);
    if (packsRhs)
      packContraction(rewriter, dot.getLoc(), rhs);
    if (!packsLhs && !packsRhs)
      return failure();
    replace(rewriter, dot, lhs, rhs);
    return success();
  }
};

/// A sum of no products.
struct FoldNoDepth : OpRewritePattern<DotGeneralOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(DotGeneralOp dot, PatternRewriter &rewriter) const override {
    ArrayRef<int64_t> shape = lhsOf(dot).shape();
    if (!llvm::any_of(dot.getLhsContract(), [&](int64_t dim) { return shape[dim] == 0; }))
      return failure();
    auto type = cast<RankedTensorType>(dot.getType());
    auto zero = DenseElementsAttr::get(type, rewriter.getZeroAttr(type.getElementType()));
    rewriter.replaceOpWithNewOp<ConstantOp>(dot, zero);
    return success();
  }
};

struct CanonicalizeDots : minigptc::graph::impl::GraphCanonicalizeDotsBase<CanonicalizeDots> {
  void runOnOperation() override {
    // Transposes are folded first: those that MakeOneK inserts must stay.
    RewritePatternSet fold(&getContext()), pack(&getContext());
    fold.add<FoldTransposes, FoldResultTranspose, FoldNoDepth>(&getContext());
    pack.add<MakeOneK, PackOperands>(&getContext());
    if (failed(applyPatternsGreedily(getOperation(), std::move(fold))) ||
        failed(applyPatternsGreedily(getOperation(), std::move(pack))))
      signalPassFailure();
  }
};
} // namespace
