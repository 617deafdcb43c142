//===- Builders.cpp - writing graph ops tersely ---------------------------===//
#include "dialects/graph/IR/Builders.h"

#include <limits>
#include <numeric>

using namespace mlir;
using namespace minigptc::graph;

DenseElementsAttr minigptc::graph::getSplatAttr(RankedTensorType type, double value) {
  Type element = type.getElementType();
  if (isa<FloatType>(element))
    return DenseElementsAttr::get(type, FloatAttr::get(element, value).getValue());
  unsigned width = element.getIntOrFloatBitWidth();
  if (width == 1)
    return DenseElementsAttr::get(type, APInt(1, value != 0));
  uint64_t bits = value < 0 ? uint64_t(int64_t(value)) : uint64_t(value);
  return DenseElementsAttr::get(type,
                                APInt(width, bits, /*isSigned=*/false, /*implicitTrunc=*/true));
}

SmallVector<int64_t> minigptc::graph::range(int64_t begin, int64_t end) {
  SmallVector<int64_t> result(std::max<int64_t>(end - begin, 0));
  std::iota(result.begin(), result.end(), begin);
  return result;
}

SmallVector<int64_t> minigptc::graph::otherDims(int64_t rank, ArrayRef<int64_t> dims) {
  SmallVector<int64_t> result;
  for (int64_t i = 0; i < rank; ++i)
    if (!llvm::is_contained(dims, i))
      result.push_back(i);
  return result;
}

Value GraphBuilder::integerSplat(RankedTensorType type, uint64_t value) {
  unsigned width = type.getElementType().getIntOrFloatBitWidth();
  APInt bits(width, value, /*isSigned=*/false, /*implicitTrunc=*/true);
  return make<ConstantOp>(cast<ElementsAttr>(DenseElementsAttr::get(type, bits)));
}

Value GraphBuilder::convert(Value value, Type element) {
  if (elementType(value) == element)
    return value;
  return make<ConvertOp>(tensorType(value).clone(element), value);
}

Value GraphBuilder::reshape(Value value, ArrayRef<int64_t> shape) {
  if (shapeOf(value) == shape)
    return value;
  return make<ReshapeOp>(tensorType(value).clone(shape), value);
}

Value GraphBuilder::transpose(Value value, ArrayRef<int64_t> permutation) {
  if (llvm::is_sorted(permutation))
    return value;
  return make<TransposeOp>(value, permutation);
}

Value GraphBuilder::broadcast(Value value, ArrayRef<int64_t> dims, ArrayRef<int64_t> shape) {
  if (shapeOf(value) == shape)
    return value;
  return make<BroadcastInDimOp>(tensorType(value).clone(shape), value, dims);
}

Value GraphBuilder::broadcastLeading(Value value, ArrayRef<int64_t> shape) {
  int64_t rank = int64_t(shape.size());
  return broadcast(value, range(rank - rankOf(value), rank), shape);
}

Value GraphBuilder::broadcastBack(Value reducedValue, Value like, ArrayRef<int64_t> reduced) {
  return broadcast(reducedValue, otherDims(rankOf(like), reduced), shapeOf(like));
}

Value GraphBuilder::slice(Value value, int64_t dim, int64_t start, int64_t limit, int64_t stride) {
  SmallVector<int64_t> starts(rankOf(value), 0), limits(shapeOf(value)), strides(rankOf(value), 1);
  starts[dim] = start;
  limits[dim] = limit;
  strides[dim] = stride;
  return make<SliceOp>(value, starts, limits, strides);
}

Value GraphBuilder::reduce(ReduceKind kind, Value value, ArrayRef<int64_t> dims) {
  if (dims.empty())
    return value;
  return make<ReduceOp>(kind, value, dims);
}

/// The least finite and the least positive normal number of f32 or f64.
static double lowest(Type type) {
  return type.isF64() ? std::numeric_limits<double>::lowest()
                      : double(std::numeric_limits<float>::lowest());
}
static double tiny(Type type) {
  return type.isF64() ? std::numeric_limits<double>::min()
                      : double(std::numeric_limits<float>::min());
}

GraphBuilder::ShiftedExponential GraphBuilder::shiftedExponential(Value x, ArrayRef<int64_t> dims) {
  // A finite maximum keeps -inf - max = -inf where all are -inf (and lets NaN through).
  Value max = maximum(reduce(ReduceKind::max, x, dims), lowest(elementType(x)));
  Value shifted = subtract(x, broadcastBack(max, x, dims));
  Value exponentials = exponential(shifted);
  return {max, shifted, exponentials, sum(exponentials, dims)};
}

Value GraphBuilder::normalize(const ShiftedExponential &e, ArrayRef<int64_t> dims) {
  // The sum is at least 1, but for a slice of -inf, where it is 0: 0 / tiny is 0.
  Value divisor = maximum(e.sum, tiny(elementType(e.sum)));
  // One division for a slice, and not one for each of its elements.
  Value factor = divide(1.0, divisor);
  return multiply(e.exponentials, broadcastBack(factor, e.exponentials, dims));
}
