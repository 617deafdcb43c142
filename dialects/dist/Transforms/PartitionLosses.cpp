//===- PartitionLosses.cpp - cross-entropies over a cut vocabulary --------===//
#include "dialects/dist/Transforms/PartitionModels.h"

using namespace mlir;
using namespace minigptc;
using namespace minigptc::dist;

namespace {
constexpr StringRef kWhy = "devices have parts of the classes";

/// Two all-reduces of numbers per position: the maximum, then the sum of exponentials
/// together with the target's logit, which one device has.
struct SoftmaxCrossEntropyPartition
    : PartitionModel<SoftmaxCrossEntropyPartition, graph::SoftmaxCrossEntropyOp> {
  SmallVector<Value> partition(Operation *op, OpBuilder &builder, const LocalOp &local) const {
    graph::GraphBuilder b(builder, op->getLoc());
    Value logits = local.getOperands()[0], targets = local.getOperands()[1];
    int64_t last = graph::rankOf(logits) - 1;
    unsigned classes = local.getRule().operands[0][last][0];
    if (local.getAxes(classes).empty()) {
      // Targets must be classes, in rows that mean nothing, too.
      targets = local.fillPadding(builder, targets, local.getRule().operands[1], zeroOf(targets));
      return {local.clone(builder, {logits, targets})->getResult(0)};
    }
    Value x = b.convert(logits, b.accumulatorType(logits));
    x = local.fillPadding(builder, x, local.getRule().operands[0], lowestOf(x),
                          graph::FactorKind::collective);
    Value shifted = subtractMaximum(b, local, x, last, local.getAxes(classes));

    Value offset = b.convert(local.getOffset(builder, classes), graph::elementType(targets));
    Value own = b.subtract(targets, b.broadcastScalar(offset, graph::shapeOf(targets)));
    // What is no class at all must not be one of those that mean nothing.
    if (local.isUneven(classes))
      own = b.select(isWithin(b, targets, local.getRule().factors[classes].size), own,
                     b.splatLike(own, double(local.getLocalSize(classes))));
    auto indexType = b.tensor(graph::shapeOf(x), graph::elementType(targets));
    Value isTarget = b.compare(graph::CompareDirection::EQ, b.iota(indexType, last),
                               b.broadcastBack(own, x, last));
    Value picked = b.sum(b.select(isTarget, shifted, b.zerosLike(x)), last);
    SmallVector<Value> sums =
        local.allReduce(builder, {b.sum(b.exponential(shifted), last), picked},
                        local.getAxes(classes), graph::ReduceKind::sum, kWhy);
    Value loss = b.subtract(b.make<graph::LogOp>(sums[0]), sums[1]);
    if (std::optional<uint64_t> ignored = cast<graph::SoftmaxCrossEntropyOp>(op).getIgnoreIndex()) {
      Value ignoredTarget = b.integerSplat(graph::tensorType(targets), *ignored);
      Value counts = b.compare(graph::CompareDirection::NE, targets, ignoredTarget);
      loss = b.select(counts, loss, b.zerosLike(loss));
    }
    return {loss};
  }
};

/// The parts of a head's operands, with what means nothing made harmless.
class HeadPart {
public:
  HeadPart(graph::LinearCrossEntropyOp op, OpBuilder &builder, const LocalOp &local)
      : op(op), builder(builder), local(local), b(builder, op.getLoc()),
        operands(local.getOperands()),
        classes(local.getRule().operands[1][op.getTransposed() ? 0 : 1][0]) {
    fillRows();
  }

  SmallVector<Value> emit() {
    return local.getAxes(classes).empty() ? emitSameClasses() : emitSomeClasses();
  }

private:
  /// Rows that mean nothing count nothing: their target is one that is ignored, and their
  /// hidden values are zero, for they are multiplied.
  void fillRows() {
    const auto &dims = local.getRule().operands;
    ignored = op.getIgnoreIndex();
    Value targets = local.fillPadding(builder, operands[2], dims[2], indexAttr(getIgnored()));
    if (targets != operands[2])
      ignored = getIgnored();
    operands[2] = targets;
    operands[0] = local.fillPadding(builder, operands[0], dims[0], zeroOf(operands[0]));
  }

  /// The target that is ignored; where there is none, one that is no class.
  uint64_t getIgnored() const { return ignored.value_or(noClass(2)); }
  /// The targets' largest values are never classes; nor are negative ones.
  uint64_t noClass(uint64_t number) const {
    auto type = cast<IntegerType>(graph::elementType(operands[2]));
    uint64_t all = type.isUnsigned() ? APInt::getMaxValue(type.getWidth()).getZExtValue() : -1;
    return all + 1 - number;
  }
  TypedAttr indexAttr(uint64_t value) const {
    auto type = cast<IntegerType>(graph::elementType(operands[2]));
    return IntegerAttr::get(type, APInt(type.getWidth(), value, /*isSigned=*/false,
                                        /*implicitTrunc=*/true));
  }

  SmallVector<Value> emitSameClasses() {
    auto part = cast<graph::LinearCrossEntropyOp>(local.clone(builder, operands));
    if (ignored)
      part.setIgnoreIndex(*ignored);
    return SmallVector<Value>(part->getResults());
  }

