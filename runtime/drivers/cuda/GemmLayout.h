//===- GemmLayout.h - a product as cuBLASLt wants it ------------*- C++ -*-===//
//
//   StatusOr<GemmLayout> layout = layoutForBlas(problem);
//   for (const GemmOffsets &at : layout->calls) ...      // one call of the library each
//
//===----------------------------------------------------------------------===//
#ifndef MINIGPTC_RUNTIME_DRIVERS_CUDA_GEMMLAYOUT_H
#define MINIGPTC_RUNTIME_DRIVERS_CUDA_GEMMLAYOUT_H

#include "minigptc/runtime/Status.h"
#include "runtime/hal/Gemm.h"

namespace minigptc::runtime::cuda {

/// A matrix as it lies in memory: column by column.
struct ColumnMajor {
  int64_t rows = 0, columns = 0, leadingDimension = 0;
  int64_t batchStride = 0; ///< elements
  bool transposed = false; ///< the product's operand is its transpose
  uint32_t alignment = 64; ///< bytes, of every member's first element
};

/// Bytes to where a call's matrices begin.
struct GemmOffsets {
  int64_t a = 0, b = 0, c = 0;
};

/// c = a · b for `batch` members of each call. Swapped: `a` is the problem's right operand,
/// `b` its left one, and `c` the result's transpose.
struct GemmLayout {
  bool swapped = false;
  ColumnMajor a, b, c;
  int64_t batch = 1;
  std::vector<GemmOffsets> calls;
};

/// Members of a call: a grid's third dimension has no more.
inline constexpr int64_t kMaxBatch = 65535;

/// Nothing is to be computed: the result has no elements, or stays what it is.
bool isEmpty(const GemmProblem &problem);

/// failedPrecondition: what the library cannot do.
StatusOr<GemmLayout> layoutForBlas(const GemmProblem &problem);

} // namespace minigptc::runtime::cuda

#endif // MINIGPTC_RUNTIME_DRIVERS_CUDA_GEMMLAYOUT_H
