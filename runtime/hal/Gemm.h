//===- Gemm.h - a batched matrix product ------------------------*- C++ -*-===//
//
// C[m, n] = A[m, k] · B[k, n] + beta · C[m, n], for each index of a batch; an epilogue has more
// done to it on the way. All strides are in elements; an operand's element lies at
//
//   Σ batchIndex[d] · batchStride[d] + row · rowStride + column · columnStride
//
//===----------------------------------------------------------------------===//
#ifndef MINIGPTC_RUNTIME_HAL_GEMM_H
#define MINIGPTC_RUNTIME_HAL_GEMM_H

#include "minigptc/runtime/TensorType.h"

#include <cstdint>
#include <string>
#include <vector>

namespace minigptc::runtime {

/// How one operand of a product lies in its buffer.
struct MatrixLayout {
  int64_t rowStride = 0, columnStride = 1;
  std::vector<int64_t> batchStrides; ///< one for each batch dimension
  /// bf16 in memory, in a product of f32: widened where it is read, rounded where the
  /// whole sum is written.
  bool bf16 = false;
};

/// What a product does beside, with a vector of n elements of C's type. The order is that of
/// Artifact.fbs.
enum class GemmEpilogue : uint8_t {
  none,
  bias, ///< C = A·B + vector[n]
  sums, ///< vector[n] becomes the sum over k of each column of B
};

/// Invariants (checked where artifacts are loaded): f32 or f64; sizes and strides not
/// negative; each operand row- or column-major-like: of its two strides, one steps over
/// all that the other reaches; no two elements of C at one place; bf16 only with f32, and
/// a C of bf16 only with a beta of 0.
struct GemmProblem {
  DType dtype = DType::f32;
  int64_t m = 0, n = 0, k = 0;
  std::vector<int64_t> batch;
  MatrixLayout lhs, rhs, out;
  double beta = 0;
  /// By the vendor's library, as a yardstick, even where the driver has something faster.
  bool reference = false;
  /// f32 operands may be rounded to TF32 (10 bits behind the point), where the device has that.
  bool tf32 = false;
  /// One that is not `none`: no batch, a beta of 0, rows of C one after the other.
  GemmEpilogue epilogue = GemmEpilogue::none;

  /// The element type of an operand in memory.
  DType typeOf(const MatrixLayout &layout) const { return layout.bf16 ? DType::bf16 : dtype; }

  /// All of it, as text: equal for equal problems alone, and the same in later versions.
  /// "64x128x32 batch 8 lhs bf16 32,1,2048 rhs bf16 128,1,0 out f32 128,1,8192 beta 1".
  std::string identity() const;
};

} // namespace minigptc::runtime

#endif // MINIGPTC_RUNTIME_HAL_GEMM_H
