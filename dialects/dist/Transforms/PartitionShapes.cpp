//===- PartitionShapes.cpp - parts of ops with sizes or places ------------===//
#include "dialects/dist/Transforms/PartitionModels.h"

using namespace mlir;
using namespace minigptc;
using namespace minigptc::dist;

namespace {
/// A constant that is not the same everywhere is left to the partitioner, which slices it.
struct ConstantPartition : PartitionModel<ConstantPartition, graph::ConstantOp> {
  SmallVector<Value> partition(Operation *op, OpBuilder &builder, const LocalOp &local) const {
    auto value = dyn_cast<DenseElementsAttr>(cast<graph::ConstantOp>(op).getValue());
    if (!value || !value.isSplat())
      return {};
    ElementsAttr part = value.resizeSplat(local.getResultType(0));
    return {graph::ConstantOp::create(builder, op->getLoc(), part)};
  }
};

struct IotaPartition : PartitionModel<IotaPartition, graph::IotaOp> {
  SmallVector<Value> partition(Operation *op, OpBuilder &builder, const LocalOp &local) const {
    RankedTensorType type = local.getResultType(0);
    int64_t dim = cast<graph::IotaOp>(op).getDim();
    for (unsigned factor : local.getRule().results[0][dim]) {
      if (local.getAxes(factor).empty())
        continue;
      // Numbers are whole until the end: narrow floats would round part and offset apart.
      graph::GraphBuilder b(builder, op->getLoc());
      Value part =
          graph::IotaOp::create(builder, op->getLoc(), type.clone(builder.getI64Type()), dim);
      Value offset = b.broadcastScalar(local.getOffset(builder, factor), type.getShape());
      return {b.convert(b.add(part, offset), type.getElementType())};
    }
    return {local.clone(builder)->getResult(0)};
  }
};

/// Dimensions that pass through are whole: of their part the slice takes all.
struct SlicePartition : PartitionModel<SlicePartition, graph::SliceOp> {
  SmallVector<Value> partition(Operation *op, OpBuilder &builder, const LocalOp &local) const {
    auto slice = cast<graph::SliceOp>(op);
    SmallVector<int64_t> limit(slice.getLimit());
    for (auto [dim, factors] : llvm::enumerate(local.getRule().operands[0]))
      if (!factors.empty())
        limit[dim] = graph::shapeOf(local.getOperands()[0])[dim];
    return {graph::SliceOp::create(builder, op->getLoc(), local.getOperands()[0], slice.getStart(),
                                   limit, slice.getStrides())};
  }
};

struct DynamicSlicePartition : PartitionModel<DynamicSlicePartition, graph::DynamicSliceOp> {
  SmallVector<Value> partition(Operation *op, OpBuilder &builder, const LocalOp &local) const {
    SmallVector<int64_t> sizes(cast<graph::DynamicSliceOp>(op).getSizes());
    for (auto [dim, factors] : llvm::enumerate(local.getRule().operands[0]))
      if (!factors.empty())
        sizes[dim] = graph::shapeOf(local.getOperands()[0])[dim];
    ValueRange operands = local.getOperands();
    return {graph::DynamicSliceOp::create(builder, op->getLoc(), operands[0], operands.drop_front(),
                                          sizes)};
  }
};

/// The offsets of this device's part in the whole tensor, i64 [rank], added to `offsets`.
Value addOffsets(OpBuilder &builder, const LocalOp &local, Value offsets) {
  graph::GraphBuilder b(builder, local.getOp()->getLoc());
  auto type = graph::tensorType(offsets);
  for (auto [dim, factors] : llvm::enumerate(local.getRule().results[0]))
    for (unsigned factor : factors) {
      if (local.getAxes(factor).empty())
        continue;
      SmallVector<int64_t> unit(type.getNumElements(), 0);
      unit[dim] = 1;
      Value direction = b.make<graph::ConstantOp>(
          cast<ElementsAttr>(DenseElementsAttr::get(type, ArrayRef<int64_t>(unit))));
      Value offset = b.broadcastScalar(local.getOffset(builder, factor), type.getShape());
      offsets = b.add(offsets, b.multiply(direction, offset));
    }
  return offsets;
}

/// Every device draws the numbers of its part of the whole tensor.
struct RandomBitsPartition : PartitionModel<RandomBitsPartition, graph::RandomBitsOp> {
  SmallVector<Value> partition(Operation *, OpBuilder &builder, const LocalOp &local) const {
    SmallVector<Value> operands(local.getOperands());
    operands[1] = addOffsets(builder, local, operands[1]);
    return {local.clone(builder, operands)->getResult(0)};
  }
};
} // namespace

void dist::attachShapePartitions(MLIRContext &context) {
  graph::ConstantOp::attachInterface<ConstantPartition>(context);
  graph::IotaOp::attachInterface<IotaPartition>(context);
  graph::SliceOp::attachInterface<SlicePartition>(context);
  graph::DynamicSliceOp::attachInterface<DynamicSlicePartition>(context);
  graph::RandomBitsOp::attachInterface<RandomBitsPartition>(context);
}
