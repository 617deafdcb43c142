//===- Instructions.h - instructions of ops between kernels -----*- C++ -*-===//
#ifndef MINIGPTC_COMPILER_CONVERSION_GRAPHTOEXEC_INSTRUCTIONS_H
#define MINIGPTC_COMPILER_CONVERSION_GRAPHTOEXEC_INSTRUCTIONS_H

#include "mlir/IR/DialectRegistry.h"

namespace minigptc {

/// Attaches `InstructionOp` to the graph ops that stay outside of kernels:
/// matrix products, views, host calls.
void registerInstructionModels(mlir::DialectRegistry &registry);

} // namespace minigptc

#endif // MINIGPTC_COMPILER_CONVERSION_GRAPHTOEXEC_INSTRUCTIONS_H
