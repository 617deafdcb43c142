//===- PartitionNorms.cpp - statistics that devices make together ---------===//
#include "dialects/dist/Transforms/PartitionModels.h"

#include <limits>

using namespace mlir;
using namespace minigptc;
using namespace minigptc::dist;

namespace {
constexpr StringRef kWhy = "devices have parts of what is normalised";

/// The factor of the dimension that is normalised, and its operand in the type of
/// statistics.
struct Normalised {
  Normalised(graph::GraphBuilder &b, const LocalOp &local, int64_t dim)
      : b(b), local(local), dim(dim), factor(local.getRule().operands[0][dim][0]) {
    Value operand = local.getOperands()[0];
    x = b.convert(operand, b.accumulatorType(operand));
  }

  bool isCut() const { return !local.getAxes(factor).empty(); }
  /// With `fill` in place of what means nothing along the dimension.
  Value filled(Value value, TypedAttr fill) const {
    return local.fillPadding(b.getBuilder(), value, local.getRule().operands[0], fill,
                             graph::FactorKind::collective);
  }
  /// The mean over all devices, broadcast back.
  Value mean(Value value) const {
    Value sum = b.sum(filled(value, zeroOf(value)), dim);
    sum = local.allReduce(b.getBuilder(), sum, local.getAxes(factor), graph::ReduceKind::sum, kWhy);
    double size = double(local.getRule().factors[factor].size);
    return b.broadcastBack(b.divide(sum, size), value, dim);
  }
  Value inverseRootMeanSquare(Value value, llvm::APFloat epsilon) const {
    Value square = mean(b.square(value));
    return b.inverseRoot(b.add(square, epsilon.convertToDouble()));
  }
  /// A scale or bias, for every row.
  Value spread(Value parameter) const {
    return b.broadcastLeading(b.convert(parameter, graph::elementType(x)), graph::shapeOf(x));
  }

  graph::GraphBuilder &b;
  const LocalOp &local;
  int64_t dim;
  unsigned factor;
  Value x;
};

struct SoftmaxPartition : PartitionModel<SoftmaxPartition, graph::SoftmaxOp> {
  SmallVector<Value> partition(Operation *op, OpBuilder &builder, const LocalOp &local) const {
    graph::GraphBuilder b(builder, op->getLoc());
    Normalised n(b, local, int64_t(cast<graph::SoftmaxOp>(op).getDim()));
    if (!n.isCut())
      return {local.clone(builder)->getResult(0)};
    Value x = n.filled(n.x, lowestOf(n.x));
    Value shifted = subtractMaximum(b, local, x, n.dim, local.getAxes(n.factor));
    Value exponentials = b.exponential(shifted);
    Value sum = local.allReduce(builder, b.sum(exponentials, n.dim), local.getAxes(n.factor),
                                graph::ReduceKind::sum, kWhy);
    Value result = b.normalize({Value(), shifted, exponentials, sum}, n.dim);
    return {b.convert(result, graph::elementType(local.getOperands()[0]))};
  }
};

struct LayerNormPartition : PartitionModel<LayerNormPartition, graph::LayerNormOp> {
  SmallVector<Value> partition(Operation *op, OpBuilder &builder, const LocalOp &local) const {
    graph::GraphBuilder b(builder, op->getLoc());
    Normalised n(b, local, graph::rankOf(op->getResult(0)) - 1);
    if (!n.isCut())
      return {local.clone(builder)->getResult(0)};
    ValueRange operands = local.getOperands();
    Value centred = b.subtract(n.x, n.mean(n.x));
    Value normal = b.multiply(
        centred, n.inverseRootMeanSquare(centred, cast<graph::LayerNormOp>(op).getEpsilon()));
    Value result = b.add(b.multiply(normal, n.spread(operands[1])), n.spread(operands[2]));
    return {b.convert(result, graph::elementType(operands[0]))};
  }
};

struct RmsNormPartition : PartitionModel<RmsNormPartition, graph::RmsNormOp> {
  SmallVector<Value> partition(Operation *op, OpBuilder &builder, const LocalOp &local) const {
    graph::GraphBuilder b(builder, op->getLoc());
    Normalised n(b, local, graph::rankOf(op->getResult(0)) - 1);
    if (!n.isCut())
      return {local.clone(builder)->getResult(0)};
    ValueRange operands = local.getOperands();
    Value normal =
        b.multiply(n.x, n.inverseRootMeanSquare(n.x, cast<graph::RmsNormOp>(op).getEpsilon()));
    Value result = b.multiply(normal, n.spread(operands[1]));
    return {b.convert(result, graph::elementType(operands[0]))};
  }
};
} // namespace

Value dist::subtractMaximum(graph::GraphBuilder &b, const LocalOp &local, Value x, int64_t dim,
                            ArrayRef<unsigned> axes) {
  double lowest = graph::elementType(x).isF64() ? std::numeric_limits<double>::lowest()
                                                : double(std::numeric_limits<float>::lowest());
  Value max = local.allReduce(b.getBuilder(), b.reduce(graph::ReduceKind::max, x, dim), axes,
                              graph::ReduceKind::max, kWhy);
  max = b.maximum(max, lowest); // Finite, as in the decomposition.
  return b.subtract(x, b.broadcastBack(max, x, dim));
}

void dist::attachNormPartitions(MLIRContext &context) {
  graph::SoftmaxOp::attachInterface<SoftmaxPartition>(context);
  graph::LayerNormOp::attachInterface<LayerNormPartition>(context);
  graph::RmsNormOp::attachInterface<RmsNormPartition>(context);
}
