//===- CompositeDecompose.cpp - composite ops in primitives ---------------===//
#include "dialects/graph/IR/Builders.h"

#include <cmath>

using namespace mlir;
using namespace minigptc::graph;

SmallVector<Value> SoftmaxOp::decompose(OpBuilder &builder) {
  GraphBuilder b(builder, getLoc());
  int64_t dim = int64_t(getDim());
  Value x = b.convert(getOperand(), b.accumulatorType(getOperand()));
  return {b.convert(b.normalize(b.shiftedExponential(x, dim), dim), elementType(getOperand()))};
}

/// 1 / sqrt(mean(x²) + epsilon) over the last dimension, broadcast back.
static Value inverseRootMeanSquare(GraphBuilder &b, Value x, double epsilon) {
  int64_t last = rankOf(x) - 1;
  return b.broadcastBack(b.inverseRoot(b.add(b.mean(b.square(x), last), epsilon)), x, last);
}

SmallVector<Value> LayerNormOp::decompose(OpBuilder &builder) {
  GraphBuilder b(builder, getLoc());
  Type type = b.accumulatorType(getOperand());
  Value x = b.convert(getOperand(), type);
  int64_t last = rankOf(x) - 1;
  Value centred = b.subtract(x, b.broadcastBack(b.mean(x, last), x, last));
  Value normal =
      b.multiply(centred, inverseRootMeanSquare(b, centred, getEpsilon().convertToDouble()));
  Value scale = b.broadcastLeading(b.convert(getScale(), type), shapeOf(x));
  Value bias = b.broadcastLeading(b.convert(getBias(), type), shapeOf(x));
  return {b.convert(b.add(b.multiply(normal, scale), bias), elementType(getOperand()))};
}

SmallVector<Value> RmsNormOp::decompose(OpBuilder &builder) {
  GraphBuilder b(builder, getLoc());
  Type type = b.accumulatorType(getOperand());
  Value x = b.convert(getOperand(), type);
  Value normal = b.multiply(x, inverseRootMeanSquare(b, x, getEpsilon().convertToDouble()));
  Value scale = b.broadcastLeading(b.convert(getScale(), type), shapeOf(x));
  return {b.convert(b.multiply(normal, scale), elementType(getOperand()))};
}

/// positions[s] · theta^(-2i/D) as f32 [S, D/2]. The frequencies are constants,
/// computed in f64 and rounded.
static Value rotaryAngles(GraphBuilder &b, Value positions, int64_t width, double theta) {
  SmallVector<float> frequencies;
  for (int64_t i = 0; i < width / 2; ++i)
    frequencies.push_back(float(std::pow(theta, -2.0 * double(i) / double(width))));
  auto frequencyType = b.tensor(width / 2, b.f32());
  Value frequency = b.make<ConstantOp>(
      cast<ElementsAttr>(DenseElementsAttr::get(frequencyType, ArrayRef<float>(frequencies))));
  SmallVector<int64_t> shape = {shapeOf(positions)[0], width / 2};
  return b.multiply(b.broadcast(b.convert(positions, b.f32()), {0}, shape),
                    b.broadcast(frequency, {1}, shape));
}

SmallVector<Value> RopeOp::decompose(OpBuilder &builder) {
  GraphBuilder b(builder, getLoc());
  ArrayRef<int64_t> shape = shapeOf(getOperand());
  Type type = b.accumulatorType(getOperand());
  int64_t batch = shape[0], sequence = shape[1], heads = shape[2], width = shape[3];
  SmallVector<int64_t> pairs = {batch, sequence, heads, width / 2, 2},
                       halves = {batch, sequence, heads, width / 2, 1};

  Value angles = rotaryAngles(b, getPositions(), width, getTheta().convertToDouble());
  auto spread = [&](Value value) { return b.broadcast(b.convert(value, type), {1, 3}, halves); };
  Value cosine = spread(b.make<CosineOp>(angles)), sine = spread(b.make<SineOp>(angles));
  if (getInverse())
    sine = b.negate(sine);

  Value x = b.reshape(b.convert(getOperand(), type), pairs);
  Value even = b.slice(x, 4, 0, 1), odd = b.slice(x, 4, 1, 2);
  Value turnedEven = b.subtract(b.multiply(even, cosine), b.multiply(odd, sine));
  Value turnedOdd = b.add(b.multiply(even, sine), b.multiply(odd, cosine));
  // Converted before the pairs are put in rows again, which is a view of what a kernel has stored.
  Value turned = b.concatenate({turnedEven, turnedOdd}, 4);
  return {b.reshape(b.convert(turned, elementType(getOperand())), shape)};
}

