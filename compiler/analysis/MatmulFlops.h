//===- MatmulFlops.h - the work of a function's matrix products -*- C++ -*-===//
//
// A multiply-add counts as two, causal attention as half (`CostOp`). A gradient
// costs twice its forward pass: one product each for both operands' cotangents.
//
//   double flops = countMatmulFlops(module, "train_step"); // at stage `trace`
//
//===----------------------------------------------------------------------===//
#ifndef MINIGPTC_COMPILER_ANALYSIS_MATMULFLOPS_H
#define MINIGPTC_COMPILER_ANALYSIS_MATMULFLOPS_H

#include "mlir/IR/BuiltinOps.h"

namespace minigptc {

/// Of one call of the function, calls inside it included.
double countMatmulFlops(mlir::ModuleOp module, llvm::StringRef function);

} // namespace minigptc

#endif // MINIGPTC_COMPILER_ANALYSIS_MATMULFLOPS_H
