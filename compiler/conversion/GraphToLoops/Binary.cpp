//===- Binary.cpp - kernels of elementwise ops with two operands ----------===//
#include "compiler/conversion/GraphToLoops/Scalars.h"
#include "mlir/Dialect/Math/IR/Math.h"

using namespace mlir;
using namespace minigptc::graph;
using namespace minigptc::graph::kernel;

namespace {

/// One op for floats, another for integers, signed or not.
template <typename OpTy, typename FloatOp, typename IntOp>
Value emitArithmetic(OpTy, Scalars s, ValueRange indices, Load load) {
  Value x = load(0, indices), y = load(1, indices);
  if (isa<FloatType>(x.getType()))
    return s.create<FloatOp>(x, y);
  return s.create<IntOp>(x, y);
}

template <typename OpTy, typename FloatOp, typename SignedOp, typename UnsignedOp>
Value emitExtremum(OpTy op, Scalars s, ValueRange indices, Load load) {
  Value x = load(0, indices), y = load(1, indices);
  if (isa<FloatType>(x.getType()))
    return s.create<FloatOp>(x, y);
  if (isUnsigned(getElementType(op.getLhs())))
    return s.create<UnsignedOp>(x, y);
  return s.create<SignedOp>(x, y);
}

template <typename OpTy, typename BitOp>
Value emitBits(OpTy, Scalars s, ValueRange indices, Load load) {
  return s.create<BitOp>(load(0, indices), load(1, indices));
}

/// What an integer division divides by: 1 where the machine would trap, which is
/// for y = 0 and, signed, for the least x by -1 (whose quotient wraps to x).
struct SafeDivisor {
  Value byZero, overflows, divisor;

  SafeDivisor(Scalars &s, Value x, Value y, bool isSigned) {
    Type type = x.getType();
    unsigned width = type.getIntOrFloatBitWidth();
    byZero = s.compare(arith::CmpIPredicate::eq, y, s.integer(type, 0));
    Value unsafe = byZero;
    if (isSigned) {
      Value least = s.integer(type, APInt::getSignedMinValue(width));
      overflows = s.both(s.compare(arith::CmpIPredicate::eq, x, least),
                         s.compare(arith::CmpIPredicate::eq, y, s.integer(type, -1)));
      unsafe = s.create<arith::OrIOp>(byZero, overflows);
    }
    divisor = s.select(unsafe, s.integer(type, 1), y);
  }
};

Value emitDivide(DivideOp op, Scalars s, ValueRange indices, Load load) {
  Value x = load(0, indices), y = load(1, indices);
  if (isa<FloatType>(x.getType()))
    return s.create<arith::DivFOp>(x, y);
  bool isSigned = !isUnsigned(getElementType(op.getLhs()));
  SafeDivisor safe(s, x, y, isSigned);
  Value quotient = isSigned ? s.create<arith::DivSIOp>(x, safe.divisor)
                            : s.create<arith::DivUIOp>(x, safe.divisor);
  return s.select(safe.byZero, s.integer(x.getType(), -1), quotient);
}

Value emitRemainder(RemainderOp op, Scalars s, ValueRange indices, Load load) {
  Value x = load(0, indices), y = load(1, indices);
  if (isa<FloatType>(x.getType()))
    return s.create<arith::RemFOp>(x, y);
  bool isSigned = !isUnsigned(getElementType(op.getLhs()));
  SafeDivisor safe(s, x, y, isSigned);
  Value rest = isSigned ? s.create<arith::RemSIOp>(x, safe.divisor)
                        : s.create<arith::RemUIOp>(x, safe.divisor);
  return s.select(safe.byZero, x, rest);
}

Value emitPower(PowerOp, Scalars s, ValueRange indices, Load load) {
  return math::PowFOp::create(s.builder, s.loc, load(0, indices), load(1, indices));
}

/// A shift by the width or more is undefined in `arith`: the result is chosen.
template <typename OpTy, typename ShiftOp, bool fillsSign>
Value emitShift(OpTy, Scalars s, ValueRange indices, Load load) {
  Value x = load(0, indices), y = load(1, indices);
  Type type = x.getType();
  unsigned width = type.getIntOrFloatBitWidth();
  Value fits = s.compare(arith::CmpIPredicate::ult, y, s.integer(type, width));
  if (fillsSign)
    return s.create<ShiftOp>(x, s.select(fits, y, s.integer(type, width - 1)));
  Value zero = s.integer(type, 0);
  return s.select(fits, s.create<ShiftOp>(x, s.select(fits, y, zero)), zero);
}

} // namespace

void minigptc::graph::kernel::attachBinaryModels(MLIRContext *context) {
  attach<AddOp, emitArithmetic<AddOp, arith::AddFOp, arith::AddIOp>>(context);
  attach<SubtractOp, emitArithmetic<SubtractOp, arith::SubFOp, arith::SubIOp>>(context);
  attach<MultiplyOp, emitArithmetic<MultiplyOp, arith::MulFOp, arith::MulIOp>>(context);
  attach<MaximumOp, emitExtremum<MaximumOp, arith::MaximumFOp, arith::MaxSIOp, arith::MaxUIOp>>(
      context);
  attach<MinimumOp, emitExtremum<MinimumOp, arith::MinimumFOp, arith::MinSIOp, arith::MinUIOp>>(
      context);
  attach<AndOp, emitBits<AndOp, arith::AndIOp>>(context);
  attach<OrOp, emitBits<OrOp, arith::OrIOp>>(context);
  attach<XorOp, emitBits<XorOp, arith::XOrIOp>>(context);
  attach<DivideOp, emitDivide>(context);
  attach<RemainderOp, emitRemainder>(context);
  attach<PowerOp, emitPower>(context);
  attach<ShiftLeftOp, emitShift<ShiftLeftOp, arith::ShLIOp, false>>(context);
  attach<ShiftRightLogicalOp, emitShift<ShiftRightLogicalOp, arith::ShRUIOp, false>>(context);
  attach<ShiftRightArithmeticOp, emitShift<ShiftRightArithmeticOp, arith::ShRSIOp, true>>(context);
}
