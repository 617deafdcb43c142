//===- Scalar.h - elements of any type as double ----------------*- C++ -*-===//
//
//   double x = loadScalar(DType::bf16, bytes);
//
//===----------------------------------------------------------------------===//
#ifndef MINIGPTC_RUNTIME_BASE_SCALAR_H
#define MINIGPTC_RUNTIME_BASE_SCALAR_H

#include "minigptc/runtime/TensorType.h"

#include <cstddef>
#include <cstdint>

namespace minigptc::runtime {

float bf16ToFloat(uint16_t bits);
/// To nearest, ties to even; NaN stays NaN.
uint16_t floatToBf16(float value);
float f16ToFloat(uint16_t bits);

bool isFloat(DType dtype);
/// Signed and unsigned integers; not i1.
bool isInteger(DType dtype);

/// The element at `data`, which need not be aligned. i64 and u64 are rounded.
double loadScalar(DType dtype, const std::byte *data);
/// Writes `value` as f64 or f32; false for other types.
bool storeScalar(DType dtype, double value, std::byte *data);

} // namespace minigptc::runtime

#endif // MINIGPTC_RUNTIME_BASE_SCALAR_H