  /// Where devices have parts of the classes, these walk the head twice: for the
  /// log-sum-exp of their part, of which two all-reduces of numbers per position make that
  /// of all, and for the gradients.
  SmallVector<Value> emitSomeClasses() {
    Value counts;
    if (ignored)
      counts = b.compare(graph::CompareDirection::NE, operands[2],
                         b.integerSplat(graph::tensorType(operands[2]), *ignored));
    Value targets = ownTargets(counts), bias = fillClasses();
    Value hidden = operands[0], weight = operands[1];

    auto rowsType =
        b.tensor(graph::shapeOf(targets), graph::getAccumulatorType(graph::elementType(hidden)));
    auto part = graph::LinearLogSumExpOp::create(builder, op.getLoc(), rowsType, rowsType, hidden,
                                                 weight, targets, bias, op.getTransposedAttr());
    auto [logSumExp, logit] = combine(part.getLogSumExp(), part.getTargetLogit());
    Value losses = b.subtract(logSumExp, logit);
    if (counts)
      losses = b.select(counts, losses, b.zerosLike(losses));
    SmallVector<Value> results{b.sum(losses, graph::range(0, graph::rankOf(losses)))};

    // Sums over devices are rounded when they are made.
    SmallVector<Type> types{graph::tensorType(hidden).clone(b.accumulatorType(hidden)),
                            local.getResultType(2)};
    if (bias)
      types.push_back(op.getBias() ? local.getResultType(3) : graph::tensorType(bias));
    auto gradients = graph::LinearCrossEntropyGradOp::create(
        builder, op.getLoc(), types, hidden, weight, targets, logSumExp, bias,
        ignored ? builder.getI64IntegerAttr(int64_t(noClass(2))) : IntegerAttr(),
        op.getTransposedAttr());
    Value hiddenGrad = local.allReduce(builder, gradients.getHiddenGrad(), local.getAxes(classes),
                                       graph::ReduceKind::sum, kWhy);
    results.push_back(b.convert(hiddenGrad, graph::elementType(op.getHiddenGrad())));
    results.push_back(gradients.getWeightGrad());
    if (op.getBias())
      results.push_back(gradients.getBiasGrad());
    return results;
  }

  /// Classes count from the device's first one; a target of another device's becomes one
  /// value that is no class, one that is ignored another.
  Value ownTargets(Value counts) {
    Value targets = operands[2];
    RankedTensorType type = graph::tensorType(targets);
    Value offset = b.convert(local.getOffset(builder, classes), type.getElementType());
    Value own = b.subtract(targets, b.broadcastScalar(offset, type.getShape()));
    Value isMine = isWithin(b, own, local.getLocalSize(classes));
    if (local.isUneven(classes)) // No class at all must not be one that means nothing.
      isMine = b.logicalAnd(isMine, isWithin(b, targets, local.getRule().factors[classes].size));
    own = b.select(isMine, own, b.integerSplat(type, noClass(1)));
    return counts ? b.select(counts, own, b.integerSplat(type, noClass(2))) : own;
  }

  /// Classes that mean nothing have logits -inf, by the bias; gives the bias, if any.
  Value fillClasses() {
    Value bias = op.getBias() ? operands[3] : Value();
    if (!local.isUneven(classes))
      return bias;
    const auto &dims = local.getRule().operands;
    operands[1] = local.fillPadding(builder, operands[1], dims[1], zeroOf(operands[1]));
    if (!bias)
      bias = b.splat(b.tensor(local.getLocalSize(classes), graph::elementType(operands[1])), 0);
    return local.fillPadding(builder, bias, graph::DimFactors{classes}, lowestOf(bias));
  }

  /// Of all devices: log Σ e^part, and the logit, which the target's device has.
  std::pair<Value, Value> combine(Value part, Value logit) {
    const auto &axes = local.getAxes(classes);
    Value max = local.allReduce(builder, part, axes, graph::ReduceKind::max, kWhy);
    SmallVector<Value> sums =
        local.allReduce(builder, ValueRange{b.exponential(b.subtract(part, max)), logit}, axes,
                        graph::ReduceKind::sum, kWhy);
    return {b.add(b.make<graph::LogOp>(sums[0]), max), sums[1]};
  }

  graph::LinearCrossEntropyOp op;
  OpBuilder &builder;
  const LocalOp &local;
  graph::GraphBuilder b;
  SmallVector<Value> operands;
  unsigned classes;
  std::optional<uint64_t> ignored; ///< the target that counts nothing
};

struct LinearCrossEntropyPartition
    : PartitionModel<LinearCrossEntropyPartition, graph::LinearCrossEntropyOp> {
  SmallVector<Value> partition(Operation *op, OpBuilder &builder, const LocalOp &local) const {
    return HeadPart(cast<graph::LinearCrossEntropyOp>(op), builder, local).emit();
  }
};
} // namespace

void dist::attachLossPartitions(MLIRContext &context) {
  graph::SoftmaxCrossEntropyOp::attachInterface<SoftmaxCrossEntropyPartition>(context);
  graph::LinearCrossEntropyOp::attachInterface<LinearCrossEntropyPartition>(context);
}
