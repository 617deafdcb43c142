//===- ElementwiseFolds.cpp - folders of elementwise ops ------------------===//
#include "dialects/graph/IR/Builders.h"
#include "dialects/graph/IR/Folding.h"
#include "dialects/graph/IR/Graph.h"

using namespace mlir;
using namespace minigptc::graph;

using FloatBinary = llvm::function_ref<std::optional<APFloat>(const APFloat &, const APFloat &)>;
using IntBinary =
    llvm::function_ref<std::optional<APInt>(const APInt &, const APInt &, bool isUnsigned)>;

/// Folds two constants of one type element by element.
static Attribute foldBinary(Attribute lhs, Attribute rhs, FloatBinary onFloats, IntBinary onInts) {
  DenseElementsAttr a = getFoldable(lhs), b = getFoldable(rhs);
  if (!a || !b || a.getType() != b.getType())
    return nullptr;
  auto type = cast<RankedTensorType>(a.getType());
  bool splat = a.isSplat() && b.isSplat();
  if (isa<FloatType>(type.getElementType())) {
    if (!onFloats)
      return nullptr;
    ConstantElements<APFloat> x(a), y(b);
    return buildElements<APFloat>(type, splat, [&](int64_t i) { return onFloats(x[i], y[i]); });
  }
  ConstantElements<APInt> x(a), y(b);
  bool asUnsigned = isUnsigned(type.getElementType());
  return buildElements<APInt>(type, splat,
                              [&](int64_t i) { return onInts(x[i], y[i], asUnsigned); });
}

/// A result is kept unless it is NaN, whose payload is the hardware's choice.
static std::optional<APFloat> unlessNan(APFloat value) {
  return value.isNaN() ? std::nullopt : std::optional<APFloat>(std::move(value));
}

// x + (-0) is x for every float; x + 0 is not, for x = -0.
OpFoldResult AddOp::fold(FoldAdaptor adaptor) {
  bool isFloat = isa<FloatType>(elementType(getLhs()));
  if (isSplatOf(adaptor.getRhs(), isFloat ? -0.0 : 0.0))
    return getLhs();
  if (isSplatOf(adaptor.getLhs(), isFloat ? -0.0 : 0.0))
    return getRhs();
  return foldBinary(
      adaptor.getLhs(), adaptor.getRhs(),
      [](const APFloat &x, const APFloat &y) { return unlessNan(x + y); },
      [](const APInt &x, const APInt &y, bool) { return std::optional(x + y); });
}

OpFoldResult SubtractOp::fold(FoldAdaptor adaptor) {
  if (isSplatOf(adaptor.getRhs(), 0.0))
    return getLhs();
  if (getLhs() == getRhs() && isa<IntegerType>(elementType(getLhs())))
    return getSplatAttr(getType(), 0);
  return foldBinary(
      adaptor.getLhs(), adaptor.getRhs(),
      [](const APFloat &x, const APFloat &y) { return unlessNan(x - y); },
      [](const APInt &x, const APInt &y, bool) { return std::optional(x - y); });
}

// x * 0 is folded for integers only: a float may be NaN, infinite or negative.
OpFoldResult MultiplyOp::fold(FoldAdaptor adaptor) {
  if (isSplatOf(adaptor.getRhs(), 1.0))
    return getLhs();
  if (isSplatOf(adaptor.getLhs(), 1.0))
    return getRhs();
  if (isa<IntegerType>(elementType(getLhs()))) {
    if (isSplatOf(adaptor.getRhs(), 0.0))
      return adaptor.getRhs();
    if (isSplatOf(adaptor.getLhs(), 0.0))
      return adaptor.getLhs();
  }
  return foldBinary(
      adaptor.getLhs(), adaptor.getRhs(),
      [](const APFloat &x, const APFloat &y) { return unlessNan(x * y); },
      [](const APInt &x, const APInt &y, bool) { return std::optional(x * y); });
}

OpFoldResult DivideOp::fold(FoldAdaptor adaptor) {
  if (isSplatOf(adaptor.getRhs(), 1.0))
    return getLhs();
  return foldBinary(
      adaptor.getLhs(), adaptor.getRhs(),
      [](const APFloat &x, const APFloat &y) -> std::optional<APFloat> {
        if (y.isZero())
          return std::nullopt;
        return unlessNan(x / y);
      },
      [](const APInt &x, const APInt &y, bool asUnsigned) -> std::optional<APInt> {
        if (y.isZero() || (!asUnsigned && x.isMinSignedValue() && y.isAllOnes()))
          return std::nullopt;
        return asUnsigned ? x.udiv(y) : x.sdiv(y);
      });
}

/// What max(x, y) ignores as y: minus infinity, or the least integer; and the
/// other way round for min.
static bool isNeutral(Attribute attribute, bool ofMaximum) {
  if (std::optional<APFloat> number = getFloatSplat(attribute))
    return number->isInfinity() && number->isNegative() == ofMaximum;
  std::optional<APInt> number = getIntSplat(attribute);
  if (!number)
    return false;
  bool asUnsigned = isUnsigned(cast<DenseElementsAttr>(attribute).getElementType());
  if (ofMaximum)
    return asUnsigned ? number->isMinValue() : number->isMinSignedValue();
  return asUnsigned ? number->isMaxValue() : number->isMaxSignedValue();
}

