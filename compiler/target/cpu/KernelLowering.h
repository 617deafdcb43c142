//===- KernelLowering.h - from loops to the LLVM dialect --------*- C++ -*-===//
#ifndef MINIGPTC_COMPILER_TARGET_CPU_KERNELLOWERING_H
#define MINIGPTC_COMPILER_TARGET_CPU_KERNELLOWERING_H

#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/DialectRegistry.h"

namespace minigptc::cpu {

/// The dialects that kernels pass through.
void registerKernelDialects(mlir::DialectRegistry &registry);

/// Replaces functions of `math`. f32: polynomials, which have a vector form, none
/// further than a few units in the last place from the true value. f64, and
/// power, cbrt: calls of libm, resolved when the code is loaded.
llvm::LogicalResult expandMath(mlir::ModuleOp module);

/// Replaces maxima and minima of floats, in which NaN wins, by comparisons; after
/// `vectoriseLoops`, which takes a reduction's combining op apart no further.
void expandExtrema(mlir::ModuleOp module);

/// scf, arith, math, vector, func → the LLVM dialect.
llvm::LogicalResult lowerToLLVM(mlir::ModuleOp module);

} // namespace minigptc::cpu

#endif // MINIGPTC_COMPILER_TARGET_CPU_KERNELLOWERING_H
