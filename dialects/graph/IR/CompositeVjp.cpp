//===- CompositeVjp.cpp - derivatives of composite ops --------------------===//
//
// Written in ops that can be differentiated again. Statistics are computed
// again from the operands: a norm or a loss saves nothing of its own.
//
//===----------------------------------------------------------------------===//
#include "dialects/graph/IR/VjpHelpers.h"

#include <cmath>

using namespace mlir;
using namespace minigptc::graph;

//===----------------------------------------------------------------------===//
// Activations
//===----------------------------------------------------------------------===//

MINIGPTC_VJP(ReluOp) {
  GraphBuilder b(builder, getLoc());
  Value isPositive = b.compare(CompareDirection::GT, getResult(), 0);
  gradients[0] = keepWhere(b, isPositive, cotangents[0]);
  return success();
}

// d/dx x·σ(x) = σ(x) · (1 + x·(1 - σ(x)))
MINIGPTC_VJP(SiluOp) {
  return unaryVjp(*this, builder, cotangents, gradients, [](GraphBuilder &b, WideUnary v) {
    Value sigmoid = b.make<LogisticOp>(v.operand);
    Value slope = b.multiply(sigmoid, b.add(b.multiply(v.operand, b.subtract(1, sigmoid)), 1));
    return b.multiply(v.cotangent, slope);
  });
}

/// d/dx x·Φ(x) = Φ(x) + x·φ(x)
static Value exactGeluSlope(GraphBuilder &b, Value x) {
  Value cumulative = b.multiply(b.add(b.make<ErfOp>(b.multiply(x, M_SQRT1_2)), 1), 0.5);
  Value density =
      b.multiply(b.exponential(b.multiply(b.square(x), -0.5)), M_2_SQRTPI * M_SQRT1_2 / 2);
  return b.add(cumulative, b.multiply(x, density));
}

/// With t = tanh(u), u = √(2/π)·(x + 0.044715·x³), the activation is x·(1 + t)/2.
static Value approximateGeluSlope(GraphBuilder &b, Value x) {
  const double scale = M_2_SQRTPI * M_SQRT1_2, cubic = 0.044715;
  Value squared = b.square(x);
  Value inner = b.multiply(b.multiply(x, b.add(b.multiply(squared, cubic), 1)), scale);
  Value innerSlope = b.multiply(b.add(b.multiply(squared, 3 * cubic), 1), scale);
  Value t = b.make<TanhOp>(inner);
  Value bend = b.multiply(b.multiply(x, b.subtract(1, b.square(t))), innerSlope);
  return b.multiply(b.add(b.add(t, 1), bend), 0.5);
}

MINIGPTC_VJP(GeluOp) {
  bool approximate = getApproximate();
  return unaryVjp(*this, builder, cotangents, gradients, [=](GraphBuilder &b, WideUnary v) {
    Value slope = approximate ? approximateGeluSlope(b, v.operand) : exactGeluSlope(b, v.operand);
    return b.multiply(v.cotangent, slope);
  });
}

//===----------------------------------------------------------------------===//
// Softmax and the loss
//===----------------------------------------------------------------------===//

// dx = y · (g - Σ g·y)
MINIGPTC_VJP(SoftmaxOp) {
  int64_t dim = getDim();
  return unaryVjp(*this, builder, cotangents, gradients, [=](GraphBuilder &b, WideUnary v) {
    Value mean = b.reduceAndBroadcast(ReduceKind::sum, b.multiply(v.cotangent, v.result), {dim});
    return b.multiply(v.result, b.subtract(v.cotangent, mean));
  });
}

// dlogits = g · (softmax(logits) - onehot(target)), zero where ignored.
MINIGPTC_VJP(SoftmaxCrossEntropyOp) {
  GraphBuilder b(builder, getLoc());
  Value logits = b.convert(getLogits(), b.accumulatorType(getLogits()));
  ArrayRef<int64_t> shape = shapeOf(logits);
  int64_t classes = shape.size() - 1;
  SmallVector<int64_t> positions = range(0, classes);
  Value cotangent = cotangents[0];
  if (std::optional<uint64_t> ignored = getIgnoreIndex()) {
    RankedTensorType type = tensorType(getTargets());
    Value mark = b.integerSplat(type, *ignored);
    cotangent = dropWhere(b, b.compare(CompareDirection::EQ, getTargets(), mark), cotangent);
  }
  Value probabilities = b.make<SoftmaxOp>(logits, classes);
  Value numbers = b.iota(b.tensor(shape, elementType(getTargets())), classes);
  Value isTarget =
      b.compare(CompareDirection::EQ, numbers, b.broadcast(getTargets(), positions, shape));
  Value error = b.subtract(probabilities, b.convert(isTarget, elementType(logits)));
  Value gradient = b.multiply(error, b.broadcast(cotangent, positions, shape));
  gradients[0] = b.convert(gradient, elementType(getLogits()));
  return success();
}

//===----------------------------------------------------------------------===//
// Norms
//===----------------------------------------------------------------------===//

