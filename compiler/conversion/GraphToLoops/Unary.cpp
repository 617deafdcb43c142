//===- Unary.cpp - kernels of elementwise ops with one operand ------------===//
#include "compiler/conversion/GraphToLoops/Scalars.h"
#include "mlir/Dialect/Math/IR/Math.h"

using namespace mlir;
using namespace minigptc::graph;
using namespace minigptc::graph::kernel;

namespace {

/// An op that is one op of `math`.
template <typename OpTy, typename MathOp>
Value emitMath(OpTy, Scalars s, ValueRange indices, Load load) {
  return MathOp::create(s.builder, s.loc, load(0, indices));
}

Value emitRsqrt(RsqrtOp, Scalars s, ValueRange indices, Load load) {
  Value x = load(0, indices);
  Value root = math::SqrtOp::create(s.builder, s.loc, x);
  return s.create<arith::DivFOp>(s.real(x.getType(), 1.0), root);
}

/// With e = exp(-|x|) in (0, 1]: 1/(1+e) for x ≥ 0, e/(1+e) below.
Value emitLogistic(LogisticOp, Scalars s, ValueRange indices, Load load) {
  Value x = load(0, indices);
  Type type = x.getType();
  Value magnitude = math::AbsFOp::create(s.builder, s.loc, x);
  Value e = math::ExpOp::create(s.builder, s.loc, s.create<arith::NegFOp>(magnitude));
  Value one = s.real(type, 1.0);
  Value positive = s.compare(arith::CmpFPredicate::OGE, x, s.real(type, 0.0));
  return s.create<arith::DivFOp>(s.select(positive, one, e), s.create<arith::AddFOp>(one, e));
}

Value emitAbs(AbsOp op, Scalars s, ValueRange indices, Load load) {
  Value x = load(0, indices);
  Type type = getElementType(op.getOperand());
  if (isa<FloatType>(type))
    return math::AbsFOp::create(s.builder, s.loc, x);
  if (isUnsigned(type))
    return x;
  return math::AbsIOp::create(s.builder, s.loc, x);
}

Value emitNegate(NegateOp op, Scalars s, ValueRange indices, Load load) {
  Value x = load(0, indices);
  if (isa<FloatType>(x.getType()))
    return s.create<arith::NegFOp>(x);
  return s.create<arith::SubIOp>(s.integer(x.getType(), 0), x);
}

/// Zeros and NaN stand for themselves.
Value emitSign(SignOp op, Scalars s, ValueRange indices, Load load) {
  Value x = load(0, indices);
  Type type = x.getType();
  if (isa<FloatType>(type)) {
    Value zero = s.real(type, 0.0);
    Value negative = s.compare(arith::CmpFPredicate::OLT, x, zero);
    Value positive = s.compare(arith::CmpFPredicate::OGT, x, zero);
    return s.select(positive, s.real(type, 1.0), s.select(negative, s.real(type, -1.0), x));
  }
  Value zero = s.integer(type, 0);
  Value one = s.integer(type, 1);
  Value isZero = s.compare(arith::CmpIPredicate::eq, x, zero);
  if (isUnsigned(getElementType(op.getOperand())))
    return s.select(isZero, zero, one);
  Value negative = s.compare(arith::CmpIPredicate::slt, x, zero);
  return s.select(isZero, zero, s.select(negative, s.integer(type, -1), one));
}

Value emitNot(NotOp, Scalars s, ValueRange indices, Load load) {
  Value x = load(0, indices);
  return s.create<arith::XOrIOp>(x, s.integer(x.getType(), -1));
}

/// |x| is less than infinity; a comparison with NaN is false.
Value emitIsFinite(IsFiniteOp, Scalars s, ValueRange indices, Load load) {
  Value x = load(0, indices);
  Value magnitude = math::AbsFOp::create(s.builder, s.loc, x);
  return s.compare(arith::CmpFPredicate::OLT, magnitude, s.infinity(x.getType(), false));
}

} // namespace

void minigptc::graph::kernel::attachUnaryModels(MLIRContext *context) {
  attach<CbrtOp, emitMath<CbrtOp, math::CbrtOp>>(context);
  attach<CeilOp, emitMath<CeilOp, math::CeilOp>>(context);
  attach<CosineOp, emitMath<CosineOp, math::CosOp>>(context);
  attach<ErfOp, emitMath<ErfOp, math::ErfOp>>(context);
  attach<ExponentialOp, emitMath<ExponentialOp, math::ExpOp>>(context);
  attach<ExponentialMinusOneOp, emitMath<ExponentialMinusOneOp, math::ExpM1Op>>(context);
  attach<FloorOp, emitMath<FloorOp, math::FloorOp>>(context);
  attach<LogOp, emitMath<LogOp, math::LogOp>>(context);
  attach<LogPlusOneOp, emitMath<LogPlusOneOp, math::Log1pOp>>(context);
  attach<RoundNearestEvenOp, emitMath<RoundNearestEvenOp, math::RoundEvenOp>>(context);
  attach<SineOp, emitMath<SineOp, math::SinOp>>(context);
  attach<SqrtOp, emitMath<SqrtOp, math::SqrtOp>>(context);
  attach<TanhOp, emitMath<TanhOp, math::TanhOp>>(context);
  attach<RsqrtOp, emitRsqrt>(context);
  attach<LogisticOp, emitLogistic>(context);
  attach<AbsOp, emitAbs>(context);
  attach<NegateOp, emitNegate>(context);
  attach<SignOp, emitSign>(context);
  attach<NotOp, emitNot>(context);
  attach<IsFiniteOp, emitIsFinite>(context);
}
