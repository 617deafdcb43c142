//===- BatchShape.cpp - data movement of many examples --------------------===//
//
// A block at a start that differs between examples is no block of all of them: it becomes a gather,
// and its update a scatter, of elements in the dimensions that the block does not fill.
//
//===----------------------------------------------------------------------===//
#include "dialects/graph/IR/Batching.h"

using namespace mlir;
using namespace minigptc::graph;

/// No operand that could be batched.
static FailureOr<BatchedValues> batchNullary(Operation *op, Batch &batch) {
  return BatchedValues{{batch.b.getBuilder().clone(*op)->getResult(0), false}};
}

static FailureOr<BatchedValues> batchBroadcast(BroadcastInDimOp op, Batch &batch) {
  BatchedValues results = batch.clone(batch.allOperands());
  results[0].value.getDefiningOp<BroadcastInDimOp>().setDims(shiftDims(op.getDims(), 0));
  return results;
}

static FailureOr<BatchedValues> batchTranspose(TransposeOp op, Batch &batch) {
  BatchedValues results = batch.clone(batch.allOperands());
  results[0].value.getDefiningOp<TransposeOp>().setPermutation(shiftDims(op.getPermutation(), 0));
  return results;
}

/// One entry for the examples before those of the other dimensions.
static SmallVector<int64_t> prepend(int64_t first, ArrayRef<int64_t> others) {
  SmallVector<int64_t> all{first};
  llvm::append_range(all, others);
  return all;
}

static FailureOr<BatchedValues> batchSlice(SliceOp op, Batch &batch) {
  BatchedValues results = batch.clone(batch.allOperands());
  auto made = results[0].value.getDefiningOp<SliceOp>();
  made.setStart(prepend(0, op.getStart()));
  made.setLimit(prepend(batch.size(), op.getLimit()));
  made.setStrides(prepend(1, op.getStrides()));
  return results;
}

static FailureOr<BatchedValues> batchConcatenate(ConcatenateOp op, Batch &batch) {
  BatchedValues results = batch.clone(batch.allOperands());
  results[0].value.getDefiningOp<ConcatenateOp>().setDim(op.getDim() + 1);
  return results;
}

static FailureOr<BatchedValues> batchPad(PadOp op, Batch &batch) {
  GraphBuilder &b = batch.b;
  auto pad = [&](Value operand, Value value) -> Value {
    auto type = batch.withExamples(op.getType()).clone(elementType(operand));
    return b.make<PadOp>(type, operand, value, prepend(0, op.getLow()), prepend(0, op.getHigh()),
                         prepend(0, op.getInterior()));
  };
  Value operand = batch.all(0u);
  if (!batch.isBatched(1))
    return BatchedValues{{pad(operand, batch.get(1)), true}};
  // Each example has its own value around.
  Value padded = pad(operand, b.scalar(elementType(operand), 0));
  Value isInside = pad(b.splat(tensorType(operand).clone(b.i1()), 1), b.scalar(b.i1(), 0));
  Value around = b.broadcast(batch.get(1), {0}, shapeOf(padded));
  return BatchedValues{{b.select(isInside, padded, around), true}};
}

namespace {

/// Blocks of [B, …] at starts of their own: dimensions that they do not fill, and for each
/// element in these its indices.
struct Blocks {
  SmallVector<int64_t> dims; ///< of one example's tensor
  Value indices;             ///< [B, sizes of dims…, 1 + dims.size()]; the first is the example

  Blocks(Batch &batch, ArrayRef<int64_t> whole, ArrayRef<int64_t> sizes,
         ArrayRef<BatchedValue> starts);
  bool fillAll() const { return dims.empty(); }
};

} // namespace

