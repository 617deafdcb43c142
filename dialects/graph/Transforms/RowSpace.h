//===- RowSpace.h - kernels that walk rows ----------------------*- C++ -*-===//
//
// A row kernel walks the rows of tensors [rows..., columns]. With R rows and C
// columns, each value of its body is one of
//
// | role | shape | computed |
// |---|---|---|
// | full | R·C elements, the last dimension C | at (row, column) |
// | row | R elements | once per row |
// | partial | [chunks, C], sums of a full value over R / chunks rows | per column, on the way |
// | other | any: a column vector, a scalar, a gathered table | anywhere |
//
// Reductions along the last dimension make row values of full ones; broadcasts
// make full ones of row values, so that a softmax or the gradient of a norm is
// one walk. A value is *aligned* if all its readers in the body read it at their
// own row (and column): only then need the kernel not have all of it at once.
//
//   %s = reduce sum, %x, dims = [1]      | space 64 × 32: %x full, %s row,
//   %b = broadcast_in_dim %s, dims = [0] | %b and %y full, all aligned
//   %y = divide %x, %b                   |
//
//===----------------------------------------------------------------------===//
#ifndef MINIGPTC_DIALECTS_GRAPH_TRANSFORMS_ROWSPACE_H
#define MINIGPTC_DIALECTS_GRAPH_TRANSFORMS_ROWSPACE_H

#include "dialects/graph/IR/Graph.h"

#include <optional>

namespace minigptc::graph {

struct RowSpace {
  int64_t rows = 1, columns = 1;

  bool operator==(const RowSpace &) const = default;
  bool isFull(mlir::Value value) const;
  bool isRow(mlir::Value value) const;
};

/// The space of a value of full shape.
RowSpace getRowSpace(mlir::Value full);

/// The space whose rows a reduction combines, each to one element, or of which
/// it adds up chunks of rows; nothing for other reductions.
std::optional<RowSpace> getReducedSpace(mlir::Operation *reduction);
/// Whether a reduction adds up chunks of rows: [chunks, rows, C] to [chunks, C].
bool isPartialColumnSum(mlir::Operation *op);

/// Whether a reshape keeps the last dimension: the same row and column.
bool keepsColumns(ReshapeOp reshape);

/// Which values of a body are aligned in a space.
class RowAlignment {
public:
  /// `body` in program order; `roots` are the ops of it whose values are computed
  /// once.
  RowAlignment(llvm::ArrayRef<mlir::Operation *> body, llvm::ArrayRef<mlir::Operation *> roots,
               RowSpace space);

  /// True for an input or a value of the body that is read, and by all its
  /// readers in the body at their own place.
  bool isAligned(mlir::Value value) const {
    return aligned.contains(value) && !elsewhere.contains(value);
  }
  /// No root is read elsewhere.
  bool areRootsAligned() const { return rootsAligned; }
  /// Every root is a full, row or partial value.
  bool isRowKernel() const { return rowKernel; }

private:
  bool readsAtOwnPlace(mlir::Operation *op, mlir::Value operand) const;

  RowSpace space;
  llvm::DenseSet<mlir::Value> aligned, elsewhere;
  bool rootsAligned = true, rowKernel = true;
};

} // namespace minigptc::graph

#endif // MINIGPTC_DIALECTS_GRAPH_TRANSFORMS_ROWSPACE_H
