//===- GemmKernels.h - the inner loops of matrix products -------*- C++ -*-===//
//
// Operands are packed into panels: `rows` rows of A (or `columns` columns of B), depth by
// depth, each depth's elements together. The last panel is as large as the others: its
// missing columns are zero, its missing rows undefined. A tile of C is then one run
// through two panels:
//
//   A panel  a00 a10 … a50 | a01 a11 … a51 | …      B panel  b00 b01 … b0f | b10 b11 … b1f | …
//
// An element of C is one chain of fused multiply-adds over the depth, then one addition
// to what C holds; it has the same bits in whatever tile of whatever block it lies.
//
//   const GemmKernels *kernels = findGemmKernels(); // null: this processor has none
//   kernels->packRows.f32(source, rowStride, columnStride, rows, depth, panels);
//   kernels->multiply(m, n, depth, aPanels, bPanels, beta, c, rowStride, columnStride, {});
//
//===----------------------------------------------------------------------===//
#ifndef MINIGPTC_RUNTIME_DRIVERS_HOST_GEMMKERNELS_H
#define MINIGPTC_RUNTIME_DRIVERS_HOST_GEMMKERNELS_H

#include <cstdint>

namespace minigptc::runtime {

/// Packs `lanes` rows or columns, whose elements of one depth are `laneStride` apart in
/// the source and those of one lane `depthStride`.
using PackPanels = void (*)(const void *source, int64_t laneStride, int64_t depthStride,
                            int64_t lanes, int64_t depth, float *panels);
/// By the source's element type; panels are f32.
struct Packers {
  PackPanels f32, bf16;
};

/// Memory that will be read next: `rows` rows of `length` bytes, `stride` bytes apart.
struct GemmPrefetch {
  const void *data = nullptr;
  int64_t rows = 0, stride = 0, length = 0;
};

/// A C of bf16 and its strides in elements.
struct RoundedOutput {
  uint16_t *data;
  int64_t rowStride, columnStride;
};

using MultiplyRow = void (*)(int64_t n, int64_t depth, const float *a, int64_t aStride,
                             const void *b, int64_t depthStride, float beta, float *c);
/// By B's element type.
struct RowProducts {
  MultiplyRow f32, bf16;
};

struct GemmKernels {
  const char *name; ///< of the instructions: "avx512"
  int64_t rows, columns;
  Packers packRows, packColumns;
  /// C[m, n] = A · B + beta · C; C is not read if beta is 0. Meanwhile `next` comes into the
  /// second cache: else packing it would wait for memory, which now has nothing to do.
  void (*multiply)(int64_t m, int64_t n, int64_t depth, const float *a, const float *b, float beta,
                   float *c, int64_t rowStride, int64_t columnStride, const GemmPrefetch &next);
  /// The same of a C whose sums so far are row-major f32 at `c`; it is rounded to nearest
  /// even into `out`, and `c` is left as it is.
  void (*multiplyRounded)(int64_t m, int64_t n, int64_t depth, const float *a, const float *b,
                          float beta, const float *c, int64_t rowStride, const RoundedOutput &out,
                          const GemmPrefetch &next);
  /// As `multiply`, of the same bits, for one row of A and a B that is not packed: its
  /// elements of one depth lie side by side, `depthStride` from those of the next, as C's
  /// do. It takes the time to read B.
  RowProducts multiplyRow;
};

/// The fastest for this processor, or null. MINIGPTC_GEMM in the environment may be
/// "avx2", "avx512" or "blis" (which gives null); what the processor lacks is not taken.
const GemmKernels *findGemmKernels();

/// Those that this processor can run, for tests; ends with null.
const GemmKernels *const *allGemmKernels();

} // namespace minigptc::runtime

#endif // MINIGPTC_RUNTIME_DRIVERS_HOST_GEMMKERNELS_H
