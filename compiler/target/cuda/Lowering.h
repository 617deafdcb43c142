//===- Lowering.h - from a gpu.func to LLVM IR ------------------*- C++ -*-===//
//
// A pass list of our own: what upstream offers as one pipeline asks for PTX features that old
// drivers do not load, and for libdevice.
//
//===----------------------------------------------------------------------===//
#ifndef MINIGPTC_COMPILER_TARGET_CUDA_LOWERING_H
#define MINIGPTC_COMPILER_TARGET_CUDA_LOWERING_H

#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/DialectRegistry.h"

namespace minigptc::cuda {

/// The dialects that kernels pass through, and their translation to LLVM IR.
void registerKernelDialects(mlir::DialectRegistry &registry);

struct LoweringOptions {
  bool wide = false;  ///< positions may need more than 31 bits
  bool lines = false; ///< code keeps the source lines of its ops
};

/// gpu, scf, arith, math → the LLVM and NVVM dialects; the contents of the module's
/// `gpu.module` become its own. Unless they may be wide, indices have 32 bits: a GPU computes
/// with no others. Fails, with a diagnostic, for a function of f64 that there is no code for.
llvm::LogicalResult lowerToNvvm(mlir::ModuleOp module, LoweringOptions options);

} // namespace minigptc::cuda

#endif // MINIGPTC_COMPILER_TARGET_CUDA_LOWERING_H
