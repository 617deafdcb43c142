//===- ElementwiseDecompose.cpp - activations and clamp in primitives -----===//
#include "dialects/graph/IR/Builders.h"

#include <cmath>
#include <numbers>

using namespace mlir;
using namespace minigptc::graph;

SmallVector<Value> ClampOp::decompose(OpBuilder &builder) {
  GraphBuilder b(builder, getLoc());
  return {b.minimum(b.maximum(getOperand(), getLow()), getHigh())};
}

SmallVector<Value> ReluOp::decompose(OpBuilder &builder) {
  GraphBuilder b(builder, getLoc());
  return {b.maximum(getOperand(), 0)};
}

SmallVector<Value> SiluOp::decompose(OpBuilder &builder) {
  GraphBuilder b(builder, getLoc());
  Value x = b.convert(getOperand(), b.accumulatorType(getOperand()));
  return {b.convert(b.multiply(x, b.make<LogisticOp>(x)), elementType(getOperand()))};
}

SmallVector<Value> GeluOp::decompose(OpBuilder &builder) {
  GraphBuilder b(builder, getLoc());
  Value x = b.convert(getOperand(), b.accumulatorType(getOperand()));
  Value bend; // erf or tanh: 2Φ(x) - 1
  if (getApproximate()) {
    Value cube = b.multiply(b.square(x), x);
    bend = b.make<TanhOp>(
        b.multiply(b.add(x, b.multiply(cube, 0.044715)), std::sqrt(2 / std::numbers::pi)));
  } else {
    bend = b.make<ErfOp>(b.multiply(x, 1 / std::numbers::sqrt2));
  }
  Value result = b.multiply(b.multiply(x, 0.5), b.add(bend, 1));
  return {b.convert(result, elementType(getOperand()))};
}
