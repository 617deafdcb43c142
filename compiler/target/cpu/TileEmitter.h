//===- TileEmitter.h - matrix products in registers -------------*- C++ -*-===//
//
// The product of a strip of `rows` rows of A with `vectors` vectors of columns of
// B, all in registers: for each k in order, a row of B is loaded, and each element
// of A's column is broadcast and multiplied into one row of sums. An element of
// the product is the chain of fused multiply-adds over k, whatever the tile.
//
// A's elements may have any strides (so A may be a transposed matrix); the lanes
// of B's rows are adjacent.
//
//   Tile tile = Tile::forRows(6, /*vectorBits=*/256);          // 6 rows of one vector
//   auto sums = tile.multiply(code, depth, {a, lda, 1}, {b, ldb});
//   tile.store(code, sums, c, ldc);
//
//===----------------------------------------------------------------------===//
#ifndef MINIGPTC_COMPILER_TARGET_CPU_TILEEMITTER_H
#define MINIGPTC_COMPILER_TARGET_CPU_TILEEMITTER_H

#include "compiler/target/cpu/VectorCode.h"

namespace minigptc::cpu {

/// A's element (i, k) lies at pointer + i · rowStride + k · depthStride.
struct TileRows {
  mlir::Value pointer;
  int64_t rowStride, depthStride;
};
/// B's element (k, j) lies at pointer + k · depthStride + j.
struct TileColumns {
  mlir::Value pointer;
  int64_t depthStride;
};

struct Tile {
  int64_t rows, vectors;

  /// Tiles' rows divide this.
  static constexpr int64_t kMostRows = 12;
  /// Rows of the largest tile for a matrix of so many, on any machine.
  static int64_t getMostRows(int64_t rows);
  /// The tile that keeps the multipliers of a machine busy; its rows divide those of
  /// the largest one.
  static Tile forRows(int64_t rows, int64_t vectorBits);

  using Sums = llvm::SmallVector<mlir::Value>; ///< row by row
  Sums multiply(VectorCode &code, mlir::Value depth, TileRows a, TileColumns b) const;
  void store(VectorCode &code, const Sums &sums, mlir::Value c, int64_t rowStride) const;
  /// Adds to what is there.
  void accumulate(VectorCode &code, const Sums &sums, mlir::Value c, int64_t rowStride) const;
};

} // namespace minigptc::cpu

#endif // MINIGPTC_COMPILER_TARGET_CPU_TILEEMITTER_H