namespace {

/// The last dimension of a norm, in the accumulator type.
struct Norm {
  GraphBuilder &b;
  int64_t width, last;

  Norm(GraphBuilder &b, Value operand)
      : b(b), width(shapeOf(operand).back()), last(rankOf(operand) - 1) {}

  /// The mean over the last dimension, repeated along it.
  Value mean(Value x) const {
    Value sum = b.sum(x, {last});
    return b.broadcastBack(b.multiply(sum, 1.0 / double(width)), x, {last});
  }
  /// 1/√(mean(x²) + ε), repeated along the last dimension.
  Value inverseScale(Value x, double epsilon) const {
    Value square = b.multiply(b.sum(b.square(x), {last}), 1.0 / double(width));
    return b.broadcastBack(b.inverseRoot(b.add(square, epsilon)), x, {last});
  }
  /// The gradient of a parameter of the last dimension.
  Value sumOfRows(Value x) const { return b.sum(x, range(0, last)); }
};

} // namespace

// With x̂ the normalised operand and h = g·scale:
// dx = (h - mean(h) - x̂·mean(h·x̂)) / σ.
MINIGPTC_VJP(LayerNormOp) {
  GraphBuilder b(builder, getLoc());
  Norm norm(b, getOperand());
  Type narrow = elementType(getOperand()), wide = b.accumulatorType(getOperand());
  Value cotangent = b.convert(cotangents[0], wide);
  if (wanted[2])
    gradients[2] = b.convert(norm.sumOfRows(cotangent), elementType(getBias()));
  if (!wanted[0] && !wanted[1])
    return success();
  Value x = b.convert(getOperand(), wide);
  Value centred = b.subtract(x, norm.mean(x));
  Value inverse = norm.inverseScale(centred, getEpsilon().convertToDouble());
  Value normalised = b.multiply(centred, inverse);
  if (wanted[1])
    gradients[1] =
        b.convert(norm.sumOfRows(b.multiply(cotangent, normalised)), elementType(getScale()));
  if (wanted[0]) {
    Value h = b.multiply(cotangent, b.broadcastLeading(b.convert(getScale(), wide), shapeOf(x)));
    Value along = b.multiply(normalised, norm.mean(b.multiply(h, normalised)));
    Value gradient = b.multiply(b.subtract(b.subtract(h, norm.mean(h)), along), inverse);
    gradients[0] = b.convert(gradient, narrow);
  }
  return success();
}

// As above without the mean: dx = (h - x̂·mean(h·x̂)) / rms.
MINIGPTC_VJP(RmsNormOp) {
  GraphBuilder b(builder, getLoc());
  Norm norm(b, getOperand());
  Type narrow = elementType(getOperand()), wide = b.accumulatorType(getOperand());
  Value cotangent = b.convert(cotangents[0], wide);
  Value x = b.convert(getOperand(), wide);
  Value inverse = norm.inverseScale(x, getEpsilon().convertToDouble());
  Value normalised = b.multiply(x, inverse);
  if (wanted[1])
    gradients[1] =
        b.convert(norm.sumOfRows(b.multiply(cotangent, normalised)), elementType(getScale()));
  if (wanted[0]) {
    Value h = b.multiply(cotangent, b.broadcastLeading(b.convert(getScale(), wide), shapeOf(x)));
    Value along = b.multiply(normalised, norm.mean(b.multiply(h, normalised)));
    gradients[0] = b.convert(b.multiply(b.subtract(h, along), inverse), narrow);
  }
  return success();
}

//===----------------------------------------------------------------------===//
// Linear composites: each is its own derivative, or the transposed map.
//===----------------------------------------------------------------------===//

MINIGPTC_VJP(RopeOp) {
  auto gradient =
      RopeOp::create(builder, getLoc(), cotangents[0].getType(), cotangents[0], getPositions(),
                     getThetaAttr(), getInverse() ? UnitAttr() : builder.getUnitAttr());
  gradients[0] = gradient.getResult();
  return success();
}

// The same mask: it is a function of the key.
MINIGPTC_VJP(DropoutOp) {
  auto gradient = DropoutOp::create(builder, getLoc(), cotangents[0].getType(), cotangents[0],
                                    getKey(), getPart(), getPartsAttr(), getRateAttr());
  gradients[0] = gradient.getResult();
  return success();
}

// Rows add up in f32 for bf16 and f16 tables. Ids lie inside the table.
MINIGPTC_VJP(EmbeddingOp) {
  GraphBuilder b(builder, getLoc());
  Type narrow = elementType(getTable()), wide = b.accumulatorType(getTable());
  SmallVector<int64_t> indexShape(shapeOf(getIds()));
  indexShape.push_back(1);
  Value zeros = b.splat(b.tensor(shapeOf(getTable()), wide), 0);
  Value rows = b.convert(cotangents[0], wide);
  SmallVector<int64_t> dims{0};
  Value sum =
      b.make<ScatterOp>(ScatterKind::add, zeros, b.reshape(getIds(), indexShape), rows, dims);
  gradients[0] = b.convert(sum, narrow);
  return success();
}
