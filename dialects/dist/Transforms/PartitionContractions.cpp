//===- PartitionContractions.cpp - parts of sums, products and look-ups ---===//
#include "dialects/dist/Transforms/PartitionModels.h"

#include "mlir/IR/Matchers.h"

using namespace mlir;
using namespace minigptc;
using namespace minigptc::dist;

namespace {
/// Elements that mean nothing do not count.
struct ReducePartition : PartitionModel<ReducePartition, graph::ReduceOp> {
  SmallVector<Value> partition(Operation *op, OpBuilder &builder, const LocalOp &local) const {
    Value operand = local.getOperands()[0];
    auto neutral = getNeutral(cast<graph::ReduceOp>(op).getKind(), graph::elementType(operand));
    operand = local.fillPadding(builder, operand, local.getRule().operands[0], neutral,
                                graph::FactorKind::reduction);
    return {local.clone(builder, operand)->getResult(0)};
  }
};

/// Both sides are zero there: zero times what means nothing need not be zero.
struct DotGeneralPartition : PartitionModel<DotGeneralPartition, graph::DotGeneralOp> {
  SmallVector<Value> partition(Operation *, OpBuilder &builder, const LocalOp &local) const {
    SmallVector<Value> operands;
    for (auto [value, dims] : llvm::zip_equal(local.getOperands(), local.getRule().operands))
      operands.push_back(
          local.fillPadding(builder, value, dims, zeroOf(value), graph::FactorKind::reduction));
    return {local.clone(builder, operands)->getResult(0)};
  }
};

/// A device looks up the ids of its rows, and has zeros for others; ids that mean nothing
/// become 0, for they may be anything. Ids out of the whole table's range are clamped to it
/// first, as one device does.
struct EmbeddingPartition : PartitionModel<EmbeddingPartition, graph::EmbeddingOp> {
  SmallVector<Value> partition(Operation *op, OpBuilder &builder, const LocalOp &local) const {
    graph::GraphBuilder b(builder, op->getLoc());
    Value table = local.getOperands()[0], ids = local.getOperands()[1];
    ids = local.fillPadding(builder, ids, local.getRule().operands[1], zeroOf(ids));
    unsigned rows = local.getRule().operands[0][0][0];
    if (local.getAxes(rows).empty())
      return {local.clone(builder, {table, ids})->getResult(0)};
    double last = double(local.getRule().factors[rows].size - 1);
    Value inRange = b.minimum(b.maximum(ids, 0), last);
    Value offset = b.convert(local.getOffset(builder, rows), graph::elementType(ids));
    Value shifted = b.subtract(inRange, b.broadcastScalar(offset, graph::shapeOf(ids)));
    Value isMine = isWithin(b, shifted, local.getLocalSize(rows));
    Value found = local.clone(builder, {table, b.select(isMine, shifted, b.zerosLike(shifted))})
                      ->getResult(0);
    Value mine = b.broadcastBack(isMine, found, graph::rankOf(found) - 1);
    Value part = b.select(mine, found, b.zerosLike(found));
    return {local.allReduce(builder, part, local.getAxes(rows), graph::ReduceKind::sum,
                            "each device looks up the rows of its part of the table")};
  }
};

bool isZero(Value value) {
  if (auto broadcast = value.getDefiningOp<graph::BroadcastInDimOp>())
    return isZero(broadcast.getOperand());
  return matchPattern(value, m_AnyZeroFloat()) || matchPattern(value, m_Zero());
}

/// Indices count from the device's first row, so that those of others' rows are out of
/// range, as are those that mean nothing. The first device alone starts with what is there.
struct ScatterPartition : PartitionModel<ScatterPartition, graph::ScatterOp> {
  SmallVector<Value> partition(Operation *op, OpBuilder &builder, const LocalOp &local) const {
    graph::GraphBuilder b(builder, op->getLoc());
    SmallVector<Value> operands(local.getOperands());
    const auto &dims = local.getRule().operands;
    Axes positions;
    for (const graph::DimFactors &factors : ArrayRef(dims[1]).drop_back())
      for (unsigned factor : factors)
        llvm::append_range(positions, local.getAxes(factor));
    if (!isZero(operands[0]))
      operands[0] = local.keepOnFirst(builder, operands[0], positions, zeroOf(operands[0]));
    operands[1] = shift(b, local, operands[1], cast<graph::ScatterOp>(op).getDims());
    auto type = graph::elementType(operands[1]);
    auto outOfRange = IntegerAttr::get(type, APInt::getAllOnes(type.getIntOrFloatBitWidth()));
    operands[1] = local.fillPadding(builder, operands[1], dims[1], outOfRange);
    return {local.clone(builder, operands)->getResult(0)};
  }

  static Value shift(graph::GraphBuilder &b, const LocalOp &local, Value indices,
                     ArrayRef<int64_t> placed) {
    auto columns = b.tensor(int64_t(placed.size()), graph::elementType(indices));
    for (auto [column, dim] : llvm::enumerate(placed))
      for (unsigned rows : local.getRule().operands[0][dim]) {
        if (local.getAxes(rows).empty())
          continue;
        Value offset =
            b.convert(local.getOffset(b.getBuilder(), rows), graph::elementType(indices));
        Value isColumn = b.compare(graph::CompareDirection::EQ, b.iota(columns, 0), double(column));
        Value offsets =
            b.select(isColumn, b.broadcastScalar(offset, columns.getShape()), b.splat(columns, 0));
        indices = b.subtract(indices, b.broadcastLeading(offsets, graph::shapeOf(indices)));
      }
    return indices;
  }
};
} // namespace

void dist::attachContractionPartitions(MLIRContext &context) {
  graph::ReduceOp::attachInterface<ReducePartition>(context);
  graph::DotGeneralOp::attachInterface<DotGeneralPartition>(context);
  graph::EmbeddingOp::attachInterface<EmbeddingPartition>(context);
  graph::ScatterOp::attachInterface<ScatterPartition>(context);
}
