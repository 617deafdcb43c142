//===- Kernels.h - the kernels of a module, compiled ------------*- C++ -*-===//
#ifndef MINIGPTC_COMPILER_TARGET_CPU_KERNELS_H
#define MINIGPTC_COMPILER_TARGET_CPU_KERNELS_H

#include "compiler/target/cpu/Isa.h"
#include "dialects/graph/IR/Graph.h"
#include "minigptc/compiler/Compile.h"

namespace minigptc::cpu {

/// Object code of each kernel: from the cache, else compiled, several at once.
/// The result does not depend on the number of threads. Counts into `stats`;
/// diagnostics on failure.
llvm::FailureOr<std::vector<std::string>> compileKernels(llvm::ArrayRef<mlir::func::FuncOp> kernels,
                                                         const Isa &isa,
                                                         const CompileOptions &options,
                                                         CompileStats &stats);

} // namespace minigptc::cpu

#endif // MINIGPTC_COMPILER_TARGET_CPU_KERNELS_H
