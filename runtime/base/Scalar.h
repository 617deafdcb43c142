//===- Scalar.h - elements of any type as double ----------------*- C++ -*-===//
//
//   double x = loadScalar(DType::bf16, bytes);
//
//===----------------------------------------------------------------------===//
#ifndef MINIGPTC_RUNTIME_BASE_SCALAR_H
#define MINIGPTC_RUNTIME_BASE_SCALAR_H

#include "minigptc/runtime/TensorType.h"

#include <bit>
#include <cstddef>
#include <cstdint>

namespace minigptc::runtime {

inline float bf16ToFloat(uint16_t bits) { return std::bit_cast<float>(uint32_t(bits) << 16); }
/// To nearest, ties to even; NaN stays NaN.
inline uint16_t floatToBf16(float value) {
  uint32_t bits = std::bit_cast<uint32_t>(value);
  uint32_t rounded = bits + 0x7fff + (bits >> 16 & 1);
  return uint16_t((value != value ? bits | 0x400000 : rounded) >> 16);
}
float f16ToFloat(uint16_t bits);
uint16_t floatToF16(float value);

bool isFloat(DType dtype);
/// Signed and unsigned integers; not i1.
bool isInteger(DType dtype);

/// The element at `data`, which need not be aligned. i64 and u64 are rounded.
double loadScalar(DType dtype, const std::byte *data);
/// Writes `value` as f64 or f32; false for other types.
bool storeScalar(DType dtype, double value, std::byte *data);

} // namespace minigptc::runtime

#endif // MINIGPTC_RUNTIME_BASE_SCALAR_H
