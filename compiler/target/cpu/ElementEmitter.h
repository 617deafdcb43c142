//===- ElementEmitter.h - elements, and loops around them -------*- C++ -*-===//
//
// The CPU's way to elements of a kernel's values (see target/common/Elements.h).
//
// Loops over columns and along rows are marked, for VectorLoops.h to take 16 elements
// at a time. Reductions are the emitter's own, for the sake of their loop order:
//  - along the last dimension: a marked loop, so 16 lanes and a fixed tree. The order is
//    fixed by the operand's shape: the bits do not depend on fusion, threads or vectors.
//  - along outer dimensions, where the last one is the loop's: row by row into a
//    buffer of one chunk, before the loop.
//  - otherwise element after element.
//
//===----------------------------------------------------------------------===//
#ifndef MINIGPTC_COMPILER_TARGET_CPU_ELEMENTEMITTER_H
#define MINIGPTC_COMPILER_TARGET_CPU_ELEMENTEMITTER_H

#include "compiler/target/common/Elements.h"

namespace minigptc::cpu {

using target::getStorageType;

/// What is known of a loop's bounds: divisors of its begin (0: it is 0) and of its
/// number of iterations.
struct Blocks {
  int64_t alignment = 1, multiple = 1;
};

/// True if an output should go past the caches: it is larger than they are, so that nothing
/// of it would be found in them, and a line need not be read to be written (a third of an
/// addition's traffic). A matter of speed alone.
bool isStreamed(mlir::Value output);

class ElementEmitter : public target::Elements {
public:
  /// Code goes into `function`, whose entry block exists.
  ElementEmitter(mlir::OpBuilder &builder, mlir::Operation *function)
      : Elements(builder, function, /*addressSpace=*/0) {}

  /// At the function's end: other threads see what was streamed.
  void finish();
  /// Asks for the argument's element at a position, which may be past its end.
  void prefetch(mlir::Value argument, mlir::Value position);

  /// A loop no two iterations of which touch the same element: it is vectorised.
  mlir::scf::ForOp enterParallelLoop(mlir::Value begin, mlir::Value end, Blocks blocks = {});
  /// A parallel loop over at most `maxTrip` columns, before which column sums may
  /// be accumulated.
  mlir::scf::ForOp enterColumnLoop(mlir::Value begin, mlir::Value end, int64_t maxTrip,
                                   Blocks blocks = {});
  /// A vectorised loop over `size` columns that also evaluates reductions, each from its
  /// neutral element: iteration argument i belongs to reductions[i].
  mlir::scf::ForOp enterRowLoop(int64_t size, llvm::ArrayRef<graph::ReductionKernelOp> reductions);
  void leaveRowLoop(mlir::scf::ForOp loop, mlir::ValueRange combined);

private:
  mlir::Value reduction(graph::ReductionKernelOp op, mlir::ValueRange indices) override;
  mlir::Value rowReduction(graph::ReductionKernelOp op, mlir::ValueRange indices);
  mlir::Value columnReduction(graph::ReductionKernelOp op, mlir::ValueRange indices,
                              mlir::scf::ForOp loop);
  mlir::scf::ForOp columnLoopOf(graph::ReductionKernelOp op, mlir::ValueRange indices);
  mlir::Value allocate(mlir::Type elementType, int64_t count);

  struct ColumnLoop {
    int64_t maxTrip;
    Blocks blocks;
  };
  llvm::DenseMap<mlir::Operation *, ColumnLoop> columnLoops;
};

} // namespace minigptc::cpu

#endif // MINIGPTC_COMPILER_TARGET_CPU_ELEMENTEMITTER_H
