//===- Loops.h - regions that kernel models build ---------------*- C++ -*-===//
//
// Ops with regions are created before their bodies are filled, so that code that
// loads operands can see in which loops and branches it stands.
//
//===----------------------------------------------------------------------===//
#ifndef MINIGPTC_COMPILER_CONVERSION_GRAPHTOLOOPS_LOOPS_H
#define MINIGPTC_COMPILER_CONVERSION_GRAPHTOLOOPS_LOOPS_H

#include "compiler/conversion/GraphToLoops/Scalars.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

namespace minigptc::graph::kernel {

/// condition ? onTrue() : onFalse(), computing only the one chosen. A null
/// condition is true.
mlir::Value emitIf(Scalars s, mlir::Value condition, mlir::Type type,
                   llvm::function_ref<mlir::Value()> onTrue,
                   llvm::function_ref<mlir::Value()> onFalse);

/// Folds over all indices of a shape in row-major order, the last innermost.
mlir::Value emitFold(Scalars s, llvm::ArrayRef<int64_t> shape, mlir::Value initial,
                     llvm::function_ref<mlir::Value(mlir::ValueRange, mlir::Value)> body);

} // namespace minigptc::graph::kernel

#endif // MINIGPTC_COMPILER_CONVERSION_GRAPHTOLOOPS_LOOPS_H
