//===- TransposedTiles.h - transposes through the cache ---------*- C++ -*-===//
//
// A nest that walks its rows reads a transposed operand down its columns: a cache line for
// every element. So such a nest is cut into tiles of 64 rows and 64 columns, where the rows
// are those of the dimension that is the operand's innermost. A tile of the transposed value
// is computed first, in the operand's order, into scratch memory (which asks for all its cache
// lines at once), turned in blocks of 16 × 16 in registers, and read by rows in the nest's loops.
//
//   nest [d, …, c] of transpose(x: [c, …, d]):   for each tile:
//     for c: for d: lines[c, d] = x[c, …, d]
//     for each block: tile[d .. d + 16, c .. c + 16] = transpose(lines[c .. c + 16, d .. d + 16])
//     for d: for c: out[d, …, c] = f(tile[d, c])
//
//===----------------------------------------------------------------------===//
#ifndef MINIGPTC_COMPILER_TARGET_CPU_TRANSPOSEDTILES_H
#define MINIGPTC_COMPILER_TARGET_CPU_TRANSPOSEDTILES_H

#include "compiler/target/cpu/ElementEmitter.h"
#include "compiler/target/cpu/KernelPlan.h"

namespace minigptc::cpu {

/// Rows and columns of a tile.
inline constexpr int64_t kTile = 64;

/// Bytes that the nest's tiles take.
int64_t getTileScratch(const NestPlan &nest);

/// Writes the code of one tile's values, at the builder's place. Owns nothing.
class TileFiller {
public:
  /// Rows and columns of the nest, [begin, end).
  struct Range {
    mlir::Value begin, end;
  };
  TileFiller(const NestPlan &nest, mlir::OpBuilder &builder, ElementEmitter &elements,
             mlir::Value scratch)
      : nest(nest), builder(builder), elements(elements), scratch(scratch) {}

  /// Computes the turned values' tiles; `indices` are the outer dimensions', whatever the
  /// turned one's is.
  void fill(mlir::ValueRange indices, Range rows, Range columns);
  /// Makes the tiles known as the values' elements at the indices: those of the outer dimensions
  /// and the column.
  void noteElements(mlir::ValueRange indices, Range rows, Range columns);

private:
  void fillLines(mlir::Value value, mlir::ValueRange indices, Range rows, Range columns);
  void prefetchNextTile(mlir::Value value, llvm::SmallVector<mlir::Value> at);
  void turnLines(mlir::Value value, mlir::Value tile, Range rows, Range columns);

  const NestPlan &nest;
  mlir::OpBuilder &builder;
  ElementEmitter &elements;
  mlir::Value scratch;
  llvm::SmallVector<mlir::Value> tiles; ///< pointers, by value
};

} // namespace minigptc::cpu

#endif // MINIGPTC_COMPILER_TARGET_CPU_TRANSPOSEDTILES_H
