//===- NestEmitter.h - the code of a loop nest's thread ---------*- C++ -*-===//
//
//   NestEmitter(nest, kernel, builder, elements, outputBuffers, place).emit(plan.grid);
//
//===----------------------------------------------------------------------===//
#ifndef MINIGPTC_COMPILER_TARGET_CUDA_NESTEMITTER_H
#define MINIGPTC_COMPILER_TARGET_CUDA_NESTEMITTER_H

#include "compiler/target/cuda/KernelPlan.h"
#include "compiler/target/cuda/Reductions.h"

namespace minigptc::cuda {

/// Where a thread is: in its block, its block in the grid, and its block's memory.
struct ThreadPlace {
  mlir::Value thread, block, shared;
};

/// Writes what KernelPlan.h describes, at the builder's place. Owns nothing.
class NestEmitter {
public:
  NestEmitter(const NestPlan &nest, mlir::func::FuncOp kernel, mlir::OpBuilder &builder,
              ElementEmitter &elements, llvm::ArrayRef<mlir::Value> buffers, ThreadPlace place)
      : nest(nest), kernel(kernel), builder(builder), elements(elements), buffers(buffers),
        place(place) {}

  /// `grid`: blocks of the whole kernel.
  void emit(int64_t grid);

private:
  using Value = mlir::Value;
  void emitMap(Value block);
  void emitGroups(Value block);
  void emitTiles(Value block);
  void forEachInTile(mlir::ValueRange indices, bool alongColumns,
                     llvm::function_ref<void(mlir::ValueRange, Value)> body);
  void emitScatter(Value block);
  void emitBlock(Value block);
  llvm::DenseSet<mlir::Operation *> findNeeded();
  void makeScalars();

  /// Computes the elements at the indices, and those `vector - 1` behind them; then stores them.
  void emitElements(mlir::ValueRange indices, int64_t vector);
  llvm::SmallVector<Value> indicesOf(Value unit, int64_t vector);
  /// if (condition) { the builder is here }
  mlir::scf::IfOp enterIf(Value condition);
  Value isBelow(Value value, int64_t bound);

  mlir::Value output(size_t i) {
    return kernel.getBody().front().getTerminator()->getOperand(nest.outputs[i]);
  }
  Value buffer(size_t i) { return buffers[nest.outputs[i]]; }
  graph::kernel::Scalars scalars() { return elements.scalars(); }

  const NestPlan &nest;
  mlir::func::FuncOp kernel;
  mlir::OpBuilder &builder;
  ElementEmitter &elements;
  llvm::ArrayRef<Value> buffers;
  ThreadPlace place;
};

} // namespace minigptc::cuda

#endif // MINIGPTC_COMPILER_TARGET_CUDA_NESTEMITTER_H
