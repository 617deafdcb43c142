//===- ElementEmitter.h - kernel code, pulled from its results --*- C++ -*-===//
//
// Emits the scalar code of an element of a kernel's value by asking the op that
// makes it (`KernelOp`), which asks for its operands' elements in turn. A value
// that several ops use is computed once per place (see Scopes.h).
//
// Reductions are the emitter's own, for the sake of their loop order:
//  - along the last dimension, floats: 16 lanes, lane l combining the elements
//    16k + l, then the lanes pairwise. The order is fixed by the operand's shape,
//    so the bits do not depend on fusion, threads or what LLVM vectorises.
//  - along outer dimensions, where the last one is the loop's: row by row into a
//    buffer of one chunk, before the loop.
//  - otherwise element after element.
//
//===----------------------------------------------------------------------===//
#ifndef MINIGPTC_COMPILER_TARGET_CPU_ELEMENTEMITTER_H
#define MINIGPTC_COMPILER_TARGET_CPU_ELEMENTEMITTER_H

#include "compiler/conversion/GraphToLoops/Scalars.h"
#include "compiler/target/cpu/Scopes.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

namespace minigptc::cpu {

class ElementEmitter {
public:
  /// Code goes into `function`, whose entry block exists.
  ElementEmitter(mlir::OpBuilder &builder, mlir::Operation *function)
      : builder(builder), function(function), scopes(builder) {}

  /// Says where a kernel's argument lies in memory.
  void bind(mlir::Value argument, mlir::Value pointer) { pointers[argument] = pointer; }
  /// The element at `indices`, one per dimension; or one row-major position for
  /// a value of any shape, in nests over positions.
  mlir::Value element(mlir::Value value, mlir::ValueRange indices);

  /// Reads or writes memory as an element type of the graph (i1 is a byte).
  mlir::Value load(mlir::Value pointer, mlir::Type elementType, mlir::Value position);
  void store(mlir::Value scalar, mlir::Value pointer, mlir::Type elementType, mlir::Value position);
  mlir::Value linearise(mlir::ValueRange indices, llvm::ArrayRef<int64_t> shape);

  /// A loop from begin to end; the builder is left in its body.
  mlir::scf::ForOp enterLoop(mlir::Value begin, mlir::Value end);
  /// The same, no two iterations of which touch the same element.
  mlir::scf::ForOp enterParallelLoop(mlir::Value begin, mlir::Value end);
  /// A parallel loop over at most `maxTrip` columns, before which column sums may
  /// be accumulated.
  mlir::scf::ForOp enterColumnLoop(mlir::Value begin, mlir::Value end, int64_t maxTrip);
  void leaveLoop(mlir::scf::ForOp loop) { builder.setInsertionPointAfter(loop); }

  /// Loops whose iterations do not depend on one another through memory.
  llvm::ArrayRef<mlir::scf::ForOp> getParallelLoops() const { return parallelLoops; }

  graph::kernel::Scalars scalars() { return {builder, function->getLoc()}; }

private:
  mlir::Value compute(mlir::Value value, mlir::ValueRange indices);
  mlir::Value constantElement(mlir::Operation *op, mlir::ElementsAttr data,
                              mlir::ValueRange indices);
  mlir::Value reduction(graph::ReductionKernelOp op, mlir::ValueRange indices);
  mlir::Value sequentialReduction(graph::ReductionKernelOp op, mlir::ValueRange indices);
  mlir::Value laneReduction(graph::ReductionKernelOp op, mlir::ValueRange indices);
  mlir::Value columnReduction(graph::ReductionKernelOp op, mlir::ValueRange indices,
                              mlir::scf::ForOp loop);
  void combineLanes(graph::ReductionKernelOp op, mlir::ValueRange indices, mlir::ValueRange outer,
                    mlir::Value lanes, mlir::Value firstElement, int64_t count);
  mlir::scf::ForOp columnLoopOf(graph::ReductionKernelOp op, mlir::ValueRange indices);
  mlir::Value allocate(mlir::Type elementType, int64_t count);

  mlir::OpBuilder &builder;
  mlir::Operation *function;
  Scopes scopes;
  llvm::DenseMap<mlir::Value, mlir::Value> pointers;
  llvm::DenseMap<mlir::Operation *, int64_t> columnLoops;
  llvm::DenseMap<mlir::Operation *, mlir::Value> constants;
  llvm::SmallVector<mlir::scf::ForOp> parallelLoops;
};

} // namespace minigptc::cpu

#endif // MINIGPTC_COMPILER_TARGET_CPU_ELEMENTEMITTER_H
