//===- OpSharding.h - how mesh axes cut an op -------------------*- C++ -*-===//
//
// The axes of each factor of an op's rule, and those over which it hands sums on that are not
// made yet. How it wants its operands and what it gives follow: the one place that says so, for
// propagation (which decides them), for the IR of stage `shard` (from which they are read), and
// for the partitioner.
//
//   OpSharding cut = OpSharding::read(op, mesh);          // of the IR; `whole(op)`: no axes
//   Sharding wanted = cut.ofOperand(0), given = cut.ofResult(0);
//
//===----------------------------------------------------------------------===//
#ifndef MINIGPTC_DIALECTS_DIST_TRANSFORMS_OPSHARDING_H
#define MINIGPTC_DIALECTS_DIST_TRANSFORMS_OPSHARDING_H

#include "dialects/dist/IR/Sharding.h"

namespace minigptc::dist {

/// An op without a rule has no factors.
graph::ShardingRule getRule(mlir::Operation *op);
/// Whether an operand's partial sums may be those of the results.
bool isLinear(const graph::ShardingRule &rule, unsigned operand);

/// Whether an op makes nothing but zeros: each is the sum of zeros, over any axes.
bool isZero(mlir::Operation *op);

struct OpSharding {
  graph::ShardingRule rule;
  llvm::SmallVector<Axes> factorAxes;
  /// Axes over which the results are partial because operands are, ascending.
  Axes carried;
  /// Of an op that is linear in each operand alone: the one that is partial over `carried`.
  std::optional<unsigned> carrier;

  static OpSharding whole(mlir::Operation *op);
  /// As `dist.factors` and the shardings of operands and results say.
  static OpSharding read(mlir::Operation *op, MeshAttr mesh);

  /// Whether an operand has to be partial over `carried`.
  bool carries(unsigned operand) const;
  Sharding ofOperand(unsigned operand) const;
  Sharding ofResult(unsigned result) const;
};

} // namespace minigptc::dist

#endif // MINIGPTC_DIALECTS_DIST_TRANSFORMS_OPSHARDING_H
