#include "runtime/base/Scalar.h"

#include <bit>
#include <cmath>
#include <cstring>
#include <limits>

namespace minigptc::runtime {

float f16ToFloat(uint16_t bits) {
  int exponent = bits >> 10 & 31, mantissa = bits & 1023;
  float magnitude;
  if (exponent == 31)
    magnitude =
        mantissa ? std::numeric_limits<float>::quiet_NaN() : std::numeric_limits<float>::infinity();
  else if (exponent == 0)
    magnitude = std::ldexp(float(mantissa), -24);
  else
    magnitude = std::ldexp(float(mantissa + 1024), exponent - 25);
  return bits >> 15 ? -magnitude : magnitude;
}

uint16_t floatToF16(float value) {
  uint32_t bits = std::bit_cast<uint32_t>(value);
  uint16_t sign = uint16_t(bits >> 16 & 0x8000);
  float magnitude = std::fabs(value);
  if (std::isnan(value))
    return sign | 0x7e00;
  if (magnitude >= 65520.0f) // would round to 2^16
    return sign | 0x7c00;
  if (magnitude < 0x1p-14f) // Subnormal: the last bit of a sum in [0.5, 1) is 2^-24, too.
    return uint16_t(sign | (std::bit_cast<uint32_t>(magnitude + 0.5f) - 0x3f000000));
  bits &= 0x7fffffff;
  return uint16_t(sign | (((bits + 0xfff + (bits >> 13 & 1)) >> 13) - (112 << 10)));
}

bool isFloat(DType dtype) {
  return dtype == DType::f64 || dtype == DType::f32 || dtype == DType::bf16 || dtype == DType::f16;
}

bool isInteger(DType dtype) { return !isFloat(dtype) && dtype != DType::i1; }

template <typename T> static T load(const std::byte *data) {
  T value;
  std::memcpy(&value, data, sizeof(T));
  return value;
}

double loadScalar(DType dtype, const std::byte *data) {
  switch (dtype) {
  case DType::f64: return load<double>(data);
  case DType::f32: return load<float>(data);
  case DType::bf16: return bf16ToFloat(load<uint16_t>(data));
  case DType::f16: return f16ToFloat(load<uint16_t>(data));
  case DType::i64: return double(load<int64_t>(data));
  case DType::i32: return load<int32_t>(data);
  case DType::i8: return load<int8_t>(data);
  case DType::i1: return load<uint8_t>(data) != 0;
  case DType::u64: return double(load<uint64_t>(data));
  case DType::u32: return load<uint32_t>(data);
  }
  return std::numeric_limits<double>::quiet_NaN();
}

bool storeScalar(DType dtype, double value, std::byte *data) {
  if (dtype == DType::f64) {
    std::memcpy(data, &value, sizeof(value));
    return true;
  }
  if (dtype != DType::f32)
    return false;
  float rounded = float(value);
  std::memcpy(data, &rounded, sizeof(rounded));
  return true;
}

} // namespace minigptc::runtime
