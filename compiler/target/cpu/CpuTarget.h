//===- CpuTarget.h - machine code and artifact for the CPU ------*- C++ -*-===//
#ifndef MINIGPTC_COMPILER_TARGET_CPU_CPUTARGET_H
#define MINIGPTC_COMPILER_TARGET_CPU_CPUTARGET_H

#include "minigptc/compiler/Compile.h"
#include "mlir/IR/BuiltinOps.h"

namespace minigptc::cpu {

/// Compiles the kernels of a module in stage `exec` (in parallel, through the
/// object cache), links them and writes the artifact. Diagnostics on failure.
llvm::FailureOr<std::vector<std::byte>> emitArtifact(mlir::ModuleOp module, const CompileOptions &options,
                                                     CompileStats &stats);

} // namespace minigptc::cpu

#endif // MINIGPTC_COMPILER_TARGET_CPU_CPUTARGET_H
