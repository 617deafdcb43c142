//===- BatchComposite.cpp - composite ops on many examples ----------------===//
//
// Examples are more rows, or more of the op's own batch, wherever what all rows share (a norm's
// scale, positions, a table, a head's weight) is the same for all; else the op's decomposition is
// what is batched.
//
//===----------------------------------------------------------------------===//
#include "dialects/graph/IR/Batching.h"

using namespace mlir;
using namespace minigptc::graph;

static FailureOr<BatchedValues> batchSoftmax(SoftmaxOp op, Batch &batch) {
  BatchedValues results = batch.clone(batch.allOperands());
  results[0].value.getDefiningOp<SoftmaxOp>().setDim(op.getDim() + 1);
  return results;
}

/// Ops on rows of operand 0, with others that all rows share.
static FailureOr<BatchedValues> batchRows(Operation *op, Batch &batch) {
  SmallVector<Value> operands{batch.all(0u)};
  for (unsigned i = 1; i < op->getNumOperands(); ++i) {
    if (batch.isBatched(i))
      return batch.decompose();
    operands.push_back(batch.get(i));
  }
  return batch.clone(operands);
}

static FailureOr<BatchedValues> batchEmbedding(EmbeddingOp, Batch &batch) {
  if (batch.isBatched(0u))
    return batch.decompose();
  return batch.clone({batch.get(0), batch.get(1)});
}

static FailureOr<BatchedValues> batchAdamW(AdamWUpdateOp op, Batch &batch) {
  SmallVector<Value> operands;
  for (unsigned i = 0; i < op->getNumOperands(); ++i) {
    bool isScalar = i >= 4; // the rate and the corrections
    if (isScalar && batch.isBatched(i))
      return batch.decompose();
    operands.push_back(isScalar ? batch.get(i) : batch.all(i));
  }
  return batch.clone(operands);
}

/// [B, n, …] as [B·n, …], and back.
static Value mergeExamples(Batch &batch, Value value) {
  SmallVector<int64_t> shape(shapeOf(value).drop_front());
  shape[0] *= batch.size();
  return batch.b.reshape(value, shape);
}
static BatchedValues cloneMerged(Batch &batch, TypeRange results, ValueRange operands) {
  BatchedValues made = batch.clone(operands);
  for (auto [value, type] : llvm::zip_equal(made, results)) {
    RankedTensorType whole = batch.withExamples(type);
    SmallVector<int64_t> shape(whole.getShape().drop_front());
    shape[0] *= batch.size();
    value.value.setType(whole.clone(shape));
  }
  for (auto [value, type] : llvm::zip_equal(made, results))
    value.value = batch.b.reshape(value.value, batch.withExamples(type).getShape());
  return made;
}

static FailureOr<BatchedValues> batchRope(RopeOp op, Batch &batch) {
  if (batch.isBatched(1))
    return batch.decompose();
  return cloneMerged(batch, op->getResultTypes(),
                     {mergeExamples(batch, batch.all(0u)), batch.get(1)});
}

/// Attention and its gradient.
template <typename Op> static FailureOr<BatchedValues> batchAttention(Op op, Batch &batch) {
  auto offset = op.getQueryOffsetMutable();
  if (!offset.empty() && batch.isBatched(offset.begin()->getOperandNumber()))
    return batch.decompose();
  SmallVector<Value> operands;
  for (auto [i, operand] : llvm::enumerate(op->getOperands())) {
    bool isOffset = !offset.empty() && i == offset.begin()->getOperandNumber();
    bool isShared = operand == op.getMask() && shapeOf(operand)[0] == 1 && !batch.isBatched(i);
    if (isOffset || isShared) {
      operands.push_back(batch.get(i));
      continue;
    }
    Value all = batch.all(i);
    if (operand == op.getMask() && shapeOf(operand)[0] == 1) {
      // One for an example's whole batch.
      SmallVector<int64_t> shape(shapeOf(all));
      shape[1] = shapeOf(op.getQuery())[0];
      all = batch.b.broadcast(all, range(0, rankOf(all)), shape);
    }
    operands.push_back(mergeExamples(batch, all));
  }
  return cloneMerged(batch, op->getResultTypes(), operands);
}

void minigptc::graph::attachCompositeBatchRules(MLIRContext *context) {
  attachBatchRule<batchSoftmax, SoftmaxOp>(context);
  attachBatchRule<batchRows, LayerNormOp, RmsNormOp>(context);
  attachBatchRule<batchElementwise, SoftmaxCrossEntropyOp>(context);
  attachBatchRule<batchRope, RopeOp>(context);
  attachBatchRule<batchAttention<AttentionOp>, AttentionOp>(context);
  attachBatchRule<batchAttention<AttentionGradOp>, AttentionGradOp>(context);
  attachBatchRule<batchEmbedding, EmbeddingOp>(context);
  attachBatchRule<batchAdamW, AdamWUpdateOp>(context);
  // The losses of examples are not one sum.
  attachBatchRule<batchDecomposed, LinearCrossEntropyOp, LinearLogSumExpOp,
                  LinearCrossEntropyGradOp>(context);
}
