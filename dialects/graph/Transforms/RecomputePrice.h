//===- RecomputePrice.h - saved values given up for memory ------*- C++ -*-===//
//
// A value that is saved for the backward pass takes memory until it is read; it
// can be computed again instead, from function arguments and other saved values.
// That is done where it costs at most `price` per byte of memory, the cost being
// the time in which so many bytes are streamed (FusionCost.h). Such a price says
// the same for every function, however often it is called, since gain and cost
// grow alike: functions are decided one by one, and `--plan-recomputation` finds
// the lowest price at which the whole plan fits.
//
//   SetVector<Value> saved = …;                    // what the policy saves
//   giveUpSaved({forwardOps, read, …, price}, saved);
//
//===----------------------------------------------------------------------===//
#ifndef MINIGPTC_DIALECTS_GRAPH_TRANSFORMS_RECOMPUTEPRICE_H
#define MINIGPTC_DIALECTS_GRAPH_TRANSFORMS_RECOMPUTEPRICE_H

#include "dialects/graph/Transforms/Residuals.h"
#include "llvm/ADT/SetVector.h"

namespace minigptc::graph {

namespace attr {
/// Module: bytes that an entry may take, its arguments included (i64). Where a
/// plan takes more, what is saved for the backward pass is given up.
inline constexpr llvm::StringLiteral kMemoryBudget = "graph.memory_budget";
/// Module: bytes of the smallest plan, where that is over the budget (i64).
inline constexpr llvm::StringLiteral kLeastMemory = "graph.least_memory";
/// Module: what may be paid to save a byte for the backward pass (f64).
inline constexpr llvm::StringLiteral kRecomputePrice = "graph.recompute_price";
/// Module: what the price keeps from being saved, an array of
/// {place = loc(…), type = tensor<…>}.
inline constexpr llvm::StringLiteral kRecomputed = "graph.recomputed";
} // namespace attr

/// Removes from `saved` what is worth less than the price. All saved results of an
/// op go together. Linear in the ops, but for the length of what is computed again.
void giveUpSaved(const ResidualRequest &request, llvm::SetVector<mlir::Value> &saved);

} // namespace minigptc::graph

#endif // MINIGPTC_DIALECTS_GRAPH_TRANSFORMS_RECOMPUTEPRICE_H
