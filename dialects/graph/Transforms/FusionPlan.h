//===- FusionPlan.h - which ops are computed together -----------*- C++ -*-===//
//
// The plan of a block, for `--graph-fuse`. Two decisions, in this order:
//
// 1. Which values are stored. Reductions, opaque ops and what a matrix product,
//    call or return reads are stored. Any other value is computed inside the
//    kernels of its readers if that costs less than storing and reading it.
// 2. Which stored values come from one kernel. Kernels over one shape, or that
//    walk the same rows (RowSpace.h), are merged where one feeds the other at
//    the same index or row, or both read the same input, and no path between
//    them leaves the merged kernel. What only that kernel reads is then no
//    result of it, and not in memory.
//
// Deterministic: a function of the block's ops, types and order. The work is
// about linear in the number of ops (searches for paths are cut off).
//
//   %t = tanh %x          | used by %a and a matrix product: stored
//   %a = add %t, %y       | reads %t at its own index: one group {tanh, add},
//   matmul %t, …          | inputs %x, %y, two results
//
//===----------------------------------------------------------------------===//
#ifndef MINIGPTC_DIALECTS_GRAPH_TRANSFORMS_FUSIONPLAN_H
#define MINIGPTC_DIALECTS_GRAPH_TRANSFORMS_FUSIONPLAN_H

#include "dialects/graph/IR/Graph.h"

#include <vector>

namespace minigptc::graph {

/// One kernel. `body` are the ops it computes, in program order; an op may be
/// in several groups. `results` are values of the body that others read,
/// `inputs` values of others that the body reads.
struct FusionGroup {
  llvm::SmallVector<mlir::Operation *> body;
  llvm::SmallVector<mlir::Value> inputs, results;
};

/// Groups in no particular order. Ops in no group stay in the block, if used.
/// With `explain`, a remark says of each value that goes from one kernel to
/// another why they are two.
std::vector<FusionGroup> planFusions(mlir::Block &block, bool explain = false);

} // namespace minigptc::graph

#endif // MINIGPTC_DIALECTS_GRAPH_TRANSFORMS_FUSIONPLAN_H
