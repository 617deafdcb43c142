//===- Reductions.cpp - the loop order of reductions ----------------------===//
#include "compiler/conversion/GraphToLoops/Loops.h"
#include "compiler/target/cpu/ElementEmitter.h"

using namespace mlir;
using namespace minigptc;
using namespace minigptc::cpu;
using namespace minigptc::graph::kernel;

namespace {
/// The shape of a reduction's operand, and its indices.
struct Reduced {
  explicit Reduced(graph::ReductionKernelOp op)
      : operand(op->getOperand(0)), shape(getShape(operand)), dims(op.getReducedDims()) {}

  SmallVector<int64_t> sizes() const {
    return llvm::map_to_vector(dims, [&](int64_t dim) { return shape[dim]; });
  }
  bool reducesLast() const { return !dims.empty() && dims.back() == int64_t(shape.size()) - 1; }

  /// Operand indices from the result's and those along the reduced dimensions.
  SmallVector<Value> indices(ValueRange result, ValueRange reduced) const {
    SmallVector<Value> merged(shape.size());
    for (auto [dim, index] : llvm::zip_equal(dims, reduced))
      merged[dim] = index;
    size_t next = 0;
    for (Value &index : merged)
      if (!index)
        index = result[next++];
    return merged;
  }

  Value operand;
  ArrayRef<int64_t> shape;
  SmallVector<int64_t> dims;
};
} // namespace

Value ElementEmitter::reduction(graph::ReductionKernelOp op, ValueRange indices) {
  Reduced reduced(op);
  if (reduced.reducesLast())
    return rowReduction(op, indices);
  if (scf::ForOp loop = columnLoopOf(op, indices))
    return columnReduction(op, indices, loop);
  return sequentialReduction(op, indices);
}

Value ElementEmitter::sequentialReduction(graph::ReductionKernelOp op, ValueRange indices) {
  Reduced reduced(op);
  return emitFold(scalars(), reduced.sizes(), op.emitNeutral(builder),
                  [&](ValueRange at, Value accumulated) {
                    Value next = element(reduced.operand, reduced.indices(indices, at));
                    return op.emitCombine(builder, accumulated, next);
                  });
}

/// A loop along the last dimension, inside loops over the other reduced ones.
Value ElementEmitter::rowReduction(graph::ReductionKernelOp op, ValueRange indices) {
  Reduced reduced(op);
  auto alongRow = [&](ValueRange outer) -> Value {
    scf::ForOp loop = enterRowLoop(reduced.shape.back(), op);
    SmallVector<Value> at(outer);
    at.push_back(loop.getInductionVar());
    Value next = element(reduced.operand, reduced.indices(indices, at));
    leaveRowLoop(loop, op.emitCombine(builder, loop.getRegionIterArg(0), next));
    return loop.getResult(0);
  };
  if (reduced.dims.size() == 1)
    return alongRow({});
  return emitFold(scalars(), ArrayRef(reduced.sizes()).drop_back(), op.emitNeutral(builder),
                  [&](ValueRange outer, Value accumulated) {
                    return op.emitCombine(builder, accumulated, alongRow(outer));
                  });
}

/// The loop over the operand's last dimension in whose body the builder stands,
/// if nothing else of the indices depends on it.
scf::ForOp ElementEmitter::columnLoopOf(graph::ReductionKernelOp op, ValueRange indices) {
  Reduced reduced(op);
  if (reduced.dims.empty() || reduced.reducesLast() || indices.empty())
    return {};
  auto loop = dyn_cast_or_null<scf::ForOp>(builder.getInsertionBlock()->getParentOp());
  if (!loop || !columnLoops.contains(loop) || loop.getInductionVar() != indices.back())
    return {};
  bool othersOutside = llvm::none_of(indices.drop_back(), [&](Value index) {
    return loop.getBodyRegion().isAncestor(index.getParentRegion());
  });
  return othersOutside ? loop : scf::ForOp();
}

Value ElementEmitter::columnReduction(graph::ReductionKernelOp op, ValueRange indices,
                                      scf::ForOp loop) {
  Reduced reduced(op);
  Type type = getScalarType(getElementType(reduced.operand));
  auto [maxTrip, blocks] = columnLoops.lookup(loop);
  Value buffer = allocate(type, maxTrip);
  Value begin = loop.getLowerBound(), end = loop.getUpperBound();
  auto inBuffer = [&](Value column) {
    Scalars s = scalars();
    return s.create<arith::SubIOp>(column, begin, arith::IntegerOverflowFlags::nsw);
  };
  {
    OpBuilder::InsertionGuard guard(builder);
    builder.setInsertionPoint(loop);
    scf::ForOp clear = enterParallelLoop(begin, end, blocks);
    Value neutral = op.emitNeutral(builder);
    store(neutral, buffer, type, inBuffer(clear.getInductionVar()));
    leaveLoop(clear);
    SmallVector<Value> at;
    for (int64_t size : reduced.sizes()) {
      Scalars s = scalars();
      at.push_back(enterLoop(s.index(0), s.index(size)).getInductionVar());
    }
    Value column = enterColumnLoop(begin, end, maxTrip, blocks).getInductionVar();
    SmallVector<Value> result(indices.drop_back());
    result.push_back(column);
    Value next = element(reduced.operand, reduced.indices(result, at));
    Value position = inBuffer(column);
    store(op.emitCombine(builder, load(buffer, type, position), next), buffer, type, position);
  }
  return load(buffer, type, inBuffer(loop.getInductionVar()));
}
