//===- Conversion.cpp - kernels of changes of the element type ------------===//
#include "compiler/conversion/GraphToLoops/BFloat16.h"

using namespace mlir;
using namespace minigptc::graph;
using namespace minigptc::graph::kernel;

namespace {

/// Truncates towards zero and saturates; NaN gives 0. `arith`'s conversion is
/// undefined out of range, so its result is only chosen where it is in range.
Value floatToInt(Scalars &s, Value x, Type type, bool isUnsignedType) {
  unsigned width = type.getIntOrFloatBitWidth();
  Type floatType = x.getType();
  // The first value above the range, exact in every float type.
  double limit = std::ldexp(1.0, isUnsignedType ? width : width - 1);
  APInt largest = isUnsignedType ? APInt::getMaxValue(width) : APInt::getSignedMaxValue(width);
  APInt least = isUnsignedType ? APInt(width, 0) : APInt::getSignedMinValue(width);
  Value above = s.compare(arith::CmpFPredicate::OGE, x, s.real(floatType, limit));
  Value below = isUnsignedType ? s.compare(arith::CmpFPredicate::OLE, x, s.real(floatType, -1.0))
                               : s.compare(arith::CmpFPredicate::OLT, x, s.real(floatType, -limit));
  Value isNan = s.compare(arith::CmpFPredicate::UNO, x, x);
  Value outside = s.create<arith::OrIOp>(s.create<arith::OrIOp>(above, below), isNan);
  Value safe = s.select(outside, s.real(floatType, 0.0), x);
  Value inside = isUnsignedType ? s.create<arith::FPToUIOp>(type, safe)
                                : s.create<arith::FPToSIOp>(type, safe);
  Value result = s.select(above, s.integer(type, largest), inside);
  return s.select(below, s.integer(type, least), result);
}

Value toBool(Scalars &s, Value x) {
  if (isa<FloatType>(x.getType()))
    return s.compare(arith::CmpFPredicate::UNE, x, s.real(x.getType(), 0.0));
  return s.compare(arith::CmpIPredicate::ne, x, s.integer(x.getType(), 0));
}

Value fromFloat(Scalars &s, Value x, Type type, bool toUnsigned) {
  if (!isa<FloatType>(type))
    return floatToInt(s, x, type, toUnsigned);
  unsigned from = x.getType().getIntOrFloatBitWidth(), to = type.getIntOrFloatBitWidth();
  if (to > from)
    return s.create<arith::ExtFOp>(type, x);
  return to < from ? s.create<arith::TruncFOp>(type, x) : x;
}

Value fromInt(Scalars &s, Value x, Type type, bool fromUnsigned) {
  if (isa<FloatType>(type))
    return fromUnsigned ? s.create<arith::UIToFPOp>(type, x) : s.create<arith::SIToFPOp>(type, x);
  unsigned from = x.getType().getIntOrFloatBitWidth(), to = type.getIntOrFloatBitWidth();
  if (to < from)
    return s.create<arith::TruncIOp>(type, x);
  if (to == from)
    return x;
  return fromUnsigned ? s.create<arith::ExtUIOp>(type, x) : s.create<arith::ExtSIOp>(type, x);
}

Value emitConvert(ConvertOp op, Scalars s, ValueRange indices, Load load) {
  Value x = load(0, indices);
  Type from = getElementType(op.getOperand()), to = getElementType(op.getResult());
  Type type = getScalarType(to);
  if (from == to)
    return x;
  if (to.isInteger(1))
    return toBool(s, x);
  if (to.isBF16() && x.getType().isF64())
    return narrowForBFloat16(s, x);
  if (to.isBF16() && isa<IntegerType>(from))
    return integerForBFloat16(s, x, isUnsigned(from));
  if (isa<FloatType>(from))
    return fromFloat(s, x, type, isUnsigned(to));
  return fromInt(s, x, type, isUnsigned(from));
}

Value emitBitcast(BitcastConvertOp op, Scalars s, ValueRange indices, Load load) {
  Value x = load(0, indices);
  Type type = getScalarType(getElementType(op.getResult()));
  return type == x.getType() ? x : s.create<arith::BitcastOp>(type, x);
}

} // namespace

void minigptc::graph::kernel::attachConversionModels(MLIRContext *context) {
  attach<ConvertOp, emitConvert>(context);
  attach<BitcastConvertOp, emitBitcast>(context);
}
