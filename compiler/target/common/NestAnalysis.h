//===- NestAnalysis.h - what plans of kernels ask ---------------*- C++ -*-===//
//
// Questions about a kernel that both targets' plans begin with. All answers are functions of
// ops and shapes.
//
//   bool flat = target::isFlat(kernel, shape);
//   auto turned = target::findTurnedValues(kernel, outputs, shape, inner);
//
//===----------------------------------------------------------------------===//
#ifndef MINIGPTC_COMPILER_TARGET_COMMON_NESTANALYSIS_H
#define MINIGPTC_COMPILER_TARGET_COMMON_NESTANALYSIS_H

#include "dialects/graph/IR/Graph.h"

namespace minigptc::target {

/// A diagnostic and failure if the kernel holds an op or element type for which the
/// machine's code generator ("CPU", target 'cpu') has no code. `isWhole` knows the ops
/// that have loops of their own; each stands alone in its kernel.
llvm::LogicalResult verifyKernel(mlir::func::FuncOp kernel, llvm::StringRef machine,
                                 llvm::StringRef name,
                                 llvm::function_ref<bool(mlir::Operation *)> isWhole);

/// True if every value is a scalar or has the outputs' shape, element by
/// element: then the nest may run over row-major positions.
bool isFlat(mlir::func::FuncOp kernel, llvm::ArrayRef<int64_t> shape);

/// Values that a nest needs transposed: what lies beside each other there is the nest's
/// dimension `dim`, another than its innermost one.
struct TurnedValues {
  int64_t dim = -1; ///< none
  llvm::SmallVector<mlir::Value> values;
};

/// Those of the nest of outputs of this shape, which all turn the same dimension; other
/// transposes are read as they lie.
TurnedValues findTurnedValues(mlir::func::FuncOp kernel, llvm::ArrayRef<unsigned> outputs,
                              llvm::ArrayRef<int64_t> shape, int64_t inner);

} // namespace minigptc::target

#endif // MINIGPTC_COMPILER_TARGET_COMMON_NESTANALYSIS_H
