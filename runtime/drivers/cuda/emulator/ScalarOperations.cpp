#include "runtime/drivers/cuda/emulator/ScalarOperations.h"

#include "runtime/drivers/cuda/emulator/EmulatorAbi.h"

#include <bit>
#include <cmath>
#include <limits>

namespace minigptc::runtime::emulator {
namespace {

enum class Rounding { down, up, zero };

float flush(float x) { return std::fpclassify(x) == FP_SUBNORMAL ? std::copysign(0.0f, x) : x; }

/// PTX's saturation: NaN becomes 0.
float saturate(float x) { return x > 0 ? (x < 1 ? x : 1.0f) : 0.0f; }

/// `nearest` is the exact value rounded to nearest, `error` has the sign of exact - nearest.
float redirect(float nearest, double error, Rounding rounding) {
  constexpr float infinity = std::numeric_limits<float>::infinity();
  if (std::isnan(nearest) || error == 0 || std::isnan(error))
    return nearest;
  if (rounding == Rounding::zero) // a step, if nearest is the larger one
    return nearest != 0 && (error < 0) == (nearest > 0) ? std::nextafter(nearest, 0.0f) : nearest;
  if (rounding == Rounding::down)
    return error < 0 ? std::nextafter(nearest, -infinity) : nearest;
  return error > 0 ? std::nextafter(nearest, infinity) : nearest;
}

float roundedFma(float x, float y, float z, Rounding rounding) {
  float nearest = std::fma(x, y, z);
  double product = double(x) * y, sum = product + z;                         // the product is exact
  double part = sum - product, rest = (product - (sum - part)) + (z - part); // and sum + rest, too
  return redirect(nearest, (sum - nearest) + rest, rounding);
}

/// The sum's zero has the product's sign, so that products of zero keep theirs.
float roundedMultiply(float x, float y, Rounding rounding) {
  return roundedFma(x, y, std::signbit(x) == std::signbit(y) ? 0.0f : -0.0f, rounding);
}

float roundedDivide(float x, float y, Rounding rounding) {
  float nearest = x / y;
  if (!std::isfinite(x) || !std::isfinite(y) || y == 0)
    return nearest;
  double residue = std::fma(-double(nearest), double(y), double(x)) * (y < 0 ? -1 : 1);
  return redirect(nearest, std::isinf(nearest) ? -double(nearest) : residue, rounding);
}

float roundedSqrt(float x, Rounding rounding) {
  float nearest = std::sqrt(x);
  return std::isfinite(nearest) ? redirect(nearest, double(x) - double(nearest) * nearest, rounding)
                                : nearest;
}

float roundToTf32(float x) {
  uint32_t bits = std::bit_cast<uint32_t>(x);
  if ((bits & 0x7f800000) == 0x7f800000)
    return x;
  return std::bit_cast<float>((bits + 0x1000) & ~0x1fffu); // to nearest, ties away from zero
}

/// PTX orders -0 before +0; of one NaN the other is taken, unless NaN is to be passed on.
float extremum(float x, float y, bool least, bool ftz, bool nan) {
  if (ftz)
    x = flush(x), y = flush(y);
  if (std::isnan(x) || std::isnan(y)) {
    float canonical = std::bit_cast<float>(0x7fffffffu);
    if (nan || (std::isnan(x) && std::isnan(y)))
      return canonical;
    return std::isnan(x) ? y : x;
  }
  if (x == y)
    return std::signbit(x) == least ? x : y;
  return (x < y) == least ? x : y;
}

} // namespace

float unaryOperation(uint32_t op, float x) {
  switch (UnaryOp(op)) {
  case UnaryOp::ex2: return std::exp2(x);
  case UnaryOp::ex2Ftz: return flush(std::exp2(flush(x)));
  case UnaryOp::lg2: return std::log2(x);
  case UnaryOp::lg2Ftz: return flush(std::log2(flush(x)));
  case UnaryOp::rsqrt: return float(1.0 / std::sqrt(double(x)));
  case UnaryOp::rsqrtFtz: return flush(float(1.0 / std::sqrt(double(flush(x)))));
  case UnaryOp::sqrt: return std::sqrt(x);
  case UnaryOp::sqrtFtz: return flush(std::sqrt(flush(x)));
  case UnaryOp::rcp: return 1.0f / x;
  case UnaryOp::rcpFtz: return flush(1.0f / flush(x));
  case UnaryOp::sin: return std::sin(x);
  case UnaryOp::cos: return std::cos(x);
  case UnaryOp::tanh: return std::tanh(x);
  case UnaryOp::rcpDown: return roundedDivide(1.0f, x, Rounding::down);
  case UnaryOp::rcpUp: return roundedDivide(1.0f, x, Rounding::up);
  case UnaryOp::rcpZero: return roundedDivide(1.0f, x, Rounding::zero);
  case UnaryOp::sqrtDown: return roundedSqrt(x, Rounding::down);
  case UnaryOp::sqrtUp: return roundedSqrt(x, Rounding::up);
  case UnaryOp::sqrtZero: return roundedSqrt(x, Rounding::zero);
  case UnaryOp::saturate: return saturate(x);
  case UnaryOp::saturateFtz: return saturate(flush(x));
  case UnaryOp::flush: return flush(x);
  case UnaryOp::roundToTf32: return roundToTf32(x);
  case UnaryOp::count: break;
  }
  return std::numeric_limits<float>::quiet_NaN();
}

float binaryOperation(uint32_t op, float x, float y) {
  switch (BinaryOp(op)) {
  case BinaryOp::min:
  case BinaryOp::minFtz:
  case BinaryOp::minNan:
  case BinaryOp::minFtzNan:
  case BinaryOp::max:
  case BinaryOp::maxFtz:
  case BinaryOp::maxNan:
  case BinaryOp::maxFtzNan: return extremum(x, y, op < uint32_t(BinaryOp::max), op & 1, op & 2);
  case BinaryOp::divide: return x / y;
  case BinaryOp::divideFtz: return flush(flush(x) / flush(y));
  case BinaryOp::divideDown: return roundedDivide(x, y, Rounding::down);
  case BinaryOp::divideUp: return roundedDivide(x, y, Rounding::up);
  case BinaryOp::divideZero: return roundedDivide(x, y, Rounding::zero);
  case BinaryOp::addDown: return roundedFma(x, 1, y, Rounding::down);
  case BinaryOp::addUp: return roundedFma(x, 1, y, Rounding::up);
  case BinaryOp::addZero: return roundedFma(x, 1, y, Rounding::zero);
  case BinaryOp::addFtz: return flush(flush(x) + flush(y));
  case BinaryOp::multiplyDown: return roundedMultiply(x, y, Rounding::down);
  case BinaryOp::multiplyUp: return roundedMultiply(x, y, Rounding::up);
  case BinaryOp::multiplyZero: return roundedMultiply(x, y, Rounding::zero);
  case BinaryOp::multiplyFtz: return flush(flush(x) * flush(y));
  case BinaryOp::count: break;
  }
  return std::numeric_limits<float>::quiet_NaN();
}

float ternaryOperation(uint32_t op, float x, float y, float z) {
  switch (TernaryOp(op)) {
  case TernaryOp::fma: return std::fma(x, y, z);
  case TernaryOp::fmaFtz: return flush(std::fma(flush(x), flush(y), flush(z)));
  case TernaryOp::fmaSaturate: return saturate(std::fma(x, y, z));
  case TernaryOp::fmaFtzSaturate: return saturate(std::fma(flush(x), flush(y), flush(z)));
  case TernaryOp::fmaDown: return roundedFma(x, y, z, Rounding::down);
  case TernaryOp::fmaUp: return roundedFma(x, y, z, Rounding::up);
  case TernaryOp::fmaZero: return roundedFma(x, y, z, Rounding::zero);
  case TernaryOp::count: break;
  }
  return std::numeric_limits<float>::quiet_NaN();
}

} // namespace minigptc::runtime::emulator
