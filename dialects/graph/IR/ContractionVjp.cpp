//===- ContractionVjp.cpp - derivatives of reductions, products, gathers --===//
#include "dialects/graph/IR/VjpHelpers.h"

using namespace mlir;
using namespace minigptc::graph;

//===----------------------------------------------------------------------===//
// reduce
//===----------------------------------------------------------------------===//

/// The elements that equal the extremum share the cotangent.
static Value extremumVjp(GraphBuilder &b, Value operand, Value result, Value cotangent,
                         ArrayRef<int64_t> dims) {
  Type wide = b.accumulatorType(operand);
  Value equal = b.compare(CompareDirection::EQ, operand, b.broadcastBack(result, operand, dims));
  Value count = b.sum(b.convert(equal, wide), dims);
  Value share = b.convert(b.divide(b.convert(cotangent, wide), count), elementType(operand));
  return keepWhere(b, equal, b.broadcastBack(share, operand, dims));
}

/// The product of the other elements, also where some are zero: with one zero
/// only its own derivative is not zero, with two none is.
static Value productVjp(GraphBuilder &b, Value operand, Value cotangent, ArrayRef<int64_t> dims) {
  Type wide = b.accumulatorType(operand);
  Value x = b.convert(operand, wide);
  Value isZero = b.compare(CompareDirection::EQ, x, 0);
  Value nonZero = b.select(isZero, b.onesLike(x), x);
  Value zeros = b.reduceAndBroadcast(ReduceKind::sum, b.convert(isZero, wide), dims);
  Value product = b.reduceAndBroadcast(ReduceKind::prod, nonZero, dims);
  Value atZero = keepWhere(b, b.compare(CompareDirection::EQ, zeros, 1), product);
  Value elsewhere =
      keepWhere(b, b.compare(CompareDirection::EQ, zeros, 0), b.divide(product, nonZero));
  Value others = b.select(isZero, atZero, elsewhere);
  Value spread = b.broadcastBack(b.convert(cotangent, wide), operand, dims);
  return b.convert(b.multiply(spread, others), elementType(operand));
}

MINIGPTC_VJP(ReduceOp) {
  GraphBuilder b(builder, getLoc());
  switch (getKind()) {
  case ReduceKind::sum:
    gradients[0] = b.broadcastBack(cotangents[0], getOperand(), getDims());
    return success();
  case ReduceKind::max:
  case ReduceKind::min:
    gradients[0] = extremumVjp(b, getOperand(), getResult(), cotangents[0], getDims());
    return success();
  case ReduceKind::prod:
    gradients[0] = productVjp(b, getOperand(), cotangents[0], getDims());
    return success();
  case ReduceKind::any:
  case ReduceKind::all: return success(); // i1: never asked for
  }
  return success();
}

//===----------------------------------------------------------------------===//
// dot_general
//===----------------------------------------------------------------------===//

namespace {

/// One side of a product: its dimensions by role.
struct Side {
  Value value;
  SmallVector<int64_t> batch, contract, free;

  Side(Value value, ArrayRef<int64_t> batch, ArrayRef<int64_t> contract)
      : value(value), batch(batch), contract(contract) {
    SmallVector<int64_t> others(batch);
    llvm::append_range(others, contract);
    free = otherDims(rankOf(value), others);
  }
};

/// d(own) = cotangent · other, contracted over the other's free dimensions,
/// which are at `freeOfOther` in the cotangent. The product's dimensions are
/// batch, own free, contract; the last in the order of the other's dimensions. A cotangent of the
/// accumulator's type is that of a product that was not rounded yet: rounded is the derivative.
Value sideVjp(GraphBuilder &b, const Side &own, const Side &other, Value cotangent, bool ownIsLhs) {
  int64_t batch = own.batch.size(), ownFree = own.free.size(), otherFree = other.free.size();
  int64_t otherAt = ownIsLhs ? batch + ownFree : batch;
  SmallVector<int64_t> cotangentBatch = range(0, batch);
  SmallVector<int64_t> cotangentContract = range(otherAt, otherAt + otherFree);

  // Where each dimension of `own` comes from in the product.
  SmallVector<int64_t> permutation(rankOf(own.value));
  SmallVector<int64_t> otherContractSorted(other.contract);
  llvm::sort(otherContractSorted);
  auto place = [&](int64_t first, int64_t last) {
    for (auto [i, dim] : llvm::enumerate(own.batch))
      permutation[dim] = i;
    for (auto [i, dim] : llvm::enumerate(own.free))
      permutation[dim] = first + i;
    for (auto [dim, otherDim] : llvm::zip(own.contract, other.contract))
      permutation[dim] =
          last + (llvm::find(otherContractSorted, otherDim) - otherContractSorted.begin());
  };
  int64_t contract = own.contract.size();
  Value factor = b.convert(other.value, elementType(cotangent)), product;
  if (ownIsLhs) {
    product = b.dot(cotangent, factor, cotangentBatch, other.batch, cotangentContract, other.free);
    place(batch, batch + ownFree);
  } else {
    // The other side first, so that a weight's gradient xᵀ·g comes out as [in, out].
    product = b.dot(factor, cotangent, other.batch, cotangentBatch, other.free, cotangentContract);
    place(batch + contract, batch);
  }
  return b.convert(b.transpose(product, permutation), elementType(own.value));
}

} // namespace

