//===- InPlace.h - which inputs a kernel may overwrite ----------*- C++ -*-===//
//
// A launch may write an output over an input if the kernel reads each element of
// the input at the index at which it writes, and nowhere else: the element is
// read, then written, by the same work item. A row kernel may also read the element for
// its row's reductions: see compiler/conversion/GraphToLoops/RowPlan.h. A kernel that only
// replaces a part of the input (`ScatterKernelOp`, `BlockKernelOp`) writes this part alone.
//
//===----------------------------------------------------------------------===//
#ifndef MINIGPTC_COMPILER_CONVERSION_GRAPHTOEXEC_INPLACE_H
#define MINIGPTC_COMPILER_CONVERSION_GRAPHTOEXEC_INPLACE_H

#include "dialects/graph/IR/Graph.h"

namespace minigptc {

/// Computes, once for each kernel, the inputs that it may overwrite. Owns copies.
class InPlaceAnalysis {
public:
  /// True if output `result` of the kernel may be the buffer of its input `argument`.
  bool mayOverwrite(mlir::func::FuncOp kernel, unsigned argument, unsigned result);

private:
  struct Facts {
    llvm::SmallVector<bool> arguments, results; ///< that may share a buffer
  };
  static Facts findFacts(mlir::func::FuncOp kernel);

  llvm::DenseMap<mlir::Operation *, Facts> facts;
};

} // namespace minigptc

#endif // MINIGPTC_COMPILER_CONVERSION_GRAPHTOEXEC_INPLACE_H
