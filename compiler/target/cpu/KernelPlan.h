//===- KernelPlan.h - how a kernel's work is cut ----------------*- C++ -*-===//
//
// A kernel that reduces along rows and goes on with the results in the same rows is a row
// kernel (RowPlan.h); an op with loops of its own is a kernel by itself (WholeKernels.h).
// Any other computes its outputs by loop nests; outputs of as many elements share one, in
// which an element of every output is computed before any is stored (so that an output
// may take over the buffer of an input that is read at the same place).
// A nest's rows (outer dimensions collapsed) and, where a row is long, chunks of
// it are the work items that threads pick up. The plan is a function of the
// kernel's ops and shapes only, so that results do not depend on threads, and it
// is made without generating code: the artifact's writer needs it on cache hits.
//
//   KernelPlan plan = planKernel(kernel);   // plan.items, plan.grain
//
//===----------------------------------------------------------------------===//
#ifndef MINIGPTC_COMPILER_TARGET_CPU_KERNELPLAN_H
#define MINIGPTC_COMPILER_TARGET_CPU_KERNELPLAN_H

#include "compiler/conversion/GraphToLoops/RowPlan.h"

namespace minigptc::cpu {

/// One loop nest. Item i covers chunk i % chunks of row i / chunks; a chunk is
/// `chunk` elements of dimension `inner` (the last one may be shorter).
struct NestPlan {
  llvm::SmallVector<unsigned> outputs; ///< result numbers of the kernel
  llvm::SmallVector<int64_t> shape;    ///< of the first output; one dimension if flat
  bool flat = false; ///< all values have the nest's shape and are indexed by position
  /// The result is a scatter's, or a block update's: dimension `inner` is cut, all others
  /// are walked by every item.
  bool scatter = false, block = false;
  int64_t inner = -1; ///< innermost dimension that counts; -1: a scalar
  int64_t rows = 1, chunks = 1, chunk = 1;
  /// A dimension that is cut too, into tiles: see TransposedTiles.h. -1: none.
  int64_t turned = -1;
  llvm::SmallVector<mlir::Value> turnedValues; ///< which tiles hold

  int64_t items() const { return rows * chunks; }
};

struct KernelPlan {
  std::optional<graph::kernel::RowPlan> rows; ///< of a row kernel, which has no nests
  llvm::SmallVector<NestPlan> nests;          ///< their items follow one another
  /// The op that the kernel consists of, if it brings loops of its own: no nests.
  mlir::Operation *whole = nullptr;
  int64_t items = 0;
  int64_t grain = 1;   ///< items that one thread takes at a time
  int64_t scratch = 0; ///< bytes of memory that each thread lends the kernel

  /// "rows", "nests" or "whole".
  llvm::StringRef kind() const { return rows ? "rows" : whole ? "whole" : "nests"; }
};

KernelPlan planKernel(mlir::func::FuncOp kernel);

} // namespace minigptc::cpu

#endif // MINIGPTC_COMPILER_TARGET_CPU_KERNELPLAN_H
