//===- ShardingRule.h - how an op may be cut ---------------------*- C++ -*-===//
//
// The factors of an op, in the manner of einsum letters: a factor is an index that the
// op iterates over, and every dimension of an operand or result is one factor, several
// (major to minor, where the op splits or merges dimensions), or none (whole on every
// device). For dot_general [B, M, K] x [B, K, N]: batch, M, N pass through, K is reduced.
//
//   ShardingRule rule = ShardingRule::elementwise(op);
//   unsigned k = rule.addFactor(64, FactorKind::reduction);
//   rule.operands[0][1] = {k};
//
// A device that has parts of some factors computes the op on these parts and has the same
// parts of the results. A result without a reduced factor is then partial: still to be
// combined over the devices. Sizes are those of the whole tensors.
//
//===----------------------------------------------------------------------===//
#ifndef MINIGPTC_DIALECTS_GRAPH_IR_SHARDINGRULE_H
#define MINIGPTC_DIALECTS_GRAPH_IR_SHARDINGRULE_H

#include "mlir/IR/Operation.h"
#include "llvm/ADT/SmallVector.h"

#include <cstdint>

namespace minigptc::graph {

enum class ReduceKind : uint32_t;

/// What happens when devices hold parts of a factor.
///
/// | kind | each device |
/// |---|---|
/// | pass_through | computes its part of the result, alone |
/// | reduction | computes a summand of results that do not have the factor |
/// | collective | computes its part with the help of the others (`PartitionableOp`); results without the factor are whole |
/// | replicated | must have all of it |
enum class FactorKind { passThrough, reduction, collective, replicated };

struct Factor {
  int64_t size = 1;
  FactorKind kind = FactorKind::passThrough;
  ReduceKind combine = ReduceKind(0); ///< of a reduction; default: sum
};

/// How results depend on operands that are still to be summed over devices.
///
/// | linearity | the op on summands gives summands of the result if |
/// |---|---|
/// | none | never |
/// | joint | all `linear` operands are partial (add, concatenate) |
/// | each | exactly one `linear` operand is partial, the others are whole (multiply, dot) |
enum class Linearity { none, joint, each };

/// The factors of one dimension, major to minor. Only the first that is longer than one
/// element may be cut, and one behind it only if those before are cut to one element.
using DimFactors = llvm::SmallVector<unsigned, 2>;

struct ShardingRule {
  llvm::SmallVector<Factor, 4> factors;
  llvm::SmallVector<llvm::SmallVector<DimFactors, 4>, 4> operands, results;
  Linearity linearity = Linearity::none;
  llvm::SmallVector<bool, 4> linear; ///< per operand; empty: all of them

  /// No factors: everything is whole on every device. Dimensions have no factor yet.
  static ShardingRule replicated(mlir::Operation *op);
  /// All operands and results of the first result's rank have the same factors; others (scalars)
  /// none.
  static ShardingRule elementwise(mlir::Operation *op);

  unsigned addFactor(int64_t size, FactorKind kind = FactorKind::passThrough);
};

} // namespace minigptc::graph

#endif // MINIGPTC_DIALECTS_GRAPH_IR_SHARDINGRULE_H
