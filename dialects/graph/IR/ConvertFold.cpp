//===- ConvertFold.cpp - folder of graph.convert --------------------------===//
#include "dialects/graph/IR/Folding.h"
#include "dialects/graph/IR/Graph.h"
#include "llvm/ADT/APSInt.h"

using namespace mlir;
using namespace minigptc::graph;

/// Bits of an integer's magnitude: i32 has 31, ui32 has 32, i1 has 1.
static unsigned magnitudeBits(IntegerType type) {
  return type.getWidth() - (isUnsigned(type) ? 0 : 1);
}

/// True if every value of `from` is a value of `to`.
static bool isExact(Type from, Type to) {
  if (from == to)
    return true;
  auto fromInt = dyn_cast<IntegerType>(from), toInt = dyn_cast<IntegerType>(to);
  if (fromInt && toInt)
    return !toInt.isInteger(1) && magnitudeBits(fromInt) <= magnitudeBits(toInt) &&
           (isUnsigned(fromInt) || !isUnsigned(toInt));
  if (fromInt)
    return magnitudeBits(fromInt) <= cast<FloatType>(to).getFPMantissaWidth();
  if (toInt)
    return false;
  const llvm::fltSemantics &a = cast<FloatType>(from).getFloatSemantics();
  const llvm::fltSemantics &b = cast<FloatType>(to).getFloatSemantics();
  return APFloat::semanticsPrecision(a) <= APFloat::semanticsPrecision(b) &&
         APFloat::semanticsMaxExponent(a) <= APFloat::semanticsMaxExponent(b) &&
         APFloat::semanticsMinExponent(a) >= APFloat::semanticsMinExponent(b);
}

/// True if converting `from` → `middle` → `to` is the same as `from` → `to`.
/// Integers wrap into narrower integers while floats saturate, so that a detour
/// over floats counts only back to a type that holds all values.
static bool canSkip(Type from, Type middle, Type to) {
  if (!isExact(from, middle))
    return false;
  bool detour = isa<IntegerType>(from) && isa<FloatType>(middle) && isa<IntegerType>(to);
  return !detour || isExact(from, to);
}

static APFloat toFloat(const APFloat &value, FloatType type) {
  APFloat result = value;
  bool losesInfo;
  result.convert(type.getFloatSemantics(), APFloat::rmNearestTiesToEven, &losesInfo);
  return result;
}

static APFloat toFloat(const APInt &value, bool asUnsigned, FloatType type) {
  APFloat result(type.getFloatSemantics());
  result.convertFromAPInt(value, !asUnsigned, APFloat::rmNearestTiesToEven);
  return result;
}

/// Truncates towards zero and saturates; NaN gives 0; i1 is "nonzero".
static APInt toInt(const APFloat &value, IntegerType type) {
  if (type.isInteger(1))
    return APInt(1, !value.isZero());
  llvm::APSInt result(type.getWidth(), isUnsigned(type));
  bool exact;
  if (!value.isNaN())
    value.convertToInteger(result, APFloat::rmTowardZero, &exact);
  return result;
}

static APInt toInt(const APInt &value, bool asUnsigned, IntegerType type) {
  if (type.isInteger(1))
    return APInt(1, !value.isZero());
  return asUnsigned ? value.zextOrTrunc(type.getWidth()) : value.sextOrTrunc(type.getWidth());
}

template <typename From>
static Attribute foldElements(DenseElementsAttr constant, RankedTensorType type) {
  ConstantElements<From> x(constant);
  bool asUnsigned = isUnsigned(constant.getElementType());
  if (auto element = dyn_cast<FloatType>(type.getElementType()))
    return buildElements<APFloat>(type, constant.isSplat(), [&](int64_t i) {
      if constexpr (std::is_same_v<From, APFloat>)
        return std::optional(toFloat(x[i], element));
      else
        return std::optional(toFloat(x[i], asUnsigned, element));
    });
  auto element = cast<IntegerType>(type.getElementType());
  return buildElements<APInt>(type, constant.isSplat(), [&](int64_t i) {
    if constexpr (std::is_same_v<From, APFloat>)
      return std::optional(toInt(x[i], element));
    else
      return std::optional(toInt(x[i], asUnsigned, element));
  });
}

OpFoldResult ConvertOp::fold(FoldAdaptor adaptor) {
  if (getOperand().getType() == getType())
    return getOperand();
  if (DenseElementsAttr constant = getFoldable(adaptor.getOperand())) {
    if (isa<FloatType>(constant.getElementType()))
      return foldElements<APFloat>(constant, getType());
    return foldElements<APInt>(constant, getType());
  }
  auto inner = getOperand().getDefiningOp<ConvertOp>();
  if (!inner)
    return nullptr;
  Type from = inner.getOperand().getType().getElementType(),
       middle = inner.getType().getElementType();
  if (!canSkip(from, middle, getType().getElementType()))
    return nullptr;
  setOperand(inner.getOperand());
  return getResult();
}
