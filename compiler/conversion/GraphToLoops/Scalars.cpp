//===- Scalars.cpp --------------------------------------------------------===//
#include "compiler/conversion/GraphToLoops/Scalars.h"
#include "mlir/Dialect/Utils/StaticValueUtils.h"

using namespace mlir;
using namespace minigptc::graph::kernel;

Type minigptc::graph::kernel::getScalarType(Type elementType) {
  if (elementType.isBF16())
    return Float32Type::get(elementType.getContext());
  auto integer = dyn_cast<IntegerType>(elementType);
  return integer ? IntegerType::get(integer.getContext(), integer.getWidth()) : elementType;
}

Type minigptc::graph::kernel::getElementType(Value tensor) {
  return cast<RankedTensorType>(tensor.getType()).getElementType();
}

bool minigptc::graph::kernel::isUnsigned(Type elementType) {
  // i1 is 0 or 1, never -1.
  return elementType.isUnsignedInteger() || elementType.isInteger(1);
}

ArrayRef<int64_t> minigptc::graph::kernel::getShape(Value tensor) {
  return cast<RankedTensorType>(tensor.getType()).getShape();
}

Value Scalars::index(int64_t value) { return arith::ConstantIndexOp::create(builder, loc, value); }

Value Scalars::integer(Type type, int64_t value) {
  return integer(type, APInt(type.getIntOrFloatBitWidth(), value, /*isSigned=*/true,
                             /*implicitTrunc=*/true));
}

Value Scalars::integer(Type type, const APInt &value) {
  return arith::ConstantOp::create(builder, loc, type, builder.getIntegerAttr(type, value));
}

Value Scalars::real(Type type, double value) {
  return arith::ConstantOp::create(builder, loc, type, builder.getFloatAttr(type, value));
}

Value Scalars::infinity(Type type, bool negative) {
  APFloat value = APFloat::getInf(cast<FloatType>(type).getFloatSemantics(), negative);
  return arith::ConstantOp::create(builder, loc, type, builder.getFloatAttr(type, value));
}

/// x, if `a` is n·(x / n) and `b` is x mod n: a position taken apart and put together
/// again, as a reshape does, is the same position.
static Value joinedAgain(Value a, Value b) {
  auto product = a.getDefiningOp<arith::MulIOp>();
  auto rest = b.getDefiningOp<arith::RemUIOp>();
  auto quotient = product ? product.getLhs().getDefiningOp<arith::DivUIOp>() : nullptr;
  if (!rest || !quotient || quotient.getLhs() != rest.getLhs())
    return {};
  std::optional<int64_t> n = getConstantIntValue(rest.getRhs());
  bool isSame = n && n == getConstantIntValue(quotient.getRhs()) &&
                n == getConstantIntValue(product.getRhs());
  return isSame ? rest.getLhs() : Value();
}

Value Scalars::add(Value a, Value b) {
  if (Value whole = joinedAgain(a, b))
    return whole;
  return create<arith::AddIOp>(a, b, arith::IntegerOverflowFlags::nsw);
}

Value Scalars::sub(Value a, int64_t b) { return add(a, -b); }

Value Scalars::mul(Value a, int64_t b) {
  return create<arith::MulIOp>(a, index(b), arith::IntegerOverflowFlags::nsw);
}

Value Scalars::div(Value a, int64_t b) { return b == 1 ? a : create<arith::DivUIOp>(a, index(b)); }

Value Scalars::mod(Value a, int64_t b) {
  return b == 1 ? index(0) : create<arith::RemUIOp>(a, index(b));
}

Value Scalars::clamp(Value a, int64_t last) {
  return create<arith::MinSIOp>(create<arith::MaxSIOp>(a, index(0)), index(last));
}

Value Scalars::within(Value a, int64_t lo, int64_t hi, int64_t size) {
  Value result;
  if (lo > 0)
    result = compare(arith::CmpIPredicate::sge, a, index(lo));
  if (hi < size)
    result = both(result, compare(arith::CmpIPredicate::slt, a, index(hi)));
  return result;
}

Value Scalars::both(Value a, Value b) {
  if (!a || !b)
    return a ? a : b;
  return create<arith::AndIOp>(a, b);
}

Value Scalars::compare(arith::CmpIPredicate predicate, Value a, Value b) {
  return create<arith::CmpIOp>(predicate, a, b);
}

Value Scalars::compare(arith::CmpFPredicate predicate, Value a, Value b) {
  return create<arith::CmpFOp>(predicate, a, b);
}

Value Scalars::select(Value condition, Value a, Value b) {
  return create<arith::SelectOp>(condition, a, b);
}

Value Scalars::toIndex(Value element, Type elementType) {
  if (isUnsigned(elementType))
    return create<arith::IndexCastUIOp>(builder.getIndexType(), element);
  return create<arith::IndexCastOp>(builder.getIndexType(), element);
}

Value Scalars::linearise(ValueRange indices, ArrayRef<int64_t> shape) {
  Value position;
  for (auto [index, size] : llvm::zip_equal(indices, shape))
    position = position ? add(mul(position, size), index) : index;
  return position ? position : index(0);
}

SmallVector<Value> Scalars::delinearise(Value position, ArrayRef<int64_t> shape) {
  SmallVector<Value> indices(shape.size());
  // The first dimension that has indices to choose from needs no remainder: the position is in
  // range. A dimension of one element has index 0, however the element is reached: it is known
  // by its indices (Scopes.h).
  size_t first = llvm::find_if(shape, [](int64_t size) { return size != 1; }) - shape.begin();
  for (size_t i = shape.size(); i-- > 0;) {
    indices[i] = i == first ? position : mod(position, shape[i]);
    if (i > first)
      position = div(position, shape[i]);
  }
  return indices;
}

SmallVector<Value> Scalars::reshape(ValueRange indices, ArrayRef<int64_t> shape,
                                    ArrayRef<int64_t> newShape) {
  SmallVector<Value> result;
  size_t i = 0, j = 0;
  while (i < shape.size() || j < newShape.size()) {
    size_t begin = i, newBegin = j;
    int64_t size = i < shape.size() ? shape[i++] : 1;
    int64_t newSize = j < newShape.size() ? newShape[j++] : 1;
    while (size != newSize && (size < newSize ? i < shape.size() : j < newShape.size())) {
      if (size < newSize)
        size *= shape[i++];
      else
        newSize *= newShape[j++];
    }
    Value position = linearise(indices.slice(begin, i - begin), shape.slice(begin, i - begin));
    llvm::append_range(result, delinearise(position, newShape.slice(newBegin, j - newBegin)));
  }
  return result;
}