Blocks::Blocks(Batch &batch, ArrayRef<int64_t> whole, ArrayRef<int64_t> sizes,
               ArrayRef<BatchedValue> starts) {
  SmallVector<int64_t> shape{batch.size()};
  for (auto [dim, size] : llvm::enumerate(sizes))
    if (size != whole[dim]) {
      dims.push_back(int64_t(dim));
      shape.push_back(size);
    }
  if (dims.empty())
    return;
  // A start may have another type than the others.
  GraphBuilder &b = batch.b;
  auto type = b.tensor(shape, b.i64());
  SmallVector<int64_t> column(shape);
  column.push_back(1);
  SmallVector<Value> columns{b.reshape(b.iota(type, 0), column)};
  for (auto [k, dim] : llvm::enumerate(dims)) {
    Value start = b.convert(batch.all(starts[size_t(dim)]), b.i64());
    start = b.minimum(b.maximum(start, 0), double(whole[size_t(dim)] - sizes[size_t(dim)]));
    Value at = b.add(b.broadcast(start, {0}, shape), b.iota(type, int64_t(k) + 1));
    columns.push_back(b.reshape(at, column));
  }
  indices = b.concatenate(columns, int64_t(shape.size()));
}

static FailureOr<BatchedValues> batchDynamicSlice(DynamicSliceOp op, Batch &batch) {
  GraphBuilder &b = batch.b;
  ArrayRef<BatchedValue> starts = batch.getOperands().drop_front();
  if (!batch.isBatched(op.getStart())) {
    SmallVector<Value> at;
    for (const BatchedValue &start : starts)
      at.push_back(start.value);
    at.insert(at.begin(), b.scalar(b.i32(), 0));
    at.insert(at.begin(), batch.all(0u));
    BatchedValues results = batch.clone(at);
    results[0].value.getDefiningOp<DynamicSliceOp>().setSizes(prepend(batch.size(), op.getSizes()));
    return results;
  }
  Blocks blocks(batch, shapeOf(op.getOperand()), op.getSizes(), starts);
  if (blocks.fillAll())
    return BatchedValues{{batch.all(0u), true}};
  Value rows = b.make<GatherOp>(batch.all(0u), blocks.indices, shiftDims(blocks.dims, 0));
  // [B, sizes of dims…, others…].
  for (auto [k, dim] : llvm::enumerate(blocks.dims))
    rows = batch.moveDim(rows, int64_t(k) + 1, dim + 1);
  return BatchedValues{{rows, true}};
}

static FailureOr<BatchedValues> batchDynamicUpdateSlice(DynamicUpdateSliceOp op, Batch &batch) {
  GraphBuilder &b = batch.b;
  ArrayRef<BatchedValue> starts = batch.getOperands().drop_front(2);
  Value operand = batch.all(0u), update = batch.all(1);
  if (!batch.isBatched(op.getStart())) {
    SmallVector<Value> operands{operand, update, b.scalar(b.i32(), 0)};
    for (const BatchedValue &start : starts)
      operands.push_back(start.value);
    return batch.clone(operands);
  }
  Blocks blocks(batch, shapeOf(op.getOperand()), shapeOf(op.getUpdate()), starts);
  if (blocks.fillAll())
    return BatchedValues{{update, true}};
  for (auto [k, dim] : llvm::enumerate(blocks.dims))
    update = batch.moveDim(update, dim + 1, int64_t(k) + 1);
  return BatchedValues{{b.make<ScatterOp>(ScatterKind::update, operand, blocks.indices, update,
                                          shiftDims(blocks.dims, 0)),
                        true}};
}

void minigptc::graph::attachShapeBatchRules(MLIRContext *context) {
  attachBatchRule<batchNullary, ConstantOp, IotaOp>(context);
  attachBatchRule<batchElementwise, ReshapeOp>(context);
  attachBatchRule<batchBroadcast, BroadcastInDimOp>(context);
  attachBatchRule<batchTranspose, TransposeOp>(context);
  attachBatchRule<batchSlice, SliceOp>(context);
  attachBatchRule<batchConcatenate, ConcatenateOp>(context);
  attachBatchRule<batchPad, PadOp>(context);
  attachBatchRule<batchDynamicSlice, DynamicSliceOp>(context);
  attachBatchRule<batchDynamicUpdateSlice, DynamicUpdateSliceOp>(context);
}
