//===- KernelEmitter.h - a kernel as a gpu.func -----------------*- C++ -*-===//
//
// Writes a kernel (a function of graph ops marked `exec.kernel`) as a `gpu.func` of that
// name, in `gpu`, `scf`, `arith`, `math` and LLVM loads and stores; what a thread does is
// described in KernelPlan.h.
//
// A kernel has one parameter for each buffer, inputs then outputs: a pointer to global
// memory, aligned to 16 bytes. A grouped kernel has one parameter, a table of such pointers
// in device memory, [groups][buffers]; the y index of a block is its group.
//
//   OwningOpRef<ModuleOp> module = emitKernel(kernel, /*grouped=*/false);
//
//===----------------------------------------------------------------------===//
#ifndef MINIGPTC_COMPILER_TARGET_CUDA_KERNELEMITTER_H
#define MINIGPTC_COMPILER_TARGET_CUDA_KERNELEMITTER_H

#include "compiler/target/cuda/KernelPlan.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/OwningOpRef.h"

namespace minigptc::cuda {

/// A new module with one `gpu.module` that holds the function; the kernel must pass
/// `verifyKernel`.
mlir::OwningOpRef<mlir::ModuleOp> emitKernel(mlir::func::FuncOp kernel, bool grouped);

} // namespace minigptc::cuda

#endif // MINIGPTC_COMPILER_TARGET_CUDA_KERNELEMITTER_H
