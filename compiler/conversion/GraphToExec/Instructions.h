//===- Instructions.h - instructions of ops between kernels -----*- C++ -*-===//
#ifndef MINIGPTC_COMPILER_CONVERSION_GRAPHTOEXEC_INSTRUCTIONS_H
#define MINIGPTC_COMPILER_CONVERSION_GRAPHTOEXEC_INSTRUCTIONS_H

#include "mlir/IR/Builders.h"
#include "mlir/IR/DialectRegistry.h"

namespace minigptc {

/// Attaches `InstructionOp` to the graph ops that stay outside of kernels:
/// matrix products, views, host calls.
void registerInstructionModels(mlir::DialectRegistry &registry);
/// The same for collectives and `dist.axis_index`.
void registerCollectiveInstructionModels(mlir::DialectRegistry &registry);

/// Copies a buffer to another of its type, unless both are the same memory: the same
/// piece of the frame, or a donated input and its output.
void emitCopyUnlessSame(mlir::OpBuilder &builder, mlir::Location loc, mlir::Value source,
                        mlir::Value target);

} // namespace minigptc

#endif // MINIGPTC_COMPILER_CONVERSION_GRAPHTOEXEC_INSTRUCTIONS_H
