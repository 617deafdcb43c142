//===- KernelText.h - the kernels of a module, and their text ---*- C++ -*-===//
//
// A kernel goes to a code generator as text, which is also its key in a cache: generators
// have contexts of their own.
//
//   for (func::FuncOp kernel : target::findKernels(module))
//     compile(target::printKernel(kernel));
//
//===----------------------------------------------------------------------===//
#ifndef MINIGPTC_COMPILER_TARGET_COMMON_KERNELTEXT_H
#define MINIGPTC_COMPILER_TARGET_COMMON_KERNELTEXT_H

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/BuiltinOps.h"
#include "llvm/ADT/SetVector.h"

namespace minigptc::target {

/// The kernels that functions call or blocks launch, in the order of the first use.
llvm::SetVector<mlir::func::FuncOp> findKernels(mlir::ModuleOp module);

/// Without source locations, unless they are asked for: equal kernels of different places in
/// a model are one.
std::string printKernel(mlir::func::FuncOp kernel, bool locations = false);

} // namespace minigptc::target

#endif // MINIGPTC_COMPILER_TARGET_COMMON_KERNELTEXT_H
