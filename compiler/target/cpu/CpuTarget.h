//===- CpuTarget.h - machine code and artifact for the CPU ------*- C++ -*-===//
//
// The way of a kernel: compiler/target/cpu/Kernels.h looks for its object code in
// the cache (ObjectCache.h); if it is not there, KernelEmitter.h writes loops,
// KernelLowering.h brings them to LLVM, MachineCode.h compiles. Linker.h makes one
// shared object of all, ArtifactBuilder.h the tables around it.
//
//   KernelCompiler kernels(isa, options);
//   if (failed(kernels.start(module))) …                 // stage `schedule` or later
//   …                                                    // the passes to stage `exec`
//   FailureOr<std::vector<std::byte>> mgx = cpu::emitArtifact(module, isa, kernels, options,
//   stats);
//
//===----------------------------------------------------------------------===//
#ifndef MINIGPTC_COMPILER_TARGET_CPU_CPUTARGET_H
#define MINIGPTC_COMPILER_TARGET_CPU_CPUTARGET_H

#include "compiler/target/cpu/Kernels.h"

namespace minigptc::cpu {

/// Waits for the kernels of a module, which is in stage `exec` now, links them and writes the
/// artifact. Diagnostics on failure.
llvm::FailureOr<std::vector<std::byte>> emitArtifact(mlir::ModuleOp module, const Isa &isa,
                                                     KernelCompiler &kernels,
                                                     const CompileOptions &options,
                                                     CompileStats &stats);

} // namespace minigptc::cpu

#endif // MINIGPTC_COMPILER_TARGET_CPU_CPUTARGET_H
