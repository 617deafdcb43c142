//===- BFloat16.cpp -------------------------------------------------------===//
#include "compiler/conversion/GraphToLoops/BFloat16.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Utils/StaticValueUtils.h"
#include "mlir/IR/Matchers.h"

using namespace mlir;
using namespace minigptc::graph::kernel;

static constexpr uint32_t kUpperHalf = 0xffff0000;

/// `element`, or a vector of it where `like` is one.
static Type shaped(Type like, Type element) {
  auto vector = dyn_cast<VectorType>(like);
  return vector ? vector.clone(element) : element;
}

/// i32s with these bits, one or a vector.
static Value bitPattern(Scalars s, Type like, uint32_t bits) {
  Type type = shaped(like, s.builder.getI32Type());
  APInt value(32, bits);
  if (auto vector = dyn_cast<VectorType>(type))
    return arith::ConstantOp::create(s.builder, s.loc, DenseElementsAttr::get(vector, value));
  return s.integer(type, value);
}

Value minigptc::graph::kernel::widenBFloat16(Scalars s, Value bits) {
  Type like = bits.getType();
  Value wide = s.create<arith::ExtUIOp>(shaped(like, s.builder.getI32Type()), bits);
  Value upper = s.create<arith::ShLIOp>(wide, bitPattern(s, like, 16));
  return s.create<arith::BitcastOp>(shaped(like, s.builder.getF32Type()), upper);
}

Value minigptc::graph::kernel::getBFloat16Bits(Scalars s, Value value) {
  Type like = value.getType();
  Value bits = s.create<arith::BitcastOp>(shaped(like, s.builder.getI32Type()), value);
  Value upper = s.create<arith::ShRUIOp>(bits, bitPattern(s, like, 16));
  return s.create<arith::TruncIOp>(shaped(like, s.builder.getI16Type()), upper);
}

/// True if the value is a bf16 by the operations that make it: widened or rounded, or
/// chosen among or copied from such values.
static bool isBFloat16(Value value, int depth = 0) {
  constexpr int kMaxDepth = 8;
  Operation *op = value.getDefiningOp();
  if (!op || depth == kMaxDepth)
    return false;
  if (APFloat constant(0.0f); matchPattern(op, m_ConstantFloat(&constant))) {
    bool losesInfo = false;
    APFloat narrow = constant;
    narrow.convert(APFloat::BFloat(), APFloat::rmNearestTiesToEven, &losesInfo);
    return !losesInfo;
  }
  auto all = [&](ValueRange values) {
    return llvm::all_of(values, [&](Value v) { return isBFloat16(v, depth + 1); });
  };
  if (auto select = dyn_cast<arith::SelectOp>(op))
    return all({select.getTrueValue(), select.getFalseValue()});
  if (isa<arith::MaximumFOp, arith::MinimumFOp, arith::NegFOp, math::AbsFOp>(op))
    return all(op->getOperands());
  if (auto branch = dyn_cast<scf::IfOp>(op)) {
    unsigned number = cast<OpResult>(value).getResultNumber();
    return all({branch.thenYield().getOperand(number), branch.elseYield().getOperand(number)});
  }
  Operation *bits = isa<arith::BitcastOp>(op) ? op->getOperand(0).getDefiningOp() : nullptr;
  if (!bits || bits->getNumOperands() != 2)
    return false;
  std::optional<int64_t> constant = getConstantIntValue(bits->getOperand(1));
  return (isa<arith::ShLIOp>(bits) && constant == 16) ||
         (isa<arith::AndIOp>(bits) && constant && uint32_t(*constant) == kUpperHalf);
}

Value minigptc::graph::kernel::roundToBFloat16(Scalars s, Value value) {
  if (isBFloat16(value))
    return value;
  Type like = value.getType();
  auto pattern = [&](uint32_t bits) { return bitPattern(s, like, bits); };
  Value bits = s.create<arith::BitcastOp>(shaped(like, s.builder.getI32Type()), value);
  Value last = s.create<arith::AndIOp>(s.create<arith::ShRUIOp>(bits, pattern(16)), pattern(1));
  Value rounded = s.create<arith::AddIOp>(bits, s.create<arith::AddIOp>(last, pattern(0x7fff)));
  Value quiet = s.create<arith::OrIOp>(bits, pattern(0x00400000));
  Value isNan = s.compare(arith::CmpFPredicate::UNO, value, value);
  Value upper = s.create<arith::AndIOp>(s.select(isNan, quiet, rounded), pattern(kUpperHalf));
  return s.create<arith::BitcastOp>(like, upper);
}

/// Rounds towards zero, and sets the last bit where that is not exact: no tie between two
/// bf16 can come of what is none.
Value minigptc::graph::kernel::narrowForBFloat16(Scalars s, Value wide) {
  Type i32 = s.builder.getI32Type();
  Value nearest = s.create<arith::TruncFOp>(s.builder.getF32Type(), wide);
  Value back = s.create<arith::ExtFOp>(wide.getType(), nearest);
  auto magnitude = [&](Value x) -> Value { return math::AbsFOp::create(s.builder, s.loc, x); };
  Value above = s.compare(arith::CmpFPredicate::OGT, magnitude(back), magnitude(wide));
  Value inexact = s.compare(arith::CmpFPredicate::UNE, back, wide);
  Value bits = s.create<arith::BitcastOp>(i32, nearest);
  bits = s.select(above, s.create<arith::SubIOp>(bits, s.integer(i32, 1)), bits);
  bits = s.select(inexact, s.create<arith::OrIOp>(bits, s.integer(i32, 1)), bits);
  return s.create<arith::BitcastOp>(s.builder.getF32Type(), bits);
}

Value minigptc::graph::kernel::integerForBFloat16(Scalars s, Value integer, bool isUnsigned) {
  unsigned width = integer.getType().getIntOrFloatBitWidth();
  auto convert = [&](Type type, Value x) {
    return isUnsigned ? s.create<arith::UIToFPOp>(type, x) : s.create<arith::SIToFPOp>(type, x);
  };
  if (width < 24)
    return convert(s.builder.getF32Type(), integer);
  Type type = integer.getType(), f64 = s.builder.getF64Type();
  if (width > 53) { // the lowest bits as one, so that f64 holds large numbers exactly
    constexpr int64_t low = 0xfff;
    Value rest = s.create<arith::AndIOp>(integer, s.integer(type, low));
    Value upper = s.create<arith::AndIOp>(integer, s.integer(type, ~low));
    Value sticky = s.create<arith::OrIOp>(upper, s.integer(type, (low + 1) / 2));
    Value isWhole = s.compare(arith::CmpIPredicate::eq, rest, s.integer(type, 0));
    Value large = s.select(isWhole, integer, sticky);
    Value limit = s.integer(type, int64_t(1) << 53);
    Value isSmall =
        isUnsigned ? s.compare(arith::CmpIPredicate::ult, integer, limit)
                   : s.create<arith::AndIOp>(s.compare(arith::CmpIPredicate::slt, integer, limit),
                                             s.compare(arith::CmpIPredicate::sgt, integer,
                                                       s.integer(type, -(int64_t(1) << 53))));
    integer = s.select(isSmall, integer, large);
  }
  return narrowForBFloat16(s, convert(f64, integer));
}