template <typename Op>
static OpFoldResult foldExtremum(Op op, Attribute lhs, Attribute rhs, bool isMaximum) {
  if (op.getLhs() == op.getRhs() || isNeutral(rhs, isMaximum))
    return op.getLhs();
  if (isNeutral(lhs, isMaximum))
    return op.getRhs();
  return foldBinary(
      lhs, rhs,
      [&](const APFloat &x, const APFloat &y) {
        return unlessNan(isMaximum ? llvm::maximum(x, y) : llvm::minimum(x, y));
      },
      [&](const APInt &x, const APInt &y, bool asUnsigned) {
        bool less = asUnsigned ? x.ult(y) : x.slt(y);
        return std::optional(less == isMaximum ? y : x);
      });
}

OpFoldResult MaximumOp::fold(FoldAdaptor adaptor) {
  return foldExtremum(*this, adaptor.getLhs(), adaptor.getRhs(), /*isMaximum=*/true);
}
OpFoldResult MinimumOp::fold(FoldAdaptor adaptor) {
  return foldExtremum(*this, adaptor.getLhs(), adaptor.getRhs(), /*isMaximum=*/false);
}

/// `absorbing` swallows the other operand, its complement is neutral.
template <typename Op>
static OpFoldResult foldBits(Op op, Attribute lhs, Attribute rhs, int64_t absorbing,
                             std::optional<APInt> (*compute)(const APInt &, const APInt &, bool)) {
  if (op.getLhs() == op.getRhs() || isSplatOf(rhs, double(~absorbing)))
    return op.getLhs();
  if (isSplatOf(lhs, double(~absorbing)))
    return op.getRhs();
  if (isSplatOf(rhs, double(absorbing)))
    return rhs;
  if (isSplatOf(lhs, double(absorbing)))
    return lhs;
  return foldBinary(lhs, rhs, nullptr, compute);
}

OpFoldResult AndOp::fold(FoldAdaptor adaptor) {
  return foldBits(*this, adaptor.getLhs(), adaptor.getRhs(), 0,
                  [](const APInt &x, const APInt &y, bool) { return std::optional(x & y); });
}
OpFoldResult OrOp::fold(FoldAdaptor adaptor) {
  return foldBits(*this, adaptor.getLhs(), adaptor.getRhs(), -1,
                  [](const APInt &x, const APInt &y, bool) { return std::optional(x | y); });
}

OpFoldResult NegateOp::fold(FoldAdaptor adaptor) {
  if (auto inner = getOperand().getDefiningOp<NegateOp>())
    return inner.getOperand();
  DenseElementsAttr constant = getFoldable(adaptor.getOperand());
  if (!constant)
    return nullptr;
  if (isa<FloatType>(constant.getElementType())) {
    ConstantElements<APFloat> x(constant);
    return buildElements<APFloat>(getType(), constant.isSplat(),
                                  [&](int64_t i) { return std::optional(-x[i]); });
  }
  ConstantElements<APInt> x(constant);
  return buildElements<APInt>(getType(), constant.isSplat(),
                              [&](int64_t i) { return std::optional(-x[i]); });
}

OpFoldResult NotOp::fold(FoldAdaptor adaptor) {
  if (auto inner = getOperand().getDefiningOp<NotOp>())
    return inner.getOperand();
  DenseElementsAttr constant = getFoldable(adaptor.getOperand());
  if (!constant)
    return nullptr;
  ConstantElements<APInt> x(constant);
  return buildElements<APInt>(getType(), constant.isSplat(),
                              [&](int64_t i) { return std::optional(~x[i]); });
}

static bool holds(CompareDirection direction, bool less, bool equal, bool greater) {
  switch (direction) {
  case CompareDirection::EQ: return equal;
  case CompareDirection::NE: return !equal;
  case CompareDirection::LT: return less;
  case CompareDirection::LE: return less || equal;
  case CompareDirection::GT: return greater;
  case CompareDirection::GE: return greater || equal;
  }
  llvm_unreachable("all directions handled");
}

OpFoldResult CompareOp::fold(FoldAdaptor adaptor) {
  Type element = elementType(getLhs());
  CompareDirection direction = getDirection();
  if (getLhs() == getRhs() && isa<IntegerType>(element))
    return getSplatAttr(getType(), holds(direction, false, true, false));
  DenseElementsAttr a = getFoldable(adaptor.getLhs()), b = getFoldable(adaptor.getRhs());
  if (!a || !b)
    return nullptr;
  bool splat = a.isSplat() && b.isSplat();
  if (isa<FloatType>(element)) {
    ConstantElements<APFloat> x(a), y(b);
    return buildElements<APInt>(getType(), splat, [&](int64_t i) {
      APFloat::cmpResult order = x[i].compare(y[i]);
      return std::optional(
          APInt(1, holds(direction, order == APFloat::cmpLessThan, order == APFloat::cmpEqual,
                         order == APFloat::cmpGreaterThan)));
    });
  }
  ConstantElements<APInt> x(a), y(b);
  bool asUnsigned = isUnsigned(element);
  return buildElements<APInt>(getType(), splat, [&](int64_t i) {
    bool less = asUnsigned ? x[i].ult(y[i]) : x[i].slt(y[i]), equal = x[i] == y[i];
    return std::optional(APInt(1, holds(direction, less, equal, !less && !equal)));
  });
}

OpFoldResult SelectOp::fold(FoldAdaptor adaptor) {
  if (getOnTrue() == getOnFalse())
    return getOnTrue();
  if (std::optional<APInt> pred = getIntSplat(adaptor.getPred()))
    return pred->isZero() ? getOnFalse() : getOnTrue();
  return nullptr;
}
