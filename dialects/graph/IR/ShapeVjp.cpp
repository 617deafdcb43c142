//===- ShapeVjp.cpp - derivatives of data movement ------------------------===//
//
// All of these are linear: nothing is saved but start indices.
//
//===----------------------------------------------------------------------===//
#include "dialects/graph/IR/VjpHelpers.h"

using namespace mlir;
using namespace minigptc::graph;

namespace {

Value padWithZeros(GraphBuilder &b, Value value, ArrayRef<int64_t> low, ArrayRef<int64_t> high,
                   ArrayRef<int64_t> interior) {
  return b.make<PadOp>(value, b.scalar(elementType(value), 0), low, high, interior);
}

SmallVector<int64_t> negated(ArrayRef<int64_t> values) {
  return llvm::map_to_vector(values, [](int64_t value) { return -value; });
}

} // namespace

// Sums over every result dimension that repeats.
MINIGPTC_VJP(BroadcastInDimOp) {
  GraphBuilder b(builder, getLoc());
  ArrayRef<int64_t> from = shapeOf(getOperand()), to = shapeOf(getResult());
  SmallVector<int64_t> repeated = otherDims(to.size(), getDims());
  for (auto [i, dim] : llvm::enumerate(getDims()))
    if (from[i] != to[dim])
      repeated.push_back(dim);
  llvm::sort(repeated);
  Value sum = repeated.empty() ? cotangents[0] : b.sum(cotangents[0], repeated);
  gradients[0] = b.reshape(sum, from);
  return success();
}

MINIGPTC_VJP(ReshapeOp) {
  gradients[0] = GraphBuilder(builder, getLoc()).reshape(cotangents[0], shapeOf(getOperand()));
  return success();
}

MINIGPTC_VJP(TransposeOp) {
  SmallVector<int64_t> inverse(getPermutation().size());
  for (auto [i, dim] : llvm::enumerate(getPermutation()))
    inverse[dim] = i;
  gradients[0] = GraphBuilder(builder, getLoc()).transpose(cotangents[0], inverse);
  return success();
}

MINIGPTC_VJP(SliceOp) {
  GraphBuilder b(builder, getLoc());
  SmallVector<int64_t> high, interior;
  for (auto [size, taken, start, stride] :
       llvm::zip(shapeOf(getOperand()), shapeOf(getResult()), getStart(), getStrides())) {
    int64_t covered = taken == 0 ? 0 : (taken - 1) * stride + 1;
    high.push_back(size - start - covered);
    interior.push_back(stride - 1);
  }
  gradients[0] = padWithZeros(b, cotangents[0], getStart(), high, interior);
  return success();
}

MINIGPTC_VJP(DynamicSliceOp) {
  GraphBuilder b(builder, getLoc());
  gradients[0] = b.make<DynamicUpdateSliceOp>(b.zerosLike(getOperand()), cotangents[0], getStart());
  return success();
}

MINIGPTC_VJP(DynamicUpdateSliceOp) {
  GraphBuilder b(builder, getLoc());
  if (wanted[0])
    gradients[0] =
        b.make<DynamicUpdateSliceOp>(cotangents[0], b.zerosLike(getUpdate()), getStart());
  if (wanted[1])
    gradients[1] = b.make<DynamicSliceOp>(cotangents[0], getStart(), shapeOf(getUpdate()));
  return success();
}

MINIGPTC_VJP(ConcatenateOp) {
  GraphBuilder b(builder, getLoc());
  int64_t dim = getDim(), start = 0;
  for (auto [i, input] : llvm::enumerate(getInputs())) {
    int64_t limit = start + shapeOf(input)[dim];
    if (wanted[i])
      gradients[i] = b.slice(cotangents[0], dim, start, limit);
    start = limit;
  }
  return success();
}

// The operand's elements are `interior` + 1 apart within the result without its
// margins; the value gets the sum of all others.
MINIGPTC_VJP(PadOp) {
  GraphBuilder b(builder, getLoc());
  ArrayRef<int64_t> shape = shapeOf(getOperand());
  if (wanted[0]) {
    SmallVector<int64_t> zeros(shape.size(), 0), limit, strides;
    for (auto [size, interior] : llvm::zip(shape, getInterior())) {
      limit.push_back(size == 0 ? 0 : (size - 1) * (interior + 1) + 1);
      strides.push_back(interior + 1);
    }
    Value inner = padWithZeros(b, cotangents[0], negated(getLow()), negated(getHigh()), zeros);
    gradients[0] = b.make<SliceOp>(inner, zeros, limit, strides);
  }
  if (wanted[1]) {
    Value operandIsHere = b.splat(b.tensor(shape, b.i1()), 0);
    Value isValue =
        b.make<PadOp>(operandIsHere, b.scalar(b.i1(), 1), getLow(), getHigh(), getInterior());
    gradients[1] = b.sum(keepWhere(b, isValue, cotangents[0]), range(0, shape.size()));
  }
  return success();
}
