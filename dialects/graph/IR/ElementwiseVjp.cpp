//===- ElementwiseVjp.cpp - derivatives of elementwise ops ----------------===//
#include "dialects/graph/IR/VjpHelpers.h"

#include <cmath>

using namespace mlir;
using namespace minigptc::graph;

//===----------------------------------------------------------------------===//
// One operand. Ops whose derivative is a function of the result read that: it
// is often there anyway.
//===----------------------------------------------------------------------===//

MINIGPTC_VJP(CbrtOp) {
  return unaryVjp(*this, builder, cotangents, gradients, [](GraphBuilder &b, WideUnary v) {
    return b.divide(v.cotangent, b.multiply(b.square(v.result), 3));
  });
}

MINIGPTC_VJP(CosineOp) {
  return unaryVjp(*this, builder, cotangents, gradients, [](GraphBuilder &b, WideUnary v) {
    return b.negate(b.multiply(v.cotangent, b.make<SineOp>(v.operand)));
  });
}

MINIGPTC_VJP(ErfOp) {
  return unaryVjp(*this, builder, cotangents, gradients, [](GraphBuilder &b, WideUnary v) {
    Value density = b.exponential(b.negate(b.square(v.operand)));
    return b.multiply(b.multiply(v.cotangent, density), M_2_SQRTPI);
  });
}

MINIGPTC_VJP(ExponentialOp) {
  return unaryVjp(*this, builder, cotangents, gradients,
                  [](GraphBuilder &b, WideUnary v) { return b.multiply(v.cotangent, v.result); });
}

MINIGPTC_VJP(ExponentialMinusOneOp) {
  return unaryVjp(*this, builder, cotangents, gradients, [](GraphBuilder &b, WideUnary v) {
    return b.multiply(v.cotangent, b.add(v.result, 1));
  });
}

MINIGPTC_VJP(LogOp) {
  return unaryVjp(*this, builder, cotangents, gradients,
                  [](GraphBuilder &b, WideUnary v) { return b.divide(v.cotangent, v.operand); });
}

MINIGPTC_VJP(LogPlusOneOp) {
  return unaryVjp(*this, builder, cotangents, gradients, [](GraphBuilder &b, WideUnary v) {
    return b.divide(v.cotangent, b.add(v.operand, 1));
  });
}

MINIGPTC_VJP(LogisticOp) {
  return unaryVjp(*this, builder, cotangents, gradients, [](GraphBuilder &b, WideUnary v) {
    return b.multiply(v.cotangent, b.multiply(v.result, b.subtract(1, v.result)));
  });
}

MINIGPTC_VJP(RsqrtOp) {
  return unaryVjp(*this, builder, cotangents, gradients, [](GraphBuilder &b, WideUnary v) {
    Value cubed = b.multiply(b.square(v.result), v.result);
    return b.multiply(b.multiply(v.cotangent, cubed), -0.5);
  });
}

MINIGPTC_VJP(SineOp) {
  return unaryVjp(*this, builder, cotangents, gradients, [](GraphBuilder &b, WideUnary v) {
    return b.multiply(v.cotangent, b.make<CosineOp>(v.operand));
  });
}

MINIGPTC_VJP(SqrtOp) {
  return unaryVjp(*this, builder, cotangents, gradients, [](GraphBuilder &b, WideUnary v) {
    return b.divide(b.multiply(v.cotangent, 0.5), v.result);
  });
}

MINIGPTC_VJP(TanhOp) {
  return unaryVjp(*this, builder, cotangents, gradients, [](GraphBuilder &b, WideUnary v) {
    return b.multiply(v.cotangent, b.subtract(1, b.square(v.result)));
  });
}

MINIGPTC_VJP(AbsOp) {
  GraphBuilder b(builder, getLoc());
  gradients[0] = b.multiply(cotangents[0], b.make<SignOp>(getOperand()));
  return success();
}

MINIGPTC_VJP(NegateOp) {
  gradients[0] = GraphBuilder(builder, getLoc()).negate(cotangents[0]);
  return success();
}

// Steps: the derivative is zero wherever it exists.
MINIGPTC_VJP(CeilOp) { return success(); }
MINIGPTC_VJP(FloorOp) { return success(); }
MINIGPTC_VJP(RoundNearestEvenOp) { return success(); }
MINIGPTC_VJP(SignOp) { return success(); }

MINIGPTC_VJP(ConvertOp) {
  GraphBuilder b(builder, getLoc());
  if (isa<FloatType>(elementType(getResult())) && isa<FloatType>(elementType(getOperand())))
    gradients[0] = b.convert(cotangents[0], elementType(getOperand()));
  return success();
}

//===----------------------------------------------------------------------===//
// Two operands
//===----------------------------------------------------------------------===//

MINIGPTC_VJP(AddOp) {
  for (unsigned i : {0, 1})
    if (wanted[i])
      gradients[i] = cotangents[0];
  return success();
}

