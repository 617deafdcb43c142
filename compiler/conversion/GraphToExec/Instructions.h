//===- Instructions.h - instructions of ops between kernels -----*- C++ -*-===//
#ifndef MINIGPTC_COMPILER_CONVERSION_GRAPHTOEXEC_INSTRUCTIONS_H
#define MINIGPTC_COMPILER_CONVERSION_GRAPHTOEXEC_INSTRUCTIONS_H

#include "mlir/IR/Builders.h"
#include "mlir/IR/DialectRegistry.h"

namespace minigptc {

/// Attaches `InstructionOp` to the graph ops that stay outside of kernels:
/// matrix products, views, host calls.
void registerInstructionModels(mlir::DialectRegistry &registry);
/// The same for what knows of other devices: collectives, messages, `dist.axis_index`, prints.
void registerCollectiveInstructionModels(mlir::DialectRegistry &registry);

/// The `dist.wait` of a collective that is only started, else null.
mlir::Operation *findWait(mlir::Operation *op);
/// Whether an op hands on, in the same memory, what a collective gives that was started before.
bool isWait(mlir::Operation *op);
/// Emits the wait, where `buffers` are what the collective writes.
llvm::LogicalResult emitWait(mlir::Operation *op, mlir::OpBuilder &builder,
                             mlir::ValueRange buffers);

/// Whether an op is a result that only other stages have: it has no memory.
bool isAbsent(mlir::Operation *op);

/// Copies a buffer to another of its type, unless both are the same memory: the same
/// piece of the frame, or a donated input and its output.
void emitCopyUnlessSame(mlir::OpBuilder &builder, mlir::Location loc, mlir::Value source,
                        mlir::Value target);

} // namespace minigptc

#endif // MINIGPTC_COMPILER_CONVERSION_GRAPHTOEXEC_INSTRUCTIONS_H
