//===- AttentionVjp.cpp - the derivative of attention ---------------------===//
#include "dialects/graph/IR/VjpHelpers.h"

using namespace mlir;
using namespace minigptc::graph;

/// One more element at the end of the last dimension.
static Value appendColumn(GraphBuilder &b, Value value, Value column) {
  return b.concatenate({value, column}, rankOf(value) - 1);
}

static Value constantColumn(GraphBuilder &b, Value like, double element) {
  SmallVector<int64_t> shape(shapeOf(like));
  shape.back() = 1;
  return b.splat(tensorType(like).clone(shape), element);
}

// The backward pass computes, per row, dS = P·(dO·vᵀ - Σ dO·O). A cotangent c of
// the log-sum-exp adds P·c to dS: exactly what one more column does that is 1 in
// v, 0 in O and c in dO. It occurs only in gradients of gradients.
MINIGPTC_VJP(AttentionOp) {
  GraphBuilder b(builder, getLoc());
  Value value = getValue(), result = getResult();
  Value cotangent = cotangents[0] ? cotangents[0] : b.zerosLike(result);
  int64_t width = shapeOf(value).back();
  if (cotangents[1]) {
    Value perRow = b.transpose(b.convert(cotangents[1], elementType(value)), {0, 2, 1});
    SmallVector<int64_t> shape(shapeOf(perRow));
    shape.push_back(1);
    value = appendColumn(b, value, constantColumn(b, value, 1));
    result = appendColumn(b, result, constantColumn(b, result, 0));
    cotangent = appendColumn(b, cotangent, b.reshape(perRow, shape));
  }
  auto grad = AttentionGradOp::create(
      builder, getLoc(), TypeRange{getQuery().getType(), getKey().getType(), value.getType()},
      getQuery(), getKey(), value, result, getLogSumExp(), cotangent, getMask(), getQuerySegments(),
      getKeySegments(), getQueryOffset(), getScaleAttr(), getMaskKindAttr(), getWindowAttr());
  gradients[0] = grad.getQueryGrad();
  gradients[1] = grad.getKeyGrad();
  gradients[2] = cotangents[1] ? b.slice(grad.getValueGrad(), 3, 0, width) : grad.getValueGrad();
  return success();
}
