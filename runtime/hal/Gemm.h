//===- Gemm.h - a batched matrix product ------------------------*- C++ -*-===//
//
// C[m, n] = A[m, k] · B[k, n] + beta · C[m, n], for each index of a batch. All strides
// are in elements; an operand's element lies at
//
//   Σ batchIndex[d] · batchStride[d] + row · rowStride + column · columnStride
//
//===----------------------------------------------------------------------===//
#ifndef MINIGPTC_RUNTIME_HAL_GEMM_H
#define MINIGPTC_RUNTIME_HAL_GEMM_H

#include "minigptc/runtime/TensorType.h"

#include <cstdint>
#include <vector>

namespace minigptc::runtime {

/// How one operand of a product lies in its buffer.
struct MatrixLayout {
  int64_t rowStride = 0, columnStride = 1;
  std::vector<int64_t> batchStrides; ///< one for each batch dimension
};

/// Invariants (checked where artifacts are loaded): f32 or f64; sizes and strides not
/// negative; each operand row- or column-major-like: of its two strides, one steps over
/// all that the other reaches; no two elements of C at one place.
struct GemmProblem {
  DType dtype = DType::f32;
  int64_t m = 0, n = 0, k = 0;
  std::vector<int64_t> batch;
  MatrixLayout lhs, rhs, out;
  double beta = 0;
  /// By the vendor's library, as a yardstick, even where the driver has something faster.
  bool reference = false;
};

} // namespace minigptc::runtime

#endif // MINIGPTC_RUNTIME_HAL_GEMM_H
