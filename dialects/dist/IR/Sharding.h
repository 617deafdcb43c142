//===- Sharding.h - shardings as passes compute with them -------*- C++ -*-===//
//
// A ShardingAttr with its axes as numbers of a mesh's axes. Equal shardings compare equal;
// what an attribute says of open dimensions and replicated axes is a matter of propagation,
// and kept apart: `Freedom`.
//
//   Sharding s = Sharding::of(value, mesh);                 // what IR says about a value
//   s.dims[0] = {0};                                        // cut by the mesh's axis 0
//   RankedTensorType local = s.localType(type, mesh);       // [8, 4] -> [2, 4]
//   ShardingAttr attribute = s.toAttr(meshOp);
//
//===----------------------------------------------------------------------===//
#ifndef MINIGPTC_DIALECTS_DIST_IR_SHARDING_H
#define MINIGPTC_DIALECTS_DIST_IR_SHARDING_H

#include "dialects/dist/IR/Dist.h"

namespace minigptc::dist {

/// Numbers of a mesh's axes, major to minor.
using Axes = llvm::SmallVector<unsigned, 2>;

struct Freedom;

struct Sharding {
  llvm::SmallVector<Axes, 4> dims;
  Axes partial; ///< ascending
  graph::ReduceKind combine = graph::ReduceKind::sum;

  /// Whole on every device.
  static Sharding replicated(int64_t rank);
  static Sharding fromAttr(ShardingAttr attribute, MeshAttr mesh);
  /// The sharding that IR gives a value (kShardings of the op, kSharding of the function's
  /// argument, constraints and reshards); nothing if it gives none.
  static std::optional<Sharding> of(mlir::Value value, MeshAttr mesh);

  /// Closed: nothing may be added to it.
  ShardingAttr toAttr(MeshOp mesh) const;
  ShardingAttr toAttr(MeshOp mesh, const Freedom &freedom) const;
  bool isReplicated() const;
  /// The dimension that an axis cuts, if any.
  std::optional<unsigned> dimOf(unsigned axis) const;
  bool uses(unsigned axis) const;
  /// One device's type: every cut dimension of n elements has ⌈n / parts⌉.
  mlir::RankedTensorType localType(mlir::RankedTensorType type, MeshAttr mesh) const;
  /// Whether every dimension is a multiple of its number of parts.
  bool isEven(mlir::RankedTensorType type, MeshAttr mesh) const;

  bool operator==(const Sharding &other) const;
  bool operator!=(const Sharding &other) const { return !(*this == other); }
};

/// What propagation may add to an annotated sharding: axes to open dimensions, but for those
/// that are to leave the value whole.
struct Freedom {
  llvm::SmallVector<bool, 4> open; ///< per dimension
  Axes replicated;

  static Freedom all(int64_t rank) { return {llvm::SmallVector<bool, 4>(rank, true), {}}; }
  static Freedom none(int64_t rank) { return {llvm::SmallVector<bool, 4>(rank, false), {}}; }
  static Freedom fromAttr(ShardingAttr attribute, MeshAttr mesh);
  bool allows(unsigned dim, unsigned axis) const {
    return open[dim] && !llvm::is_contained(replicated, axis);
  }
};

/// Fails, with a diagnostic at the op, unless the attribute is a sharding whose mesh exists and has
/// its axes, and the tensor (or buffer) as many dimensions. `what` names the tensor.
llvm::LogicalResult verifySharding(mlir::Operation *op, mlir::Type type, mlir::Attribute attribute,
                                   const llvm::Twine &what);

/// "[{'data'}, {}] partial sum over 'tensor'", for messages.
std::string toString(const Sharding &sharding, MeshAttr mesh);

/// The axis names of `axes`, and back. `toAxes` asserts that the mesh has them.
mlir::ArrayAttr toAttr(llvm::ArrayRef<unsigned> axes, MeshAttr mesh);
Axes toAxes(mlir::ArrayAttr names, MeshAttr mesh);
/// Those of more than one device.
Axes longAxes(llvm::ArrayRef<unsigned> axes, MeshAttr mesh);

/// The shardings of an op's operand or result when the axes cut its factors so.
Sharding operandSharding(const graph::ShardingRule &rule, unsigned operand,
                         llvm::ArrayRef<Axes> factorAxes);
/// Without the partial sums that operands carry on (linearity).
Sharding resultSharding(const graph::ShardingRule &rule, unsigned result,
                        llvm::ArrayRef<Axes> factorAxes);

/// The axes per factor that `dist.factors` gives an op; empty lists if it has none.
llvm::SmallVector<Axes> getFactorAxes(mlir::Operation *op, const graph::ShardingRule &rule,
                                      MeshAttr mesh);
void setFactorAxes(mlir::Operation *op, llvm::ArrayRef<Axes> factorAxes, MeshAttr mesh);

} // namespace minigptc::dist

#endif // MINIGPTC_DIALECTS_DIST_IR_SHARDING_H
