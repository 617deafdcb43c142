//===- KernelEmitter.h - a kernel's loop nests ------------------*- C++ -*-===//
//
// Writes a kernel (a function of graph ops marked `exec.kernel`) as a function of
// the kernel ABI, `void name(void *const *buffers, int64_t begin, int64_t end, void *scratch)`,
// in `scf`, `arith`, `math` and LLVM loads and stores.
//
//   OwningOpRef<ModuleOp> module = emitKernel(kernel);
//
//===----------------------------------------------------------------------===//
#ifndef MINIGPTC_COMPILER_TARGET_CPU_KERNELEMITTER_H
#define MINIGPTC_COMPILER_TARGET_CPU_KERNELEMITTER_H

#include "compiler/target/cpu/Isa.h"
#include "dialects/graph/IR/Graph.h"
#include "mlir/IR/OwningOpRef.h"

namespace minigptc::cpu {

/// A diagnostic and failure if the kernel holds an op or element type for which
/// there is no CPU code. Element types: f64, f32, i64, i32, i8, i1, ui64, ui32.
llvm::LogicalResult verifyKernel(mlir::func::FuncOp kernel);

/// A new module with the function; the kernel must pass `verifyKernel`.
mlir::OwningOpRef<mlir::ModuleOp> emitKernel(mlir::func::FuncOp kernel,
                                             const Isa &isa = Isa::baseline());

} // namespace minigptc::cpu

#endif // MINIGPTC_COMPILER_TARGET_CPU_KERNELEMITTER_H
