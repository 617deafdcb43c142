//===- Selection.cpp - compare, select, clamp, conversions ----------------===//
#include "compiler/interpreter/Element.h"
#include "compiler/interpreter/Models.h"

#include <cmath>
#include <limits>

using namespace mlir;
using namespace minigptc;
using namespace minigptc::graph;
using namespace minigptc::interpreter;

template <typename W> static bool compare(CompareDirection direction, W x, W y) {
  switch (direction) {
  case CompareDirection::EQ: return x == y;
  case CompareDirection::NE: return x != y;
  case CompareDirection::LT: return x < y;
  case CompareDirection::LE: return x <= y;
  case CompareDirection::GT: return x > y;
  case CompareDirection::GE: return x >= y;
  }
  llvm_unreachable("all directions are handled");
}

static LogicalResult evaluateCompare(CompareOp op, ArrayRef<Tensor> operands,
                                     SmallVectorImpl<Tensor> &results) {
  Tensor result(resultType(op));
  MutableArrayRef<bool> out = mutableElements<bool>(result);
  dispatch(operands[0].getType().getElementType(), [&]<typename T>() {
    ArrayRef<T> lhs = elements<T>(operands[0]), rhs = elements<T>(operands[1]);
    for (size_t i = 0; i < out.size(); ++i)
      out[i] = compare(op.getDirection(), widen(lhs[i]), widen(rhs[i]));
  });
  results.push_back(std::move(result));
  return success();
}

static LogicalResult evaluateIsFinite(IsFiniteOp op, ArrayRef<Tensor> operands,
                                      SmallVectorImpl<Tensor> &results) {
  Tensor result(resultType(op));
  dispatchFloat(operands[0].getType().getElementType(), [&]<typename T>() {
    llvm::transform(elements<T>(operands[0]), mutableElements<bool>(result).begin(),
                    [](T x) { return bool(std::isfinite(widen(x))); });
  });
  results.push_back(std::move(result));
  return success();
}

static LogicalResult evaluateSelect(SelectOp op, ArrayRef<Tensor> operands,
                                    SmallVectorImpl<Tensor> &results) {
  ArrayRef<bool> pred = elements<bool>(operands[0]);
  bool scalar = operands[0].getType().getRank() == 0;
  Tensor result(resultType(op));
  dispatch(result.getType().getElementType(), [&]<typename T>() {
    ArrayRef<T> onTrue = elements<T>(operands[1]), onFalse = elements<T>(operands[2]);
    MutableArrayRef<T> out = mutableElements<T>(result);
    for (size_t i = 0; i < out.size(); ++i)
      out[i] = pred[scalar ? 0 : i] ? onTrue[i] : onFalse[i];
  });
  results.push_back(std::move(result));
  return success();
}

/// As `minimum(maximum(x, low), high)`: NaN anywhere gives NaN.
template <typename W> static W clamp(W low, W x, W high) {
  if constexpr (std::is_floating_point_v<W>)
    if (std::isnan(low) || std::isnan(x) || std::isnan(high))
      return std::numeric_limits<W>::quiet_NaN();
  return std::min(std::max(x, low), high);
}

static LogicalResult evaluateClamp(ClampOp op, ArrayRef<Tensor> operands,
                                   SmallVectorImpl<Tensor> &results) {
  Tensor result(resultType(op));
  dispatch(result.getType().getElementType(), [&]<typename T>() {
    ArrayRef<T> low = elements<T>(operands[0]), x = elements<T>(operands[1]),
                high = elements<T>(operands[2]);
    MutableArrayRef<T> out = mutableElements<T>(result);
    for (size_t i = 0; i < out.size(); ++i)
      out[i] = narrow<T>(clamp(widen(low[i]), widen(x[i]), widen(high[i])));
  });
  results.push_back(std::move(result));
  return success();
}

/// Truncates towards zero and saturates; NaN gives 0.
template <typename To> static To toInteger(double value) {
  using Limits = std::numeric_limits<To>;
  if (std::isnan(value))
    return 0;
  // 2^width (or half of it) is exact in double, max() may not be.
  if (value >= std::ldexp(1.0, Limits::digits))
    return Limits::max();
  if (value <= double(Limits::min()))
    return Limits::min();
  return To(value);
}

template <typename To, typename From> static To convert(From value) {
  if constexpr (std::is_same_v<To, bool>)
    return value != From(0);
  else if constexpr (std::is_integral_v<To> && std::is_floating_point_v<From>)
    return toInteger<To>(value);
  else
    return narrow<To>(value);
}

static LogicalResult evaluateConvert(ConvertOp op, ArrayRef<Tensor> operands,
                                     SmallVectorImpl<Tensor> &results) {
  Tensor result(resultType(op));
  dispatch(operands[0].getType().getElementType(), [&]<typename From>() {
    dispatch(result.getType().getElementType(), [&]<typename To>() {
      llvm::transform(elements<From>(operands[0]), mutableElements<To>(result).begin(),
                      [](From x) { return convert<To>(widen(x)); });
    });
  });
  results.push_back(std::move(result));
  return success();
}

static LogicalResult evaluateBitcast(BitcastConvertOp op, ArrayRef<Tensor> operands,
                                     SmallVectorImpl<Tensor> &results) {
  Tensor result(resultType(op));
  std::copy_n(operands[0].data(), result.getNumBytes(), result.mutableData());
  results.push_back(std::move(result));
  return success();
}

void interpreter::attachSelectionModels(MLIRContext *context) {
  attachModel<CompareOp, evaluateCompare>(context);
  attachModel<IsFiniteOp, evaluateIsFinite>(context);
  attachModel<SelectOp, evaluateSelect>(context);
  attachModel<ClampOp, evaluateClamp>(context);
  attachModel<ConvertOp, evaluateConvert>(context);
  attachModel<BitcastConvertOp, evaluateBitcast>(context);
}
