//===- RandomDecompose.cpp - distributions from random bits ---------------===//
#include "dialects/graph/IR/Builders.h"

#include <cmath>
#include <numbers>

using namespace mlir;
using namespace minigptc::graph;

/// The rows of part k begin at row k · shape[0] of the whole draw.
Value GraphBuilder::randomBits(Value key, ArrayRef<int64_t> shape, Value part, int64_t parts) {
  int64_t rank = shape.size();
  Value offsets = splat(tensor(rank, i64()), 0);
  SmallVector<int64_t> whole(shape);
  if (part) {
    whole[0] *= parts;
    Value row = reshape(multiply(part, double(shape[0])), 1);
    offsets = rank == 1 ? row : concatenate({row, splat(tensor(rank - 1, i64()), 0)}, 0);
  }
  return make<RandomBitsOp>(tensor(shape, ui32()), key, offsets, whole);
}

/// The bits of a draw, shifted right, as f32.
template <typename Op> static Value drawBits(GraphBuilder &b, Op op, int shift) {
  Value bits = b.randomBits(op.getKey(), op.getType().getShape(), op.getPart(),
                            int64_t(op.getParts().value_or(1)));
  return b.convert(b.make<ShiftRightLogicalOp>(bits, b.splatLike(bits, shift)), b.f32());
}

/// ((bits >> 9) + 0.5) · 2^-23: uniform, symmetric around 1/2, and never 0 or 1.
template <typename Op> static Value drawOpenUniform(GraphBuilder &b, Op op) {
  return b.multiply(b.add(drawBits(b, op, 9), 0.5), std::ldexp(1.0, -23));
}

/// coefficients[0] · w^n + … + coefficients[n].
static Value polynomial(GraphBuilder &b, Value w, ArrayRef<double> coefficients) {
  Value sum = b.splatLike(w, coefficients.front());
  for (double coefficient : coefficients.drop_front())
    sum = b.add(b.multiply(sum, w), coefficient);
  return sum;
}

/// erf⁻¹ in f32: the two polynomials of Giles, "Approximating the erfinv
/// function" (2010), for the centre and the tails.
static Value inverseErf(GraphBuilder &b, Value x) {
  static constexpr double centre[] = {2.81022636e-08,  3.43273939e-07, -3.5233877e-06,
                                      -4.39150654e-06, 0.00021858087,  -0.00125372503,
                                      -0.00417768164,  0.246640727,    1.50140941};
  static constexpr double tail[] = {-0.000200214257, 0.000100950558, 0.00134934322,
                                    -0.00367342844,  0.00573950773,  -0.0076224613,
                                    0.00943887047,   1.00167406,     2.83297682};
  Value w = b.negate(b.make<LogOp>(b.multiply(b.subtract(1, x), b.add(x, 1))));
  Value inCentre = polynomial(b, b.subtract(w, 2.5), centre);
  Value inTail = polynomial(b, b.subtract(b.make<SqrtOp>(w), 3), tail);
  return b.multiply(b.select(b.compare(CompareDirection::LT, w, 5), inCentre, inTail), x);
}

SmallVector<Value> RandomUniformOp::decompose(OpBuilder &builder) {
  GraphBuilder b(builder, getLoc());
  Value uniform = b.multiply(drawBits(b, *this, 8), std::ldexp(1.0, -24));
  return {b.convert(uniform, getType().getElementType())};
}

SmallVector<Value> RandomNormalOp::decompose(OpBuilder &builder) {
  GraphBuilder b(builder, getLoc());
  Value uniform = drawOpenUniform(b, *this);
  Value normal =
      b.multiply(inverseErf(b, b.subtract(b.multiply(uniform, 2), 1)), std::numbers::sqrt2);
  return {b.convert(normal, getType().getElementType())};
}

SmallVector<Value> RandomTruncatedNormalOp::decompose(OpBuilder &builder) {
  GraphBuilder b(builder, getLoc());
  double low = getLow().convertToDouble(), high = getHigh().convertToDouble();
  double from = std::erf(low / std::numbers::sqrt2), to = std::erf(high / std::numbers::sqrt2);
  Value uniform = drawOpenUniform(b, *this);
  Value x = b.add(b.multiply(uniform, to - from), from);
  // Rounding must not reach ±1, where erf⁻¹ is infinite.
  double limit = 1 - std::ldexp(1.0, -24);
  x = b.minimum(b.maximum(x, -limit), limit);
  Value normal = b.multiply(inverseErf(b, x), std::numbers::sqrt2);
  Value result = b.minimum(b.maximum(normal, low), high);
  return {b.convert(result, getType().getElementType())};
}
