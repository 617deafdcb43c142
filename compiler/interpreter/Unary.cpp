//===- Unary.cpp - elementwise ops of one operand -------------------------===//
#include "compiler/interpreter/Element.h"
#include "compiler/interpreter/Models.h"

#include <cmath>

using namespace mlir;
using namespace minigptc;
using namespace minigptc::graph;
using namespace minigptc::interpreter;

/// The op's result, `fn(x)` for each element x, widened.
template <typename OpTy, auto fn>
static LogicalResult evaluateFloat(OpTy op, ArrayRef<Tensor> operands,
                                   SmallVectorImpl<Tensor> &results) {
  Tensor result(resultType(op));
  dispatchFloat(result.getType().getElementType(), [&]<typename T>() {
    llvm::transform(elements<T>(operands[0]), mutableElements<T>(result).begin(),
                    [](T x) { return narrow<T>(fn(widen(x))); });
  });
  results.push_back(std::move(result));
  return success();
}

/// As `evaluateFloat`, for any element type; `Fn` is a template of the wide type.
template <typename OpTy, typename Fn>
static LogicalResult evaluateAny(OpTy op, ArrayRef<Tensor> operands,
                                 SmallVectorImpl<Tensor> &results) {
  Tensor result(resultType(op));
  dispatch(result.getType().getElementType(), [&]<typename T>() {
    llvm::transform(elements<T>(operands[0]), mutableElements<T>(result).begin(),
                    [](T x) { return narrow<T>(Fn()(widen(x))); });
  });
  results.push_back(std::move(result));
  return success();
}

namespace {
struct Abs {
  template <typename T> T operator()(T x) const {
    if constexpr (std::is_floating_point_v<T>)
      return std::fabs(x);
    else if constexpr (std::is_signed_v<T>)
      return x < 0 ? T(0 - std::make_unsigned_t<T>(x)) : x; // the least integer stays
    else
      return x;
  }
};

struct Negate {
  template <typename T> T operator()(T x) const {
    if constexpr (std::is_floating_point_v<T>)
      return -x;
    else
      return T(0 - uint64_t(x));
  }
};

struct Sign {
  template <typename T> T operator()(T x) const {
    if constexpr (std::is_floating_point_v<T>)
      return std::isnan(x) || x == 0 ? x : std::copysign(1.0, x);
    else
      return T(T(x > T(0)) - T(x < T(0)));
  }
};

struct Not {
  template <typename T> T operator()(T x) const {
    if constexpr (std::is_same_v<T, bool>)
      return !x;
    else if constexpr (std::is_integral_v<T>)
      return T(~x);
    else
      return x; // no such op on floats
  }
};
} // namespace

void interpreter::attachUnaryModels(MLIRContext *context) {
  constexpr auto cbrt = [](double x) { return std::cbrt(x); };
  constexpr auto ceil = [](double x) { return std::ceil(x); };
  constexpr auto cosine = [](double x) { return std::cos(x); };
  constexpr auto erf = [](double x) { return std::erf(x); };
  constexpr auto exponential = [](double x) { return std::exp(x); };
  constexpr auto exponentialMinusOne = [](double x) { return std::expm1(x); };
  constexpr auto floor = [](double x) { return std::floor(x); };
  constexpr auto log = [](double x) { return std::log(x); };
  constexpr auto logPlusOne = [](double x) { return std::log1p(x); };
  constexpr auto logistic = [](double x) { return 1 / (1 + std::exp(-x)); };
  constexpr auto roundNearestEven = [](double x) { return std::nearbyint(x); };
  constexpr auto rsqrt = [](double x) { return 1 / std::sqrt(x); };
  constexpr auto sine = [](double x) { return std::sin(x); };
  constexpr auto sqrt = [](double x) { return std::sqrt(x); };
  constexpr auto tanh = [](double x) { return std::tanh(x); };

  attachModel<CbrtOp, evaluateFloat<CbrtOp, cbrt>>(context);
  attachModel<CeilOp, evaluateFloat<CeilOp, ceil>>(context);
  attachModel<CosineOp, evaluateFloat<CosineOp, cosine>>(context);
  attachModel<ErfOp, evaluateFloat<ErfOp, erf>>(context);
  attachModel<ExponentialOp, evaluateFloat<ExponentialOp, exponential>>(context);
  attachModel<ExponentialMinusOneOp, evaluateFloat<ExponentialMinusOneOp, exponentialMinusOne>>(
      context);
  attachModel<FloorOp, evaluateFloat<FloorOp, floor>>(context);
  attachModel<LogOp, evaluateFloat<LogOp, log>>(context);
  attachModel<LogPlusOneOp, evaluateFloat<LogPlusOneOp, logPlusOne>>(context);
  attachModel<LogisticOp, evaluateFloat<LogisticOp, logistic>>(context);
  attachModel<RoundNearestEvenOp, evaluateFloat<RoundNearestEvenOp, roundNearestEven>>(context);
  attachModel<RsqrtOp, evaluateFloat<RsqrtOp, rsqrt>>(context);
  attachModel<SineOp, evaluateFloat<SineOp, sine>>(context);
  attachModel<SqrtOp, evaluateFloat<SqrtOp, sqrt>>(context);
  attachModel<TanhOp, evaluateFloat<TanhOp, tanh>>(context);
  attachModel<AbsOp, evaluateAny<AbsOp, Abs>>(context);
  attachModel<NegateOp, evaluateAny<NegateOp, Negate>>(context);
  attachModel<SignOp, evaluateAny<SignOp, Sign>>(context);
  attachModel<NotOp, evaluateAny<NotOp, Not>>(context);
}
