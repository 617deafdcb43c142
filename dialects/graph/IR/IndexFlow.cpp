//===- IndexFlow.cpp - where ids come from, and what they may be ----------===//
#include "dialects/graph/IR/Builders.h"

using namespace mlir;
using namespace minigptc::graph;

IndexBox IndexBox::whole(ArrayRef<int64_t> shape) {
  return {SmallVector<int64_t>(shape.size(), 0), SmallVector<int64_t>(shape),
          SmallVector<int64_t>(shape.size(), 1)};
}

LogicalResult IndexCheckAttr::verify(function_ref<InFlightDiagnostic()> emitError, int64_t bound,
                                     std::optional<int64_t>, DenseI64ArrayAttr start,
                                     DenseI64ArrayAttr limit, DenseI64ArrayAttr strides) {
  if (bound < 1)
    return emitError() << "an index check has the bound " << bound << ", which nothing can keep";
  if (!start)
    return success();
  if (start.size() != limit.size() || start.size() != strides.size())
    return emitError() << "an index check's start, limit and strides are of different sizes";
  for (auto [first, end, stride] :
       llvm::zip(start.asArrayRef(), limit.asArrayRef(), strides.asArrayRef()))
    if (first < 0 || end <= first || stride < 1)
      return emitError() << "an index check is of no elements";
  return success();
}

//===----------------------------------------------------------------------===//
// What indices may be
//===----------------------------------------------------------------------===//

SmallVector<IndexDomain> EmbeddingOp::getIndexDomains() {
  return {{getIdsMutable().getOperandNumber(), shapeOf(getTable())[0]}};
}

static std::optional<int64_t> toSigned(std::optional<uint64_t> value) {
  return value ? std::optional(int64_t(*value)) : std::nullopt;
}

SmallVector<IndexDomain> SoftmaxCrossEntropyOp::getIndexDomains() {
  return {{getTargetsMutable().getOperandNumber(), shapeOf(getLogits()).back(),
           toSigned(getIgnoreIndex())}};
}

SmallVector<IndexDomain> LinearCrossEntropyOp::getIndexDomains() {
  return {{getTargetsMutable().getOperandNumber(), shapeOf(getWeight())[getTransposed() ? 0 : 1],
           toSigned(getIgnoreIndex())}};
}

//===----------------------------------------------------------------------===//
// Where elements come from
//===----------------------------------------------------------------------===//

/// A stride that leads to no second element is 1.
static IndexBox withPlainStrides(IndexBox box) {
  for (size_t dim = 0; dim < box.start.size(); ++dim)
    if (box.limit[dim] == box.start[dim] + 1)
      box.strides[dim] = 1;
  return box;
}

std::optional<IndexBox> ReshapeOp::getSourceBox(unsigned, const IndexBox &box) {
  if (!box.isWhole(shapeOf(getResult())))
    return std::nullopt;
  return IndexBox::whole(shapeOf(getOperand()));
}

std::optional<IndexBox> TransposeOp::getSourceBox(unsigned, const IndexBox &box) {
  IndexBox source = box;
  for (auto [to, from] : llvm::enumerate(getPermutation())) {
    source.start[from] = box.start[to];
    source.limit[from] = box.limit[to];
    source.strides[from] = box.strides[to];
  }
  return source;
}

std::optional<IndexBox> BroadcastInDimOp::getSourceBox(unsigned, const IndexBox &box) {
  IndexBox source = IndexBox::whole(shapeOf(getOperand()));
  for (auto [from, to] : llvm::enumerate(getDims()))
    if (shapeOf(getOperand())[from] == shapeOf(getResult())[to]) {
      source.start[from] = box.start[to];
      source.limit[from] = box.limit[to];
      source.strides[from] = box.strides[to];
    }
  return source;
}

std::optional<IndexBox> SliceOp::getSourceBox(unsigned, const IndexBox &box) {
  IndexBox source = box;
  for (auto [dim, stride] : llvm::enumerate(getStrides())) {
    source.start[dim] = getStart()[dim] + box.start[dim] * stride;
    source.limit[dim] = getStart()[dim] + (box.limit[dim] - 1) * stride + 1;
    source.strides[dim] = box.strides[dim] * stride;
  }
  return withPlainStrides(std::move(source));
}

std::optional<IndexBox> ConcatenateOp::getSourceBox(unsigned operand, const IndexBox &box) {
  const int64_t dim = int64_t(getDim()), size = shapeOf(getInputs()[operand])[dim];
  int64_t offset = 0;
  for (Value before : getInputs().take_front(operand))
    offset += shapeOf(before)[dim];
  IndexBox source = box;
  int64_t &start = source.start[dim], &limit = source.limit[dim];
  const int64_t stride = box.strides[dim];
  start -= offset;
  limit = std::min(limit - offset, size);
  if (start < 0) // The first one of the progression that is not before the operand.
    start += (-start + stride - 1) / stride * stride;
  if (start >= limit)
    return std::nullopt;
  limit -= (limit - 1 - start) % stride;
  return withPlainStrides(std::move(source));
}

/// Integers keep their value, or lose what no index has.
std::optional<IndexBox> ConvertOp::getSourceBox(unsigned, const IndexBox &box) {
  auto isIndex = [](Value value) {
    return isa<IntegerType>(elementType(value)) && !elementType(value).isInteger(1);
  };
  return isIndex(getOperand()) && isIndex(getResult()) ? std::optional(box) : std::nullopt;
}
