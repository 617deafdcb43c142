//===- RowEmitter.h - the code of a row kernel ------------------*- C++ -*-===//
//
//   RowEmitter rows(plan, kernel, elements, outputBuffers, scratch);
//   rows.emitItem(item);
//
//===----------------------------------------------------------------------===//
#ifndef MINIGPTC_COMPILER_TARGET_CPU_ROWEMITTER_H
#define MINIGPTC_COMPILER_TARGET_CPU_ROWEMITTER_H

#include "compiler/conversion/GraphToLoops/RowPlan.h"
#include "compiler/target/cpu/ElementEmitter.h"

namespace minigptc::cpu {

using graph::kernel::RowPlan;

/// Writes what RowPlan.h describes, at the builder's place. Owns nothing.
class RowEmitter {
public:
  RowEmitter(const RowPlan &plan, mlir::func::FuncOp kernel, mlir::OpBuilder &builder,
             ElementEmitter &elements, llvm::ArrayRef<mlir::Value> buffers, mlir::Value scratch)
      : plan(plan), kernel(kernel), builder(builder), elements(elements), buffers(buffers),
        scratch(scratch) {}

  void emitItem(mlir::Value item);

private:
  void clearColumns(mlir::Value item);
  void emitRow(mlir::Value item, mlir::Value row);
  void emitPhase(unsigned phase, mlir::Value item, mlir::Value row);
  void prefetchNextRow(mlir::Value row, mlir::Value column);
  void storeKept(unsigned phase, mlir::Value row, mlir::Value column);
  void emitOutputs(mlir::Value item, mlir::Value row, mlir::Value column);
  void storeRowOutputs(mlir::Value row);

  mlir::Value output(unsigned number) {
    return kernel.getBody().front().getTerminator()->getOperand(number);
  }
  graph::ReductionKernelOp columnSum(unsigned number) {
    return mlir::cast<graph::ReductionKernelOp>(output(number).getDefiningOp());
  }
  mlir::Value keptPointer(const RowPlan::Kept &kept);
  /// Row-major position of a column in row number `row`.
  mlir::Value position(mlir::Value row, mlir::Value column);

  const RowPlan &plan;
  mlir::func::FuncOp kernel;
  mlir::OpBuilder &builder;
  ElementEmitter &elements;
  llvm::ArrayRef<mlir::Value> buffers;
  mlir::Value scratch;
};

} // namespace minigptc::cpu

#endif // MINIGPTC_COMPILER_TARGET_CPU_ROWEMITTER_H
