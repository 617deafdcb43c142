//===- RowPlan.h - kernels that walk rows in phases -------------*- C++ -*-===//
//
// A row kernel has a row space of R rows and C columns: a tensor [.., C] of R·C
// elements that reductions along the last dimension run over (softmax, norms and
// their gradients, cross-entropy). Its values, by their number of elements:
//
// | value  | shape                   | example                                      |
// |--------|-------------------------|----------------------------------------------|
// | full   | R·C elements, last is C | the input, the result of a norm              |
// | row    | R elements              | a maximum, a mean; [R], [.., R'] or [.., 1]  |
// | column | [C], broadcast          | a norm's weight                              |
// | other  | anything, at any index  | a scalar, an iota, a table that is gathered  |
//
// What makes a kernel a row kernel (else it is loop nests, see compiler/target/cpu/KernelPlan.h):
//  - there are several rows;
//  - some `reduce` along the last dimension alone has a full operand; or there are
//    column outputs beside others;
//  - each result is full, row, or a *column output*: a reduction along the second-last
//    dimension alone of a full value [.., R', C], read by nothing but the return. All of
//    a kernel agree on R'.
// Ops in between may be any that have a kernel. Those that stay in their row (elementwise,
// broadcasts of row and column values, reshapes that keep the last dimension) share what
// the row has computed; any other reads at the index it computes, by recomputing.
//
// Work items are rows; with column outputs, blocks of R' rows in order, so that sums
// down the columns have one order whatever the threads. A row is walked in phases:
// phase p evaluates all reductions that depend on p others in a chain, the last phase
// stores all full and column outputs too, and row outputs follow. So each row is read
// before it is written, or element by element at the same time: a full output may take
// over the buffer of an input that is read in its own row and column only. An expensive value (an
// exponential, a division) needed by more than one phase lies in scratch memory.
//
//   if (std::optional<RowPlan> plan = planRows(kernel)) plan->phases.size() …
//
//===----------------------------------------------------------------------===//
#ifndef MINIGPTC_COMPILER_CONVERSION_GRAPHTOLOOPS_ROWPLAN_H
#define MINIGPTC_COMPILER_CONVERSION_GRAPHTOLOOPS_ROWPLAN_H

#include "dialects/graph/IR/Graph.h"

#include <optional>

namespace minigptc::graph::kernel {

struct RowPlan {
  /// A value that one phase computes and later ones read again.
  struct Kept {
    mlir::Value value;
    unsigned phase; ///< the first that needs it
    int64_t offset; ///< bytes into the scratch memory
  };

  int64_t columns = 1;
  int64_t items = 1, rowsPerItem = 1;
  /// The reductions along rows that each phase evaluates; the last may have none.
  llvm::SmallVector<llvm::SmallVector<ReductionKernelOp>> phases;
  unsigned longestPhase = 0;                                          ///< that computes most
  llvm::SmallVector<unsigned> fullOutputs, rowOutputs, columnOutputs; ///< result numbers
  llvm::SmallVector<Kept> kept;
  int64_t scratch = 0; ///< bytes
  /// Per argument: it is full, and element (r, c) is read only for outputs of row r, in
  /// the last phase only for those at (r, c).
  llvm::SmallVector<bool> argumentInRow;
};

/// The plan of a row kernel, nothing for any other. A function of ops and shapes.
std::optional<RowPlan> planRows(mlir::func::FuncOp kernel);

} // namespace minigptc::graph::kernel

#endif // MINIGPTC_COMPILER_CONVERSION_GRAPHTOLOOPS_ROWPLAN_H
