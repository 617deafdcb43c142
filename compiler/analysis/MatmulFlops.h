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
#include "mlir/IR/SymbolTable.h"
#include "llvm/ADT/StringMap.h"

namespace minigptc {

/// Counts each function once, calls inside it included.
class MatmulFlops {
public:
  explicit MatmulFlops(mlir::ModuleOp module) : symbols(module) {}

  double ofFunction(llvm::StringRef name);
  /// Of a call, of a loop, or of the op itself.
  double ofOp(mlir::Operation *op);

private:
  mlir::SymbolTable symbols;
  llvm::StringMap<double> known;
};

/// Of one call of the function.
double countMatmulFlops(mlir::ModuleOp module, llvm::StringRef function);

} // namespace minigptc

#endif // MINIGPTC_COMPILER_ANALYSIS_MATMULFLOPS_H
