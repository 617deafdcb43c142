//===- CarriedSums.h - what a loop adds up ----------------------*- C++ -*-===//
//
// A loop that sums carries `next = before + addend`. The addend may itself be a sum, of what is
// made in different places:
//
//   if (Value addend = getAddend(before, next)) …          // null: it is no sum
//   if (auto [a, b] = getSummands(addend); a) …            // addend = a + b
//   if (auto [a, b] = splitSummands(addend, builder); a) … // … convert(a + b): converts of each
//
//===----------------------------------------------------------------------===//
#ifndef MINIGPTC_DIALECTS_GRAPH_TRANSFORMS_CARRIEDSUMS_H
#define MINIGPTC_DIALECTS_GRAPH_TRANSFORMS_CARRIEDSUMS_H

#include "dialects/graph/IR/Graph.h"

#include <utility>

namespace minigptc::graph {

/// What is added to an argument that nothing else reads, or null.
mlir::Value getAddend(mlir::BlockArgument before, mlir::Value next);

/// The two values whose sum is `value`, or is rounded to it; nulls if it is no such sum, or if the
/// sum has other readers.
std::pair<mlir::Value, mlir::Value> getSummands(mlir::Value value);

/// The same, each rounded as their sum is, by new ops behind them where it is.
std::pair<mlir::Value, mlir::Value> splitSummands(mlir::Value value, mlir::OpBuilder &builder);

} // namespace minigptc::graph

#endif // MINIGPTC_DIALECTS_GRAPH_TRANSFORMS_CARRIEDSUMS_H
