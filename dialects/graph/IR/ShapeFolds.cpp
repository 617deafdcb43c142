//===- ShapeFolds.cpp - folders and canonicalisations of data movement ----===//
#include "dialects/graph/IR/Builders.h"
#include "dialects/graph/IR/Folding.h"
#include "dialects/graph/IR/Graph.h"
#include "mlir/IR/PatternMatch.h"

using namespace mlir;
using namespace minigptc::graph;

OpFoldResult ConstantOp::fold(FoldAdaptor) { return getValue(); }

/// A splat under another shape.
static Attribute resizeSplat(Attribute constant, RankedTensorType type) {
  auto dense = dyn_cast_or_null<DenseElementsAttr>(constant);
  return dense && dense.isSplat() && type.getNumElements() > 0 ? dense.resizeSplat(type) : nullptr;
}

static bool isIdentity(ArrayRef<int64_t> dims) {
  for (size_t i = 0; i < dims.size(); ++i)
    if (dims[i] != int64_t(i))
      return false;
  return true;
}

/// dims[inner[0]], dims[inner[1]], …
static SmallVector<int64_t> compose(ArrayRef<int64_t> dims, ArrayRef<int64_t> inner) {
  return llvm::map_to_vector(inner, [&](int64_t dim) { return dims[dim]; });
}

OpFoldResult BroadcastInDimOp::fold(FoldAdaptor adaptor) {
  if (getOperand().getType() == getType() && isIdentity(getDims()))
    return getOperand();
  if (Attribute splat = resizeSplat(adaptor.getOperand(), getType()))
    return splat;
  auto inner = getOperand().getDefiningOp<BroadcastInDimOp>();
  if (!inner)
    return nullptr;
  setDims(compose(getDims(), inner.getDims()));
  setOperand(inner.getOperand());
  return getResult();
}

OpFoldResult ReshapeOp::fold(FoldAdaptor adaptor) {
  if (getOperand().getType() == getType())
    return getOperand();
  if (DenseElementsAttr constant = getFoldable(adaptor.getOperand()))
    return constant.reshape(getType());
  return nullptr;
}

OpFoldResult TransposeOp::fold(FoldAdaptor adaptor) {
  if (isIdentity(getPermutation()))
    return getOperand();
  return resizeSplat(adaptor.getOperand(), getType());
}

// A block as large as the whole starts at 0, whatever is asked for.
OpFoldResult DynamicSliceOp::fold(FoldAdaptor) {
  return getOperand().getType() == getType() ? getOperand() : Value();
}

OpFoldResult DynamicUpdateSliceOp::fold(FoldAdaptor) {
  return getUpdate().getType() == getType() ? getUpdate() : Value();
}

namespace {
struct ReshapeOfReshape : OpRewritePattern<ReshapeOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(ReshapeOp op, PatternRewriter &rewriter) const override {
    auto inner = op.getOperand().getDefiningOp<ReshapeOp>();
    if (!inner)
      return failure();
    rewriter.replaceOpWithNewOp<ReshapeOp>(op, op.getType(), inner.getOperand());
    return success();
  }
};

struct TransposeOfTranspose : OpRewritePattern<TransposeOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(TransposeOp op, PatternRewriter &rewriter) const override {
    auto inner = op.getOperand().getDefiningOp<TransposeOp>();
    if (!inner)
      return failure();
    rewriter.replaceOpWithNewOp<TransposeOp>(op, inner.getOperand(),
                                             compose(inner.getPermutation(), op.getPermutation()));
    return success();
  }
};
} // namespace

void ReshapeOp::getCanonicalizationPatterns(RewritePatternSet &patterns, MLIRContext *context) {
  patterns.add<ReshapeOfReshape>(context);
}
void TransposeOp::getCanonicalizationPatterns(RewritePatternSet &patterns, MLIRContext *context) {
  patterns.add<TransposeOfTranspose>(context);
}

OpFoldResult SliceOp::fold(FoldAdaptor adaptor) {
  // The same type means that no element was left out.
  if (getOperand().getType() == getType())
    return getOperand();
  if (Attribute splat = resizeSplat(adaptor.getOperand(), getType()))
    return splat;
  auto inner = getOperand().getDefiningOp<SliceOp>();
  if (!inner)
    return nullptr;
  SmallVector<int64_t> start, limit, strides;
  for (auto [outerStart, outerLimit, outerStride, innerStart, innerLimit, innerStride] :
       llvm::zip_equal(getStart(), getLimit(), getStrides(), inner.getStart(), inner.getLimit(),
                       inner.getStrides())) {
    start.push_back(std::min(innerStart + outerStart * innerStride, innerLimit));
    limit.push_back(std::min(innerStart + outerLimit * innerStride, innerLimit));
    strides.push_back(innerStride * outerStride);
  }
  setStart(start);
  setLimit(limit);
  setStrides(strides);
  setOperand(inner.getOperand());
  return getResult();
}

OpFoldResult ConcatenateOp::fold(FoldAdaptor adaptor) {
  if (getInputs().size() == 1)
    return getInputs().front();
  Attribute first = adaptor.getInputs().front();
  bool same = llvm::all_of(adaptor.getInputs(), [&](Attribute input) {
    auto a = dyn_cast_or_null<DenseElementsAttr>(first),
         b = dyn_cast_or_null<DenseElementsAttr>(input);
    return a && b && a.isSplat() && b.isSplat() &&
           a.getSplatValue<Attribute>() == b.getSplatValue<Attribute>();
  });
  return same ? resizeSplat(first, getType()) : nullptr;
}

OpFoldResult PadOp::fold(FoldAdaptor adaptor) {
  auto allZero = [](ArrayRef<int64_t> list) {
    return llvm::all_of(list, [](int64_t n) { return n == 0; });
  };
  if (allZero(getLow()) && allZero(getHigh()) && getOperand().getType() == getType())
    return getOperand();
  auto operand = dyn_cast_or_null<DenseElementsAttr>(adaptor.getOperand());
  auto value = dyn_cast_or_null<DenseElementsAttr>(adaptor.getValue());
  if (operand && value && operand.isSplat() &&
      operand.getSplatValue<Attribute>() == value.getSplatValue<Attribute>())
    return resizeSplat(operand, getType());
  return nullptr;
}
