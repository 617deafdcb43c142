//===- WholeKernels.h - ops with code of their own --------------*- C++ -*-===//
//
// Composite ops that a GPU computes by code written for them. Each stands alone in its
// kernel (`graph::WholeKernelOp` decides that, for every target); a WholeKernel knows how.
//
//   if (const WholeKernel *whole = findWholeKernel(op)) whole->plan(op).grid …
//
//===----------------------------------------------------------------------===//
#ifndef MINIGPTC_COMPILER_TARGET_CUDA_WHOLEKERNELS_H
#define MINIGPTC_COMPILER_TARGET_CUDA_WHOLEKERNELS_H

#include "mlir/IR/Builders.h"

namespace minigptc::cuda {

class WholeKernel {
public:
  struct Launch {
    int64_t grid, block, sharedBytes;
  };
  virtual ~WholeKernel() = default;
  virtual bool matches(mlir::Operation *op) const = 0;
  /// A diagnostic and failure if there is no code for the op's types.
  virtual llvm::LogicalResult verify(mlir::Operation *op) const = 0;
  /// A function of the op's attributes and types.
  virtual Launch plan(mlir::Operation *op) const = 0;
  /// Writes the code of one thread at the builder's place. `buffers` are pointers to the
  /// operands and then the results, `shared` one to the block's shared memory.
  virtual void emit(mlir::Operation *op, mlir::OpBuilder &builder, mlir::ValueRange buffers,
                    mlir::Value shared) const = 0;
};

/// The kernel that the op has, or null. They live as long as the program.
const WholeKernel *findWholeKernel(mlir::Operation *op);

} // namespace minigptc::cuda

#endif // MINIGPTC_COMPILER_TARGET_CUDA_WHOLEKERNELS_H
