//===- Float16.h - bf16 and f16 as bits ------------------------*- C++ -*-===//
//
//   float x = bf16ToFloat(0x3f80);   // 1.0
//
//===----------------------------------------------------------------------===//
#ifndef MINIGPTC_RUNTIME_BASE_FLOAT16_H
#define MINIGPTC_RUNTIME_BASE_FLOAT16_H

#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>

namespace minigptc::runtime {

inline float bf16ToFloat(uint16_t bits) { return std::bit_cast<float>(uint32_t(bits) << 16); }

inline float f16ToFloat(uint16_t bits) {
  int exponent = bits >> 10 & 31, mantissa = bits & 1023;
  float magnitude;
  if (exponent == 31)
    magnitude = mantissa ? std::numeric_limits<float>::quiet_NaN()
                         : std::numeric_limits<float>::infinity();
  else if (exponent == 0)
    magnitude = std::ldexp(float(mantissa), -24);
  else
    magnitude = std::ldexp(float(mantissa + 1024), exponent - 25);
  return bits >> 15 ? -magnitude : magnitude;
}

} // namespace minigptc::runtime

#endif // MINIGPTC_RUNTIME_BASE_FLOAT16_H