MINIGPTC_VJP(SubtractOp) {
  if (wanted[0])
    gradients[0] = cotangents[0];
  if (wanted[1])
    gradients[1] = GraphBuilder(builder, getLoc()).negate(cotangents[0]);
  return success();
}

MINIGPTC_VJP(MultiplyOp) {
  GraphBuilder b(builder, getLoc());
  if (wanted[0])
    gradients[0] = b.multiply(cotangents[0], getRhs());
  if (wanted[1])
    gradients[1] = b.multiply(cotangents[0], getLhs());
  return success();
}

MINIGPTC_VJP(DivideOp) {
  GraphBuilder b(builder, getLoc());
  Value quotient = b.divide(cotangents[0], getRhs());
  if (wanted[0])
    gradients[0] = quotient;
  if (wanted[1])
    gradients[1] = b.negate(b.multiply(quotient, getResult()));
  return success();
}

/// The chosen operand gets the cotangent; where both are equal, half each.
static void chosenVjp(GraphBuilder &b, CompareDirection direction, Value lhs, Value rhs,
                      Value cotangent, ArrayRef<bool> wanted, MutableArrayRef<Value> gradients) {
  Value half = b.multiply(cotangent, 0.5);
  Value equal = b.compare(CompareDirection::EQ, lhs, rhs);
  auto gradient = [&](Value own, Value other) {
    return b.select(equal, half, keepWhere(b, b.compare(direction, own, other), cotangent));
  };
  if (wanted[0])
    gradients[0] = gradient(lhs, rhs);
  if (wanted[1])
    gradients[1] = gradient(rhs, lhs);
}

MINIGPTC_VJP(MaximumOp) {
  GraphBuilder b(builder, getLoc());
  chosenVjp(b, CompareDirection::GT, getLhs(), getRhs(), cotangents[0], wanted, gradients);
  return success();
}

MINIGPTC_VJP(MinimumOp) {
  GraphBuilder b(builder, getLoc());
  chosenVjp(b, CompareDirection::LT, getLhs(), getRhs(), cotangents[0], wanted, gradients);
  return success();
}

// d/dx = y · x^(y-1), zero for y = 0 also at x = 0; d/dy = log(x) · x^y, zero
// at x = 0.
MINIGPTC_VJP(PowerOp) {
  GraphBuilder b(builder, getLoc());
  Type narrow = elementType(getResult()), wide = b.accumulatorType(getResult());
  Value x = b.convert(getLhs(), wide), y = b.convert(getRhs(), wide);
  Value cotangent = b.convert(cotangents[0], wide);
  if (wanted[0]) {
    Value exponent =
        b.select(b.compare(CompareDirection::EQ, y, 0), b.onesLike(y), b.subtract(y, 1));
    Value slope = b.multiply(y, b.make<PowerOp>(x, exponent));
    gradients[0] = b.convert(b.multiply(cotangent, slope), narrow);
  }
  if (wanted[1]) {
    Value base = b.select(b.compare(CompareDirection::EQ, x, 0), b.onesLike(x), x);
    Value slope = b.multiply(b.make<LogOp>(base), b.convert(getResult(), wide));
    gradients[1] = b.convert(b.multiply(cotangent, slope), narrow);
  }
  return success();
}

// x rem y = x - y · trunc(x / y), and trunc is flat.
MINIGPTC_VJP(RemainderOp) {
  GraphBuilder b(builder, getLoc());
  if (wanted[0])
    gradients[0] = cotangents[0];
  if (wanted[1]) {
    Value quotient = b.divide(getLhs(), getRhs());
    Value whole = b.multiply(b.make<SignOp>(quotient), b.make<FloorOp>(b.make<AbsOp>(quotient)));
    gradients[1] = b.negate(b.multiply(cotangents[0], whole));
  }
  return success();
}

//===----------------------------------------------------------------------===//
// Three operands
//===----------------------------------------------------------------------===//

MINIGPTC_VJP(SelectOp) {
  GraphBuilder b(builder, getLoc());
  if (wanted[1])
    gradients[1] = keepWhere(b, getPred(), cotangents[0]);
  if (wanted[2])
    gradients[2] = dropWhere(b, getPred(), cotangents[0]);
  return success();
}

// The operand keeps the cotangent at the bounds themselves.
MINIGPTC_VJP(ClampOp) {
  GraphBuilder b(builder, getLoc());
  Value isLow = b.compare(CompareDirection::GT, getLow(), getOperand());
  Value isHigh = b.compare(CompareDirection::LT, getHigh(), b.maximum(getLow(), getOperand()));
  if (wanted[0])
    gradients[0] = dropWhere(b, isHigh, keepWhere(b, isLow, cotangents[0]));
  if (wanted[1])
    gradients[1] = dropWhere(b, isHigh, dropWhere(b, isLow, cotangents[0]));
  if (wanted[2])
    gradients[2] = keepWhere(b, isHigh, cotangents[0]);
  return success();
}
