//===- ElementEmitter.h - kernel code, pulled from its results --*- C++ -*-===//
//
// Emits the scalar code of an element of a kernel's value by asking the op that
// makes it (`KernelOp`), which asks for its operands' elements in turn. A value
// that several ops use is computed once per place (see Scopes.h).
//
// Loops over columns and along rows are marked, for VectorLoops.h to take 16 elements
// at a time. Reductions are the emitter's own, for the sake of their loop order:
//  - along the last dimension: a marked loop, so 16 lanes and a fixed tree. The order is
//    fixed by the operand's shape: the bits do not depend on fusion, threads or vectors.
//  - along outer dimensions, where the last one is the loop's: row by row into a
//    buffer of one chunk, before the loop.
//  - otherwise element after element.
// `load` and `store` are the only places that know how an element lies in memory.
//
//===----------------------------------------------------------------------===//
#ifndef MINIGPTC_COMPILER_TARGET_CPU_ELEMENTEMITTER_H
#define MINIGPTC_COMPILER_TARGET_CPU_ELEMENTEMITTER_H

#include "compiler/conversion/GraphToLoops/Scalars.h"
#include "compiler/target/cpu/Scopes.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

namespace minigptc::cpu {

/// What is known of a loop's bounds: divisors of its begin (0: it is 0) and of its
/// number of iterations.
struct Blocks {
  int64_t alignment = 1, multiple = 1;
};

/// The type of an element in memory.
mlir::Type getStorageType(mlir::Type elementType);

/// True if an output should go past the caches: it is larger than they are, so that nothing
/// of it would be found in them, and a line need not be read to be written (a third of an
/// addition's traffic). A matter of speed alone.
bool isStreamed(mlir::Value output);

class ElementEmitter {
public:
  /// Code goes into `function`, whose entry block exists.
  ElementEmitter(mlir::OpBuilder &builder, mlir::Operation *function)
      : builder(builder), function(function), scopes(builder) {}

  /// Says where a kernel's argument lies in memory.
  void bind(mlir::Value argument, mlir::Value pointer) { pointers[argument] = pointer; }
  /// Where a value lies in memory, or null if it is computed.
  mlir::Value getPointer(mlir::Value value) const { return pointers.lookup(value); }
  /// The element at `indices`, one per dimension; or one row-major position for
  /// a value of any shape, in nests over positions.
  mlir::Value element(mlir::Value value, mlir::ValueRange indices);

  /// A scalar as the element type holds it: what computes on bf16 elements gives f32.
  mlir::Value rounded(mlir::Value scalar, mlir::Type elementType);
  /// Reads or writes memory as an element type of the graph (i1 is a byte). What is
  /// stored as bf16 is one already. `streamed`: past the caches, where vectors are aligned.
  mlir::Value load(mlir::Value pointer, mlir::Type elementType, mlir::Value position);
  void store(mlir::Value scalar, mlir::Value pointer, mlir::Type elementType, mlir::Value position,
             bool streamed = false);
  /// At the function's end: other threads see what was streamed.
  void finish();
  /// Asks for the argument's element at a position, which may be past its end.
  void prefetch(mlir::Value argument, mlir::Value position);
  mlir::Value linearise(mlir::ValueRange indices, llvm::ArrayRef<int64_t> shape);

  /// A loop from begin to end; the builder is left in its body.
  mlir::scf::ForOp enterLoop(mlir::Value begin, mlir::Value end);
  /// The same, no two iterations of which touch the same element: it is vectorised.
  mlir::scf::ForOp enterParallelLoop(mlir::Value begin, mlir::Value end, Blocks blocks = {});
  /// A parallel loop over at most `maxTrip` columns, before which column sums may
  /// be accumulated.
  mlir::scf::ForOp enterColumnLoop(mlir::Value begin, mlir::Value end, int64_t maxTrip,
                                   Blocks blocks = {});
  void leaveLoop(mlir::scf::ForOp loop) { builder.setInsertionPointAfter(loop); }
  /// A vectorised loop over `size` columns that also evaluates reductions, each from its
  /// neutral element: iteration argument i belongs to reductions[i].
  mlir::scf::ForOp enterRowLoop(int64_t size, llvm::ArrayRef<graph::ReductionKernelOp> reductions);
  void leaveRowLoop(mlir::scf::ForOp loop, mlir::ValueRange combined);

  /// Makes a scalar known as the value's element at the indices, from here on.
  void note(mlir::Value value, mlir::ValueRange indices, mlir::Value scalar);
  /// From here on, the value's elements of row `row` (a row-major position in all
  /// dimensions but the last) are read from memory at `pointer`, by column.
  void keep(mlir::Value value, mlir::Value row, mlir::Value pointer);
  /// Indices of the element in that row and column.
  llvm::SmallVector<mlir::Value> indicesInRow(mlir::Value value, mlir::Value row,
                                              mlir::Value column);

  graph::kernel::Scalars scalars() { return {builder, function->getLoc()}; }

private:
  mlir::Value compute(mlir::Value value, mlir::ValueRange indices);
  mlir::Value constantElement(mlir::Operation *op, mlir::ElementsAttr data,
                              mlir::ValueRange indices);
  mlir::Value reduction(graph::ReductionKernelOp op, mlir::ValueRange indices);
  mlir::Value sequentialReduction(graph::ReductionKernelOp op, mlir::ValueRange indices);
  mlir::Value rowReduction(graph::ReductionKernelOp op, mlir::ValueRange indices);
  mlir::Value columnReduction(graph::ReductionKernelOp op, mlir::ValueRange indices,
                              mlir::scf::ForOp loop);
  mlir::scf::ForOp columnLoopOf(graph::ReductionKernelOp op, mlir::ValueRange indices);
  mlir::Value allocate(mlir::Type elementType, int64_t count);
  mlir::Value keptElement(mlir::Value value, mlir::ValueRange indices);

  mlir::OpBuilder &builder;
  mlir::Operation *function;
  Scopes scopes;
  bool streams = false;
  llvm::DenseMap<mlir::Value, mlir::Value> pointers;
  struct ColumnLoop {
    int64_t maxTrip;
    Blocks blocks;
  };
  struct KeptRow {
    mlir::Value row, pointer;
  };
  llvm::DenseMap<mlir::Operation *, ColumnLoop> columnLoops;
  llvm::DenseMap<mlir::Value, KeptRow> keptRows;
  llvm::DenseMap<mlir::Operation *, mlir::Value> constants;
};

} // namespace minigptc::cpu

#endif // MINIGPTC_COMPILER_TARGET_CPU_ELEMENTEMITTER_H
