//===- GemmKernelsImpl.h - the inner loops, for any vector ------*- C++ -*-===//
//
// Included by one file for each instruction set, compiled with its flags. Everything is in
// an unnamed namespace, and no header with inline functions is included: the linker must
// not share code with files for other processors. A `Vec` gives:
//
//   using Type; static constexpr int64_t width;
//   Type zero(), load(p), broadcast(p), fma(a, b, c); void store(p, v);
//   Type load(p), loadFirst<N>(p) of bf16, as uint16_t, widened
//   Type loadFirst<N>(p); void storeFirst<N>(p, v);   // N ≤ width elements, no others touched
//   void transpose(Type (&rows)[width]);
//
//===----------------------------------------------------------------------===//
#ifndef MINIGPTC_RUNTIME_DRIVERS_HOST_GEMMKERNELSIMPL_H
#define MINIGPTC_RUNTIME_DRIVERS_HOST_GEMMKERNELSIMPL_H

#include "runtime/drivers/host/GemmKernels.h"

namespace minigptc::runtime {
namespace {

constexpr int64_t kLine = 64; ///< bytes of a cache line

/// Calls for some memory, evenly over a number of steps.
class Prefetcher {
public:
  Prefetcher(const GemmPrefetch &what, int64_t steps) : what_(what) {
    linesOfRow_ = (what.length + kLine - 1) / kLine;
    perStep_ = (what.rows * linesOfRow_ + steps - 1) / steps;
  }
  void step() {
    for (int64_t i = 0; i < perStep_ && row_ < what_.rows; ++i) {
      __builtin_prefetch(
          static_cast<const char *>(what_.data) + row_ * what_.stride + line_ * kLine, 0, 2);
      if (++line_ == linesOfRow_)
        line_ = 0, ++row_;
    }
  }

private:
  GemmPrefetch what_;
  int64_t linesOfRow_, perStep_, row_ = 0, line_ = 0;
};

#define MINIGPTC_INLINE inline __attribute__((always_inline))
/// In front of a loop of constant length.
#ifdef __clang__
#define MINIGPTC_UNROLL _Pragma("clang loop unroll(full)")
#define MINIGPTC_UNROLL_TWICE _Pragma("clang loop unroll_count(2)")
#else
#define MINIGPTC_UNROLL _Pragma("GCC unroll 32")
#define MINIGPTC_UNROLL_TWICE _Pragma("GCC unroll 2")
#endif

MINIGPTC_INLINE float widen(float x) { return x; }
MINIGPTC_INLINE float widen(uint16_t bits) {
  return __builtin_bit_cast(float, uint32_t(bits) << 16);
}

/// The nearest bf16, ties to even; NaN stays NaN.
MINIGPTC_INLINE uint16_t roundToBf16(float x) {
  uint32_t bits = __builtin_bit_cast(uint32_t, x);
  uint32_t rounded = bits + 0x7fff + (bits >> 16 & 1);
  return uint16_t((x != x ? bits | 0x400000 : rounded) >> 16);
}

/// One tile: `Rows` rows and `Vectors` vectors of columns of C. The panels are of a whole
/// tile's sizes, PanelRows and PanelVectors, of which it may use a part.
template <typename Vec, int Rows, int Vectors, int PanelRows, int PanelVectors>
__attribute__((noinline)) void multiplyTile(int64_t depth, const float *a, const float *b,
                                            float beta, float *c, int64_t stride) {
  typename Vec::Type sums[Rows][Vectors];
  MINIGPTC_UNROLL
  for (int i = 0; i < Rows; ++i) {
    // The rows of C are far apart: they are called for before they are needed.
    MINIGPTC_UNROLL
    for (int v = 0; v < Vectors; ++v) {
      __builtin_prefetch(c + i * stride + v * Vec::width, 1);
      sums[i][v] = Vec::zero();
    }
  }
  MINIGPTC_UNROLL_TWICE
  for (int64_t k = 0; k < depth; ++k) {
    typename Vec::Type columns[Vectors];
    MINIGPTC_UNROLL
    for (int v = 0; v < Vectors; ++v)
      columns[v] = Vec::load(b + v * Vec::width);
    MINIGPTC_UNROLL
    for (int i = 0; i < Rows; ++i) {
      typename Vec::Type element = Vec::broadcast(a + i);
      MINIGPTC_UNROLL
      for (int v = 0; v < Vectors; ++v)
        sums[i][v] = Vec::fma(element, columns[v], sums[i][v]);
    }
    a += PanelRows;
    b += PanelVectors * Vec::width;
  }
  typename Vec::Type factor = Vec::broadcast(&beta);
  MINIGPTC_UNROLL
  for (int i = 0; i < Rows; ++i) {
    MINIGPTC_UNROLL
    for (int v = 0; v < Vectors; ++v) {
      float *place = c + i * stride + v * Vec::width;
      Vec::store(place, beta == 0 ? sums[i][v] : Vec::fma(factor, Vec::load(place), sums[i][v]));
    }
  }
}

using Tile = void (*)(int64_t depth, const float *a, const float *b, float beta, float *c,
                      int64_t stride);

template <typename Vec, int PanelRows, int PanelVectors> struct Kernels {
  static constexpr int64_t columns = PanelVectors * Vec::width;

  /// tiles[r][v]: the tile of r + 1 rows and v + 1 vectors.
  template <int Rows> static constexpr void fill(Tile (*tiles)[PanelVectors]) {
    tiles[Rows - 1][0] = multiplyTile<Vec, Rows, 1, PanelRows, PanelVectors>;
    if constexpr (PanelVectors > 1)
      tiles[Rows - 1][PanelVectors - 1] =
          multiplyTile<Vec, Rows, PanelVectors, PanelRows, PanelVectors>;
    if constexpr (Rows > 1)
      fill<Rows - 1>(tiles);
  }
  struct Table {
    Tile tiles[PanelRows][PanelVectors] = {};
    constexpr Table() { fill<PanelRows>(tiles); }
  };
  static constexpr Table table{};

  static void multiply(int64_t m, int64_t n, int64_t depth, const float *a, const float *b,
                       float beta, float *c, int64_t rowStride, int64_t columnStride,
                       const GemmPrefetch &next) {
    forEachTile(m, n, next, [&](Tile tile, int64_t i, int64_t j, int64_t height, int64_t width) {
      bool whole = columnStride == 1 && width % Vec::width == 0;
      float *place = c + i * rowStride + j * columnStride;
      if (whole)
        tile(depth, a + i * depth, b + j * depth, beta, place, rowStride);
      else
        multiplyAside(tile, depth, a + i * depth, b + j * depth, beta, place, rowStride,
                      columnStride, height, width);
    });
  }

  /// A panel of B stays in the first cache while those of A pass by.
  template <typename Body>
  static MINIGPTC_INLINE void forEachTile(int64_t m, int64_t n, const GemmPrefetch &next,
                                          Body body) {
    Prefetcher prefetcher(next, (m + PanelRows - 1) / PanelRows * ((n + columns - 1) / columns));
    for (int64_t j = 0; j < n; j += columns) {
      int64_t width = n - j < columns ? n - j : columns;
      int vectors = width <= Vec::width ? 0 : PanelVectors - 1;
      for (int64_t i = 0; i < m; i += PanelRows) {
        int64_t height = m - i < PanelRows ? m - i : PanelRows;
        prefetcher.step();
        body(table.tiles[height - 1][vectors], i, j, height, width);
      }
    }
  }

  static void multiplyRounded(int64_t m, int64_t n, int64_t depth, const float *a, const float *b,
                              float beta, const float *c, int64_t rowStride,
                              const RoundedOutput &out, const GemmPrefetch &next) {
    forEachTile(m, n, next, [&](Tile tile, int64_t i, int64_t j, int64_t height, int64_t width) {
      alignas(64) float sums[PanelRows * columns];
      if (beta != 0)
        copySums(c + i * rowStride + j, rowStride, height, width, sums);
      tile(depth, a + i * depth, b + j * depth, beta, sums, columns);
      roundSums(sums, height, width, out, out.data + i * out.rowStride + j * out.columnStride);
    });
  }

  static void copySums(const float *c, int64_t rowStride, int64_t height, int64_t width,
                       float *sums) {
    for (int64_t i = 0; i < height; ++i) {
      for (int64_t j = 0; j < width; ++j)
        sums[i * columns + j] = c[i * rowStride + j];
      for (int64_t j = width; j < columns; ++j)
        sums[i * columns + j] = 0;
    }
  }

  static void roundSums(const float *sums, int64_t height, int64_t width, const RoundedOutput &out,
                        uint16_t *place) {
    for (int64_t i = 0; i < height; ++i, sums += columns, place += out.rowStride)
      if (out.columnStride == 1 && width == columns)
        for (int64_t j = 0; j < columns; ++j)
          place[j] = roundToBf16(sums[j]);
      else
        for (int64_t j = 0; j < width; ++j)
          place[j * out.columnStride] = roundToBf16(sums[j]);
  }

  /// A tile that C has no room for, or whose columns do not lie side by side.
  static __attribute__((noinline)) void multiplyAside(Tile tile, int64_t depth, const float *a,
                                                      const float *b, float beta, float *c,
                                                      int64_t rowStride, int64_t columnStride,
                                                      int64_t height, int64_t width) {
    alignas(64) float sums[PanelRows * columns];
    tile(depth, a, b, 0, sums, columns);
    for (int64_t i = 0; i < height; ++i)
      for (int64_t j = 0; j < width; ++j) {
        float &place = c[i * rowStride + j * columnStride], sum = sums[i * columns + j];
        place = beta == 0 ? sum : __builtin_fmaf(beta, place, sum);
      }
  }

  /// Sums of a few vectors' worth of columns stay in the first cache while some rows of B
  /// at a time pass by, each read along its lines.
  template <typename Source>
  static void multiplyRow(int64_t n, int64_t depth, const float *a, int64_t aStride,
                          const void *matrix, int64_t depthStride, float beta, float *c) {
    const auto *b = static_cast<const Source *>(matrix);
    constexpr int64_t most = 1024, few = 8;
    alignas(64) float sums[most];
    for (int64_t j = 0; j < n; j += most) {
      int64_t width = n - j < most ? n - j : most;
      for (int64_t l = 0; l < width; ++l)
        sums[l] = 0;
      int64_t k = 0;
      for (; k + few <= depth; k += few)
        addRows<few>(width, a + k * aStride, aStride, b + k * depthStride + j, depthStride, sums);
      for (; k < depth; ++k)
        addRows<1>(width, a + k * aStride, aStride, b + k * depthStride + j, depthStride, sums);
      for (int64_t l = 0; l < width; ++l)
        c[j + l] = beta == 0 ? sums[l] : __builtin_fmaf(beta, c[j + l], sums[l]);
    }
  }

  template <typename Source>
  static void packRows(const void *source, int64_t laneStride, int64_t depthStride, int64_t lanes,
                       int64_t depth, float *panels) {
    pack<PanelRows>(static_cast<const Source *>(source), laneStride, depthStride, lanes, depth,
                    panels);
  }
  template <typename Source>
  static void packColumns(const void *source, int64_t laneStride, int64_t depthStride,
                          int64_t lanes, int64_t depth, float *panels) {
    pack<columns>(static_cast<const Source *>(source), laneStride, depthStride, lanes, depth,
                  panels);
  }

private:
  /// sums += a · B for `Count` rows of B, one after the other for each sum.
  template <int64_t Count, typename Source>
  static MINIGPTC_INLINE void addRows(int64_t width, const float *a, int64_t aStride,
                                      const Source *b, int64_t depthStride, float *sums) {
    typename Vec::Type elements[Count];
    MINIGPTC_UNROLL
    for (int64_t r = 0; r < Count; ++r)
      elements[r] = Vec::broadcast(a + r * aStride);
    int64_t l = 0;
    for (; l + Vec::width <= width; l += Vec::width) {
      typename Vec::Type sum = Vec::load(sums + l);
      MINIGPTC_UNROLL
      for (int64_t r = 0; r < Count; ++r)
        sum = Vec::fma(elements[r], Vec::load(b + r * depthStride + l), sum);
      Vec::store(sums + l, sum);
    }
    for (; l < width; ++l)
      for (int64_t r = 0; r < Count; ++r)
        sums[l] = __builtin_fmaf(a[r * aStride], widen(b[r * depthStride + l]), sums[l]);
  }

  template <int64_t Width, typename Source>
  static MINIGPTC_INLINE void pack(const Source *source, int64_t laneStride, int64_t depthStride,
                                   int64_t lanes, int64_t depth, float *panels) {
    int64_t whole = lanes / Width * Width;
    if (laneStride == 1) {
      // A few depths of all panels, then the next: so memory is read along its lines, and
      // rows that lie 4 KiB apart do not drive each other out of the cache.
      constexpr int64_t few = 8;
      for (int64_t k = 0; k < depth; k += few)
        for (int64_t l = 0; l < whole; l += Width)
          copyPanel<Width>(source + k * depthStride + l, depthStride,
                           depth - k < few ? depth - k : few, panels + l * depth + k * Width);
    } else {
      for (int64_t l = 0; l < whole; l += Width)
        if (depthStride == 1)
          transposePanel<Width>(source + l * laneStride, laneStride, depth, panels + l * depth);
        else
          packPartly<Width>(source + l * laneStride, laneStride, depthStride, Width, depth,
                            panels + l * depth);
    }
    if (whole < lanes)
      packPartly<Width>(source + whole * laneStride, laneStride, depthStride, lanes - whole, depth,
                        panels + whole * depth);
  }

  /// Some lanes of a panel, or lanes of any strides. Tiles read whole vectors of columns,
  /// so what is missing there must be numbers; missing rows nobody reads.
  template <int64_t Width, typename Source>
  static void packPartly(const Source *source, int64_t laneStride, int64_t depthStride,
                         int64_t lanes, int64_t depth, float *panel) {
    if (laneStride <= depthStride)
      for (int64_t k = 0; k < depth; ++k)
        for (int64_t l = 0; l < lanes; ++l)
          panel[k * Width + l] = widen(source[l * laneStride + k * depthStride]);
    else
      for (int64_t l = 0; l < lanes; ++l)
        for (int64_t k = 0; k < depth; ++k)
          panel[k * Width + l] = widen(source[l * laneStride + k * depthStride]);
    if constexpr (Width == columns)
      for (int64_t k = 0; k < depth; ++k)
        for (int64_t l = lanes; l < Width; ++l)
          panel[k * Width + l] = 0;
  }

  /// The lanes of each depth lie side by side already.
  template <int64_t Width, typename Source>
  static void copyPanel(const Source *source, int64_t depthStride, int64_t depth, float *panel) {
    constexpr int64_t whole = Width / Vec::width * Vec::width, rest = Width - whole;
    for (int64_t k = 0; k < depth; ++k, source += depthStride, panel += Width) {
      MINIGPTC_UNROLL
      for (int64_t l = 0; l < whole; l += Vec::width)
        Vec::store(panel + l, Vec::load(source + l));
      if constexpr (rest != 0)
        Vec::template storeFirst<rest>(panel + whole,
                                       Vec::template loadFirst<rest>(source + whole));
    }
  }

  /// The depths of each lane lie side by side.
  template <int64_t Width, typename Source>
  static void transposePanel(const Source *source, int64_t laneStride, int64_t depth,
                             float *panel) {
    constexpr int64_t whole = Width / Vec::width * Vec::width, rest = Width - whole;
    int64_t k = 0;
    for (; k + Vec::width <= depth; k += Vec::width) {
      MINIGPTC_UNROLL
      for (int64_t l = 0; l < whole; l += Vec::width)
        transposeBlock<Vec::width, Width>(source + l * laneStride + k, laneStride,
                                          panel + k * Width + l);
      if constexpr (rest != 0)
        transposeBlock<rest, Width>(source + whole * laneStride + k, laneStride,
                                    panel + k * Width + whole);
    }
    packPartly<Width>(source + k, laneStride, 1, Width, depth - k, panel + k * Width);
  }

  template <int64_t Lanes, int64_t Width, typename Source>
  static MINIGPTC_INLINE void transposeBlock(const Source *source, int64_t laneStride,
                                             float *panel) {
    typename Vec::Type rows[Vec::width];
    MINIGPTC_UNROLL
    for (int64_t l = 0; l < Vec::width; ++l)
      rows[l] = l < Lanes ? Vec::load(source + l * laneStride) : Vec::zero();
    Vec::transpose(rows);
    MINIGPTC_UNROLL
    for (int64_t k = 0; k < Vec::width; ++k)
      Vec::template storeFirst<Lanes>(panel + k * Width, rows[k]);
  }
};

} // namespace
} // namespace minigptc::runtime

#endif // MINIGPTC_RUNTIME_DRIVERS_HOST_GEMMKERNELSIMPL_H
