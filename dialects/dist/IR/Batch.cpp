//===- Batch.cpp - constraints and collectives of many examples -----------===//
//
// Examples are one more dimension, which no axis cuts unless propagation finds that it should: each
// device has all of them, and a collective moves those of all at once.
//
//===----------------------------------------------------------------------===//
#include "dialects/dist/IR/Batch.h"
#include "dialects/dist/IR/Dist.h"
#include "dialects/graph/IR/Batching.h"

using namespace mlir;
using namespace minigptc;
using namespace minigptc::dist;
using graph::Batch;
using graph::BatchedValues;
using graph::shiftDims;

/// The sharding with one more dimension before the others.
static ShardingAttr withExamples(ShardingAttr sharding, bool isOpen) {
  SmallVector<ArrayAttr> dims{ArrayAttr::get(sharding.getContext(), {})};
  llvm::append_range(dims, sharding.getDims());
  SmallVector<bool> open{isOpen};
  llvm::append_range(open, sharding.getOpen());
  return ShardingAttr::get(sharding.getContext(), sharding.getMesh(), dims, open,
                           sharding.getReplicated(), sharding.getPartial(), sharding.getCombine());
}

static FailureOr<BatchedValues> batchConstraint(ConstraintOp op, Batch &batch) {
  BatchedValues results = batch.clone(batch.allOperands());
  results[0].value.getDefiningOp<ConstraintOp>().setShardingAttr(
      withExamples(op.getSharding(), /*isOpen=*/true));
  return results;
}

template <typename Op> static FailureOr<BatchedValues> batchAlongDims(Op op, Batch &batch) {
  BatchedValues results = batch.clone(batch.allOperands());
  cast<Op>(results[0].value.getDefiningOp()).setDims(shiftDims(op.getDims()));
  return results;
}

static FailureOr<BatchedValues> batchAllToAll(AllToAllOp op, Batch &batch) {
  BatchedValues results = batch.clone(batch.allOperands());
  auto made = results[0].value.getDefiningOp<AllToAllOp>();
  made.setSplitDims(shiftDims(op.getSplitDims()));
  made.setConcatDims(shiftDims(op.getConcatDims()));
  return results;
}

static FailureOr<BatchedValues> batchAxisIndex(Operation *op, Batch &batch) {
  return BatchedValues{{batch.b.getBuilder().clone(*op)->getResult(0), false}};
}

static FailureOr<BatchedValues> batchManual(ManualOp op, Batch &batch) {
  SmallVector<bool> flags = batch.flags(op.getInputs());
  auto all = batch.batcher.batch(batch.batcher.lookup(op.getCallee()), flags);
  if (failed(all))
    return failure();
  auto shardings = [&](ArrayAttr each, ArrayRef<bool> isBatched) {
    SmallVector<Attribute> made;
    for (auto [sharding, batched] : llvm::zip_equal(each, isBatched))
      made.push_back(batched ? withExamples(cast<ShardingAttr>(sharding), /*isOpen=*/false)
                             : sharding);
    return ArrayAttr::get(op.getContext(), made);
  };
  SmallVector<Value> operands;
  for (const graph::BatchedValue &operand : batch.getOperands())
    operands.push_back(operand.value);
  SmallVector<Type> types(op.getResultTypes());
  for (auto [type, batched] : llvm::zip_equal(types, all->isBatched))
    if (batched)
      type = batch.withExamples(type);
  auto made = ManualOp::create(batch.b.getBuilder(), op.getLoc(), types, all->function.getSymName(),
                               operands, op.getMesh(), shardings(op.getInShardings(), flags),
                               shardings(op.getOutShardings(), all->isBatched));
  BatchedValues results;
  for (auto [result, batched] : llvm::zip_equal(made.getResults(), all->isBatched))
    results.push_back({result, batched});
  return results;
}

void dist::attachBatchRules(MLIRContext *context) {
  using graph::attachBatchRule;
  attachBatchRule<batchConstraint, ConstraintOp>(context);
  attachBatchRule<graph::batchElementwise, AllReduceOp, CollectivePermuteOp, VaryOp>(context);
  attachBatchRule<batchAlongDims<AllGatherOp>, AllGatherOp>(context);
  attachBatchRule<batchAlongDims<ReduceScatterOp>, ReduceScatterOp>(context);
  attachBatchRule<batchAlongDims<AllSliceOp>, AllSliceOp>(context);
  attachBatchRule<batchAllToAll, AllToAllOp>(context);
  attachBatchRule<batchAxisIndex, AxisIndexOp>(context);
  attachBatchRule<batchManual, ManualOp>(context);
}
