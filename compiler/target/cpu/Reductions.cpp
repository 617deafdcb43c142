//===- Reductions.cpp - the loop order of reductions ----------------------===//
#include "compiler/conversion/GraphToLoops/Loops.h"
#include "compiler/target/cpu/ElementEmitter.h"

using namespace mlir;
using namespace minigptc;
using namespace minigptc::cpu;
using namespace minigptc::graph::kernel;
using minigptc::target::Reduced;

Value ElementEmitter::reduction(graph::ReductionKernelOp op, ValueRange indices) {
  Reduced reduced(op);
  if (reduced.reducesLast())
    return rowReduction(op, indices);
  if (scf::ForOp loop = columnLoopOf(op, indices))
    return columnReduction(op, indices, loop);
  return sequentialReduction(op, indices);
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