SmallVector<Value> EmbeddingOp::decompose(OpBuilder &builder) {
  GraphBuilder b(builder, getLoc());
  SmallVector<int64_t> indexShape(shapeOf(getIds()));
  indexShape.push_back(1);
  return {b.make<GatherOp>(getTable(), b.reshape(getIds(), indexShape), ArrayRef<int64_t>{0})};
}

SmallVector<Value> SoftmaxCrossEntropyOp::decompose(OpBuilder &builder) {
  GraphBuilder b(builder, getLoc());
  Value x = b.convert(getLogits(), b.accumulatorType(getLogits()));
  int64_t last = rankOf(x) - 1;
  auto e = b.shiftedExponential(x, last);

  // log Σ e^(x - max) - (x[target] - max) keeps its precision for large logits. The
  // target's logit is picked by comparison, in the loop that sums the exponentials.
  auto indexType = b.tensor(shapeOf(x), elementType(getTargets()));
  Value targets = b.broadcastBack(getTargets(), x, last);
  Value isTarget = b.compare(CompareDirection::EQ, b.iota(indexType, last), targets);
  Value picked = b.sum(b.select(isTarget, e.shifted, b.zerosLike(x)), last);
  Value loss = b.subtract(b.make<LogOp>(e.sum), picked);

  if (std::optional<uint64_t> ignored = getIgnoreIndex()) {
    Value ignoredTarget = b.integerSplat(tensorType(getTargets()), *ignored);
    Value counts = b.compare(CompareDirection::NE, getTargets(), ignoredTarget);
    loss = b.select(counts, loss, b.zerosLike(loss));
  }
  return {loss};
}

SmallVector<Value> DropoutOp::decompose(OpBuilder &builder) {
  GraphBuilder b(builder, getLoc());
  ArrayRef<int64_t> shape = shapeOf(getOperand());
  double rate = getRate().convertToDouble();
  double threshold = std::min(std::nearbyint(std::ldexp(rate, 32)), std::ldexp(1.0, 32) - 1);

  Value bits = b.randomBits(getKey(), shape, getPart(), int64_t(getParts().value_or(1)));
  Value stays = b.compare(CompareDirection::GE, bits, threshold);
  Value x = b.convert(getOperand(), b.accumulatorType(getOperand()));
  Value kept = b.select(stays, b.multiply(x, 1 / (1 - rate)), b.zerosLike(x));
  return {b.convert(kept, elementType(getOperand()))};
}

SmallVector<Value> AdamWUpdateOp::decompose(OpBuilder &builder) {
  GraphBuilder b(builder, getLoc());
  ArrayRef<int64_t> shape = shapeOf(getParam());
  bool wide = llvm::any_of(getOperandTypes(), [](Type type) {
    return cast<RankedTensorType>(type).getElementType().isF64();
  });
  Type type = wide ? builder.getF64Type() : b.f32();
  auto widen = [&](Value value) { return b.broadcastScalar(b.convert(value, type), shape); };
  double beta1 = getBeta1().convertToDouble(), beta2 = getBeta2().convertToDouble();
  double weightDecay = getWeightDecay().convertToDouble();

  Value p = b.convert(getParam(), type), g = b.convert(getGrad(), type);
  Value m = b.add(b.multiply(b.convert(getM(), type), beta1), b.multiply(g, 1 - beta1));
  Value v = b.add(b.multiply(b.convert(getV(), type), beta2), b.multiply(b.square(g), 1 - beta2));
  Value root = b.make<SqrtOp>(b.divide(v, widen(getCorrection2())));
  Value step =
      b.divide(b.divide(m, widen(getCorrection1())), b.add(root, getEpsilon().convertToDouble()));
  if (weightDecay != 0)
    step = b.add(step, b.multiply(p, weightDecay));
  Value next = b.subtract(p, b.multiply(step, widen(getLearningRate())));
  return {b.convert(next, elementType(getParam())), b.convert(m, elementType(getM())),
          b.convert(v, elementType(getV()))};
}
