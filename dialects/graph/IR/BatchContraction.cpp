//===- BatchContraction.cpp - reductions, products, gather, scatter -------===//
#include "dialects/graph/IR/Batching.h"

using namespace mlir;
using namespace minigptc::graph;

static FailureOr<BatchedValues> batchReduce(ReduceOp op, Batch &batch) {
  BatchedValues results = batch.clone(batch.allOperands());
  results[0].value.getDefiningOp<ReduceOp>().setDims(shiftDims(op.getDims()));
  return results;
}

/// Where one side has no examples, those of the other are one more of its free dimensions: all
/// in one product.
static FailureOr<BatchedValues> batchDotGeneral(DotGeneralOp op, Batch &batch) {
  bool left = batch.isBatched(0u), right = batch.isBatched(1);
  SmallVector<int64_t> both;
  if (left && right)
    both.push_back(0);
  auto dimsOf = [&](bool isBatched, ArrayRef<int64_t> dims, ArrayRef<int64_t> first) {
    return isBatched ? shiftDims(dims, first) : SmallVector<int64_t>(dims);
  };
  BatchedValues results = batch.clone({batch.get(0), batch.get(1)});
  Value &result = results[0].value;
  auto made = result.getDefiningOp<DotGeneralOp>();
  made.setLhsBatch(dimsOf(left, op.getLhsBatch(), both));
  made.setRhsBatch(dimsOf(right, op.getRhsBatch(), both));
  made.setLhsContract(dimsOf(left, op.getLhsContract(), {}));
  made.setRhsContract(dimsOf(right, op.getRhsContract(), {}));
  if (left && right)
    return results;
  // Result: batching dims, then the left side's others, then the right side's.
  int64_t place = op.getLhsBatch().size();
  if (right)
    place = rankOf(op.getLhs()) - int64_t(op.getLhsContract().size());
  SmallVector<int64_t> shape(op.getType().getShape());
  shape.insert(shape.begin() + place, batch.size());
  result.setType(op.getType().clone(shape));
  result = batch.moveDim(result, place, 0);
  return results;
}

/// [B, …, k] indices with the example's number before the others: [B, …, 1 + k].
static Value withExampleNumber(Batch &batch, Value indices) {
  SmallVector<int64_t> shape(shapeOf(indices));
  shape.back() = 1;
  Value number = batch.b.iota(batch.b.tensor(shape, elementType(indices)), 0);
  return batch.b.concatenate({number, indices}, int64_t(shape.size()) - 1);
}

static FailureOr<BatchedValues> batchGather(GatherOp op, Batch &batch) {
  GraphBuilder &b = batch.b;
  Value operand = batch.get(0), indices = batch.get(1);
  if (!batch.isBatched(0u))
    return batch.clone({operand, indices});
  if (!batch.isBatched(1)) {
    Value rows = b.make<GatherOp>(operand, indices, shiftDims(op.getDims()));
    // The examples are the first of the operand's dimensions, behind those of the indices.
    return BatchedValues{{batch.moveDim(rows, rankOf(op.getIndices()) - 1, 0), true}};
  }
  return BatchedValues{
      {b.make<GatherOp>(operand, withExampleNumber(batch, indices), shiftDims(op.getDims(), 0)),
       true}};
}

static FailureOr<BatchedValues> batchScatter(ScatterOp op, Batch &batch) {
  Value operand = batch.all(0u), indices = batch.get(1), updates = batch.all(2);
  bool own = batch.isBatched(1);
  if (own)
    indices = withExampleNumber(batch, indices);
  else
    updates = batch.moveDim(updates, 0, rankOf(op.getIndices()) - 1);
  BatchedValues results = batch.clone({operand, indices, updates});
  results[0].value.getDefiningOp<ScatterOp>().setDims(own ? shiftDims(op.getDims(), 0)
                                                          : shiftDims(op.getDims()));
  return results;
}

void minigptc::graph::attachContractionBatchRules(MLIRContext *context) {
  attachBatchRule<batchReduce, ReduceOp>(context);
  attachBatchRule<batchDotGeneral, DotGeneralOp>(context);
  attachBatchRule<batchGather, GatherOp>(context);
  attachBatchRule<batchScatter, ScatterOp>(context);
}
