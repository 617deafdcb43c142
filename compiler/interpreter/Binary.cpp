//===- Binary.cpp - elementwise ops of two operands -----------------------===//
//
// Integers wrap around; what C++ leaves undefined (division by zero, shifts by
// the width or more) is defined as in the ops' descriptions.
//
//===----------------------------------------------------------------------===//
#include "compiler/interpreter/Element.h"
#include "compiler/interpreter/Models.h"

#include <cmath>
#include <limits>

using namespace mlir;
using namespace minigptc;
using namespace minigptc::graph;
using namespace minigptc::interpreter;

template <typename OpTy, typename Fn>
static LogicalResult evaluateBinary(OpTy op, ArrayRef<Tensor> operands,
                                    SmallVectorImpl<Tensor> &results) {
  Tensor result(resultType(op));
  dispatch(result.getType().getElementType(), [&]<typename T>() {
    ArrayRef<T> lhs = elements<T>(operands[0]), rhs = elements<T>(operands[1]);
    MutableArrayRef<T> out = mutableElements<T>(result);
    for (size_t i = 0; i < out.size(); ++i)
      out[i] = narrow<T>(Wide<T>(Fn()(widen(lhs[i]), widen(rhs[i]))));
  });
  results.push_back(std::move(result));
  return success();
}

namespace {
/// A function on numbers that is written once: on doubles, or on 64-bit unsigned
/// integers whose low bits are those of the narrower type.
template <typename Fn> struct Wrapping {
  template <typename T> T operator()(T x, T y) const {
    if constexpr (std::is_floating_point_v<T>)
      return Fn()(x, y);
    else
      return T(Fn()(uint64_t(x), uint64_t(y)));
  }
};
using Add = Wrapping<std::plus<>>;
using Subtract = Wrapping<std::minus<>>;
using Multiply = Wrapping<std::multiplies<>>;

/// True for the one signed division that overflows.
template <typename T> bool overflows(T x, T y) {
  return std::is_signed_v<T> && x == std::numeric_limits<T>::min() && y == T(-1);
}

struct Divide {
  template <typename T> T operator()(T x, T y) const {
    if constexpr (std::is_floating_point_v<T>)
      return x / y;
    else
      return y == 0 ? T(-1) : overflows(x, y) ? x : T(x / y);
  }
};

struct Remainder {
  template <typename T> T operator()(T x, T y) const {
    if constexpr (std::is_floating_point_v<T>)
      return std::fmod(x, y);
    else
      return y == 0 ? x : overflows(x, y) ? T(0) : T(x % y);
  }
};

struct Maximum {
  template <typename T> T operator()(T x, T y) const {
    if constexpr (std::is_floating_point_v<T>) {
      if (std::isnan(x) || std::isnan(y))
        return std::numeric_limits<T>::quiet_NaN();
      if (x == y) // +0 is the larger zero
        return std::signbit(x) ? y : x;
    }
    return x < y ? y : x;
  }
};

struct Minimum {
  template <typename T> T operator()(T x, T y) const {
    if constexpr (std::is_floating_point_v<T>) {
      if (std::isnan(x) || std::isnan(y))
        return std::numeric_limits<T>::quiet_NaN();
      if (x == y) // -0 is the smaller zero
        return std::signbit(x) ? x : y;
    }
    return y < x ? y : x;
  }
};

struct Power {
  template <typename T> T operator()(T x, T y) const { return T(std::pow(double(x), double(y))); }
};

/// A function of bits; the verifier keeps floats away.
template <typename Fn> struct Bitwise {
  template <typename T> T operator()(T x, T y) const {
    if constexpr (std::is_integral_v<T>)
      return T(Fn()(x, y));
    else
      return x;
  }
};

struct ShiftLeft {
  template <typename T> T operator()(T x, T y) const {
    using U = std::make_unsigned_t<T>;
    return U(y) < sizeof(T) * 8 ? T(uint64_t(x) << U(y)) : T(0);
  }
};
struct ShiftRightLogical {
  template <typename T> T operator()(T x, T y) const {
    using U = std::make_unsigned_t<T>;
    return U(y) < sizeof(T) * 8 ? T(U(x) >> U(y)) : T(0);
  }
};
struct ShiftRightArithmetic {
  template <typename T> T operator()(T x, T y) const {
    using U = std::make_unsigned_t<T>;
    using S = std::make_signed_t<T>;
    return T(S(x) >> std::min<U>(U(y), sizeof(T) * 8 - 1));
  }
};
/// Shifts are defined on integers wider than i1.
template <typename Fn> struct Shift {
  template <typename T> T operator()(T x, T y) const {
    if constexpr (std::is_integral_v<T> && !std::is_same_v<T, bool>)
      return Fn()(x, y);
    else
      return x;
  }
};
} // namespace

void interpreter::attachBinaryModels(MLIRContext *context) {
  attachModel<AddOp, evaluateBinary<AddOp, Add>>(context);
  attachModel<SubtractOp, evaluateBinary<SubtractOp, Subtract>>(context);
  attachModel<MultiplyOp, evaluateBinary<MultiplyOp, Multiply>>(context);
  attachModel<DivideOp, evaluateBinary<DivideOp, Divide>>(context);
  attachModel<MaximumOp, evaluateBinary<MaximumOp, Maximum>>(context);
  attachModel<MinimumOp, evaluateBinary<MinimumOp, Minimum>>(context);
  attachModel<PowerOp, evaluateBinary<PowerOp, Power>>(context);
  attachModel<RemainderOp, evaluateBinary<RemainderOp, Remainder>>(context);
  attachModel<AndOp, evaluateBinary<AndOp, Bitwise<std::bit_and<>>>>(context);
  attachModel<OrOp, evaluateBinary<OrOp, Bitwise<std::bit_or<>>>>(context);
  attachModel<XorOp, evaluateBinary<XorOp, Bitwise<std::bit_xor<>>>>(context);
  attachModel<ShiftLeftOp, evaluateBinary<ShiftLeftOp, Shift<ShiftLeft>>>(context);
  attachModel<ShiftRightLogicalOp, evaluateBinary<ShiftRightLogicalOp, Shift<ShiftRightLogical>>>(
      context);
  attachModel<ShiftRightArithmeticOp,
              evaluateBinary<ShiftRightArithmeticOp, Shift<ShiftRightArithmetic>>>(context);
}