MINIGPTC_VJP(DotGeneralOp) {
  GraphBuilder b(builder, getLoc());
  Side lhs(getLhs(), getLhsBatch(), getLhsContract());
  Side rhs(getRhs(), getRhsBatch(), getRhsContract());
  if (wanted[0])
    gradients[0] = sideVjp(b, lhs, rhs, cotangents[0], /*ownIsLhs=*/true);
  if (wanted[1])
    gradients[1] = sideVjp(b, rhs, lhs, cotangents[0], /*ownIsLhs=*/false);
  return success();
}

//===----------------------------------------------------------------------===//
// gather, scatter
//===----------------------------------------------------------------------===//

namespace {

/// Per index vector: a tensor of the indices' type, with the largest valid
/// index of each column.
Value lastIndices(GraphBuilder &b, Value indices, ArrayRef<int64_t> shape, ArrayRef<int64_t> dims) {
  RankedTensorType type = tensorType(indices);
  SmallVector<Value> columns;
  SmallVector<int64_t> columnShape(type.getShape());
  columnShape.back() = 1;
  for (int64_t dim : dims)
    columns.push_back(
        b.splat(b.tensor(columnShape, type.getElementType()), double(shape[dim] - 1)));
  return columns.size() == 1 ? columns.front() : b.concatenate(columns, type.getRank() - 1);
}

/// [indices without the last dimension] i1: the slice lies inside.
Value isInside(GraphBuilder &b, Value indices, ArrayRef<int64_t> shape, ArrayRef<int64_t> dims) {
  Value last = lastIndices(b, indices, shape, dims);
  Value inside = b.logicalAnd(b.compare(CompareDirection::GE, indices, 0),
                              b.compare(CompareDirection::LE, indices, last));
  return b.reduce(ReduceKind::all, inside, {rankOf(indices) - 1});
}

/// [indices without the last dimension] i1: no later slice has the same index.
/// Numbers of slices are scattered and read back.
Value isLastWriter(GraphBuilder &b, Value indices, ArrayRef<int64_t> shape,
                   ArrayRef<int64_t> dims) {
  SmallVector<int64_t> written = llvm::map_to_vector(dims, [&](int64_t dim) { return shape[dim]; });
  ArrayRef<int64_t> slices = shapeOf(indices).drop_back();
  int64_t count = ShapedType::getNumElements(slices);
  Value numbers = b.reshape(b.iota(b.tensor({count}, b.i32()), 0), slices);
  Value nobody = b.splat(b.tensor(written, b.i32()), -1);
  SmallVector<int64_t> all = range(0, dims.size());
  Value winners = b.make<ScatterOp>(ScatterKind::update, nobody, indices, numbers, all);
  return b.compare(CompareDirection::EQ, numbers, b.make<GatherOp>(winners, indices, all));
}

} // namespace

// Indices are clamped by a gather, but dropped by a scatter.
MINIGPTC_VJP(GatherOp) {
  GraphBuilder b(builder, getLoc());
  Value last = lastIndices(b, getIndices(), shapeOf(getOperand()), getDims());
  Value clamped = b.make<ClampOp>(b.zerosLike(last), getIndices(), last);
  Type narrow = elementType(getOperand()), wide = b.accumulatorType(getOperand());
  Value zeros = b.splat(b.tensor(shapeOf(getOperand()), wide), 0);
  Value sum = b.make<ScatterOp>(ScatterKind::add, zeros, clamped, b.convert(cotangents[0], wide),
                                getDims());
  gradients[0] = b.convert(sum, narrow);
  return success();
}

MINIGPTC_VJP(ScatterOp) {
  GraphBuilder b(builder, getLoc());
  bool replaces = getKind() == ScatterKind::update;
  if (wanted[0])
    gradients[0] = replaces ? b.make<ScatterOp>(ScatterKind::update, cotangents[0], getIndices(),
                                                b.zerosLike(getUpdates()), getDims())
                            : cotangents[0];
  if (!wanted[2])
    return success();
  ArrayRef<int64_t> shape = shapeOf(getOperand());
  Value counts = isInside(b, getIndices(), shape, getDims());
  if (replaces)
    counts = b.logicalAnd(counts, isLastWriter(b, getIndices(), shape, getDims()));
  Value gathered = b.make<GatherOp>(cotangents[0], getIndices(), getDims());
  Value mask = b.broadcast(counts, range(0, rankOf(counts)), shapeOf(gathered));
  gradients[2] = keepWhere(b, mask, gathered);
  return success();
}
