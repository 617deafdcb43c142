//===- Contraction.cpp - kernels of reductions, products, gather, scatter -===//
#include "compiler/conversion/GraphToLoops/Loops.h"

using namespace mlir;
using namespace minigptc::graph;
using namespace minigptc::graph::kernel;

namespace {

Value neutral(ReduceKind kind, Scalars s, Type elementType) {
  Type type = getScalarType(elementType);
  unsigned width = type.getIntOrFloatBitWidth();
  bool isFloat = isa<FloatType>(type), isUnsignedType = isUnsigned(elementType);
  switch (kind) {
  case ReduceKind::sum: return isFloat ? s.real(type, 0.0) : s.integer(type, 0);
  case ReduceKind::prod: return isFloat ? s.real(type, 1.0) : s.integer(type, 1);
  case ReduceKind::any: return s.integer(type, 0);
  case ReduceKind::all: return s.integer(type, -1);
  case ReduceKind::max:
    if (isFloat)
      return s.infinity(type, /*negative=*/true);
    return s.integer(type, isUnsignedType ? APInt(width, 0) : APInt::getSignedMinValue(width));
  case ReduceKind::min:
    if (isFloat)
      return s.infinity(type, /*negative=*/false);
    return s.integer(type,
                     isUnsignedType ? APInt::getMaxValue(width) : APInt::getSignedMaxValue(width));
  }
  llvm_unreachable("all kinds are handled");
}

Value combine(ReduceKind kind, Scalars s, Type elementType, Value a, Value b) {
  bool isFloat = isa<FloatType>(elementType), isUnsignedType = isUnsigned(elementType);
  switch (kind) {
  case ReduceKind::sum:
    return isFloat ? s.create<arith::AddFOp>(a, b) : s.create<arith::AddIOp>(a, b);
  case ReduceKind::prod:
    return isFloat ? s.create<arith::MulFOp>(a, b) : s.create<arith::MulIOp>(a, b);
  case ReduceKind::any: return s.create<arith::OrIOp>(a, b);
  case ReduceKind::all: return s.create<arith::AndIOp>(a, b);
  case ReduceKind::max:
    if (isFloat)
      return s.create<arith::MaximumFOp>(a, b);
    return isUnsignedType ? s.create<arith::MaxUIOp>(a, b) : s.create<arith::MaxSIOp>(a, b);
  case ReduceKind::min:
    if (isFloat)
      return s.create<arith::MinimumFOp>(a, b);
    return isUnsignedType ? s.create<arith::MinUIOp>(a, b) : s.create<arith::MinSIOp>(a, b);
  }
  llvm_unreachable("all kinds are handled");
}

/// Operand indices from those that remain and those that disappear.
SmallVector<Value> mergeIndices(int64_t rank, ArrayRef<int64_t> dims, ValueRange atDims,
                                ValueRange others) {
  SmallVector<Value> merged(rank);
  for (auto [dim, index] : llvm::zip_equal(dims, atDims))
    merged[dim] = index;
  size_t next = 0;
  for (Value &index : merged)
    if (!index)
      index = others[next++];
  return merged;
}

SmallVector<int64_t> sizesAt(ArrayRef<int64_t> shape, ArrayRef<int64_t> dims) {
  return llvm::map_to_vector(dims, [&](int64_t dim) { return shape[dim]; });
}

Value emitReduce(ReduceOp op, Scalars s, ValueRange indices, Load load) {
  Type type = getElementType(op.getOperand());
  ArrayRef<int64_t> shape = getShape(op.getOperand());
  SmallVector<int64_t> dims(op.getDims());
  llvm::sort(dims);
  return emitFold(s, sizesAt(shape, dims), neutral(op.getKind(), s, type),
                  [&](ValueRange reduced, Value accumulated) {
                    auto source = mergeIndices(shape.size(), dims, reduced, indices);
                    return combine(op.getKind(), s, type, accumulated, load(0, source));
                  });
}

struct ReduceModel : ReductionKernelOp::ExternalModel<ReduceModel, ReduceOp> {
  SmallVector<int64_t> getReducedDims(Operation *op) const {
    SmallVector<int64_t> dims(cast<ReduceOp>(op).getDims());
    llvm::sort(dims);
    return dims;
  }
  Value emitNeutral(Operation *op, OpBuilder &builder) const {
    auto reduce = cast<ReduceOp>(op);
    return neutral(reduce.getKind(), {builder, op->getLoc()}, getElementType(reduce.getOperand()));
  }
  Value emitCombine(Operation *op, OpBuilder &builder, Value accumulated, Value element) const {
    auto reduce = cast<ReduceOp>(op);
    return combine(reduce.getKind(), {builder, op->getLoc()}, getElementType(reduce.getOperand()),
                   accumulated, element);
  }
};

/// One side's indices: batching and contracted ones are given, the rest follow
/// in the result.
SmallVector<Value> dotOperandIndices(int64_t rank, ArrayRef<int64_t> batchDims,
                                     ArrayRef<int64_t> contractDims, ValueRange batch,
                                     ValueRange contracted, ValueRange others) {
  SmallVector<int64_t> dims(batchDims);
  llvm::append_range(dims, contractDims);
  SmallVector<Value> known(batch);
  llvm::append_range(known, contracted);
  return mergeIndices(rank, dims, known, others);
}

Value emitDotGeneral(DotGeneralOp op, Scalars s, ValueRange indices, Load load) {
  ArrayRef<int64_t> lhs = getShape(op.getLhs()), rhs = getShape(op.getRhs());
  size_t numBatch = op.getLhsBatch().size();
  size_t numLhs = lhs.size() - numBatch - op.getLhsContract().size();
  ValueRange batch = indices.take_front(numBatch);
  ValueRange lhsOthers = indices.slice(numBatch, numLhs);
  ValueRange rhsOthers = indices.drop_front(numBatch + numLhs);
  Type type = getElementType(op.getResult());
  return emitFold(s, sizesAt(lhs, op.getLhsContract()), neutral(ReduceKind::sum, s, type),
                  [&](ValueRange k, Value accumulated) {
                    Value a = load(0, dotOperandIndices(lhs.size(), op.getLhsBatch(),
                                                        op.getLhsContract(), batch, k, lhsOthers));
                    Value b = load(1, dotOperandIndices(rhs.size(), op.getRhsBatch(),
                                                        op.getRhsContract(), batch, k, rhsOthers));
                    Value product = combine(ReduceKind::prod, s, type, a, b);
                    return combine(ReduceKind::sum, s, type, accumulated, product);
                  });
}

/// The index vector at `slice`, one index value per placed dimension.
SmallVector<Value> loadIndexVector(Scalars s, Value indexTensor, unsigned operand, ValueRange slice,
                                   size_t size, Load load) {
  SmallVector<Value> result;
  for (size_t i = 0; i < size; ++i) {
    SmallVector<Value> at(slice);
    at.push_back(s.index(i));
    result.push_back(s.toIndex(load(operand, at), getElementType(indexTensor)));
  }
  return result;
}

Value emitGather(GatherOp op, Scalars s, ValueRange indices, Load load) {
  ArrayRef<int64_t> shape = getShape(op.getOperand());
  size_t numSlices = getShape(op.getIndices()).size() - 1;
  SmallVector<Value> place = loadIndexVector(s, op.getIndices(), 1, indices.take_front(numSlices),
                                             op.getDims().size(), load);
  for (auto [index, dim] : llvm::zip_equal(place, op.getDims()))
    index = s.clamp(index, shape[dim] - 1);
  return load(0, mergeIndices(shape.size(), op.getDims(), place, indices.drop_front(numSlices)));
}

Value combineScatter(ScatterOp op, Scalars s, Value old, Value update) {
  if (op.getKind() == ScatterKind::update)
    return update;
  return combine(ReduceKind::sum, s, getElementType(op.getResult()), old, update);
}

struct ScatterModel : ScatterKernelOp::ExternalModel<ScatterModel, ScatterOp> {
  SmallVector<int64_t> getPlacedDims(Operation *op) const {
    return SmallVector<int64_t>(cast<ScatterOp>(op).getDims());
  }
  SmallVector<Value> emitPlace(Operation *op, OpBuilder &builder, ValueRange slice,
                               Load load) const {
    auto scatter = cast<ScatterOp>(op);
    return loadIndexVector({builder, op->getLoc()}, scatter.getIndices(), 1, slice,
                           scatter.getDims().size(), load);
  }
  Value emitCombine(Operation *op, OpBuilder &builder, Value old, Value update) const {
    return combineScatter(cast<ScatterOp>(op), {builder, op->getLoc()}, old, update);
  }
};

/// One element by itself: walks over all slices and combines those placed here.
/// Emitters use `ScatterKernelOp` wherever the whole result is wanted.
Value emitScatter(ScatterOp op, Scalars s, ValueRange indices, Load load) {
  ArrayRef<int64_t> slices = getShape(op.getIndices()).drop_back();
  SmallVector<Value> inSlice;
  for (auto [dim, index] : llvm::enumerate(indices))
    if (!llvm::is_contained(op.getDims(), int64_t(dim)))
      inSlice.push_back(index);
  Type type = getScalarType(getElementType(op.getResult()));
  return emitFold(s, slices, load(0, indices), [&](ValueRange slice, Value accumulated) {
    Value here;
    auto place = loadIndexVector(s, op.getIndices(), 1, slice, op.getDims().size(), load);
    for (auto [index, dim] : llvm::zip_equal(place, op.getDims()))
      here = s.both(here, s.compare(arith::CmpIPredicate::eq, index, indices[dim]));
    auto combined = [&] {
      SmallVector<Value> at(slice);
      llvm::append_range(at, inSlice);
      return combineScatter(op, s, accumulated, load(2, at));
    };
    return emitIf(s, here, type, combined, [&] { return accumulated; });
  });
}

} // namespace

void minigptc::graph::kernel::attachContractionModels(MLIRContext *context) {
  attach<ReduceOp, emitReduce>(context);
  attach<DotGeneralOp, emitDotGeneral>(context);
  attach<GatherOp, emitGather>(context);
  attach<ScatterOp, emitScatter>(context);
  ReduceOp::attachInterface<ReduceModel>(*context);
  ScatterOp::attachInterface<ScatterModel>(*context);
}
