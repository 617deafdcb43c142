//===- RowEmitter.h - the code of a row kernel's thread ---------*- C++ -*-===//
//
// A group of threads walks a row in the phases of its RowPlan, each thread its own columns
// (RowLayout, in KernelPlan.h). Unrolled, what a thread has read or computed in one phase is
// still known in the next ones: in registers. The columns behind the last whole slot are in a
// branch, and read again by each phase.
//
//   RowEmitter(plan, kernel, builder, elements, outputBuffers, place).emit();
//
//===----------------------------------------------------------------------===//
#ifndef MINIGPTC_COMPILER_TARGET_CUDA_ROWEMITTER_H
#define MINIGPTC_COMPILER_TARGET_CUDA_ROWEMITTER_H

#include "compiler/target/cuda/NestEmitter.h"

namespace minigptc::cuda {

class RowEmitter {
public:
  RowEmitter(const KernelPlan &plan, mlir::func::FuncOp kernel, mlir::OpBuilder &builder,
             ElementEmitter &elements, llvm::ArrayRef<mlir::Value> buffers, ThreadPlace place)
      : rows(*plan.rows), layout(plan.rowLayout), kernel(kernel), builder(builder),
        elements(elements), buffers(buffers), place(place) {}

  void emit();

private:
  using Value = mlir::Value;
  using Values = llvm::SmallVector<Value>;
  /// What becomes of values over a thread's columns: by their state so far, the column and
  /// the number of it among the thread's.
  using ColumnFunction =
      llvm::function_ref<Values(Value column, int64_t number, mlir::ValueRange state)>;

  bool hasColumns() const { return !rows.columnOutputs.empty(); }
  bool keepsColumns() const { return hasColumns() && layout.unrolled; }
  void emitItem(Value item);
  Values emitRow(Value item, Value row, mlir::ValueRange columnSums);
  void emitReductions(unsigned phase, Value row);
  Values emitOutputs(Value item, Value row, mlir::ValueRange columnSums);
  void storeRowOutputs(Value row);
  void clearColumns(Value item);
  void storeColumns(Value item, mlir::ValueRange sums);
  void storeWarpColumns(Value item, mlir::ValueRange sums);

  /// Folds over the thread's columns, in order, `vector` at a time: `body` gives the new
  /// state of a vector's columns.
  Values foldColumns(mlir::ValueRange initial, ColumnFunction body);
  Values foldSlot(Value first, int64_t slot, bool isGuarded, mlir::ValueRange state,
                  ColumnFunction body);

  mlir::Value output(unsigned number) {
    return kernel.getBody().front().getTerminator()->getOperand(number);
  }
  graph::ReductionKernelOp columnSum(unsigned number) {
    return mlir::cast<graph::ReductionKernelOp>(output(number).getDefiningOp());
  }
  Value position(Value row, Value column);
  Value elementInRow(Value value, Value row, Value column) {
    return elements.element(value, elements.indicesInRow(value, row, column));
  }

  const graph::kernel::RowPlan &rows;
  const RowLayout &layout;
  mlir::func::FuncOp kernel;
  mlir::OpBuilder &builder;
  ElementEmitter &elements;
  llvm::ArrayRef<Value> buffers;
  ThreadPlace place;
  Group group;
};

} // namespace minigptc::cuda

#endif // MINIGPTC_COMPILER_TARGET_CUDA_ROWEMITTER_H
