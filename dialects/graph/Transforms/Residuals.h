//===- Residuals.h - what is saved for the backward pass -------*- C++ -*-===//
//
// Given the values of a forward pass that its backward pass reads, decides
// which of them, or of those they are computed from, become results of the
// forward function. All others are computed again from these and from the
// function's arguments, which the caller has.
//
//   | policy       | saved                                                     |
//   |--------------|-----------------------------------------------------------|
//   | none given   | what is read, but for what is cheap to compute from       |
//   |              | arguments and other saved values (elementwise, broadcast, |
//   |              | data movement), or from fewer bytes; with a price, only    |
//   |              | what is dearer than that (RecomputePrice.h)               |
//   | `nothing`    | nothing                                                   |
//   | `dots`       | matrix products, attention, results of functions with one |
//   | `everything` | all that is read, but for constants                       |
//
// Deterministic: decisions are taken in program order.
//
//===----------------------------------------------------------------------===//
#ifndef MINIGPTC_DIALECTS_GRAPH_TRANSFORMS_RESIDUALS_H
#define MINIGPTC_DIALECTS_GRAPH_TRANSFORMS_RESIDUALS_H

#include "dialects/graph/IR/Graph.h"

namespace minigptc::graph {

struct ResidualRequest {
  /// The forward ops, in program order.
  llvm::ArrayRef<mlir::Operation *> forwardOps;
  /// Results of forward ops that the backward pass reads.
  const llvm::DenseSet<mlir::Value> &read;
  std::optional<RematPolicy> policy;
  /// True if an op's results count as matrix products.
  llvm::function_ref<bool(mlir::Operation *)> isProduct;
  /// Results of the function: they cost no memory of their own.
  const llvm::DenseSet<mlir::Value> &returned;
  /// Without a policy: what may be paid to save a byte (RecomputePrice.h).
  double price = 0;
  /// What an op, or a call, costs in those units.
  llvm::function_ref<double(mlir::Operation *)> getCost;
  /// Told of every value that the price keeps from being saved.
  llvm::function_ref<void(mlir::Value)> giveUp;
};

/// The values to save, in program order.
llvm::SmallVector<mlir::Value> chooseResiduals(const ResidualRequest &request);

} // namespace minigptc::graph

#endif // MINIGPTC_DIALECTS_GRAPH_TRANSFORMS_RESIDUALS_H
