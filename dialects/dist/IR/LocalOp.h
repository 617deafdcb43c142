//===- LocalOp.h - an op of which one device computes a part ----*- C++ -*-===//
//
// What `graph::PartitionableOp` gets to know: the op with its global types, its local
// operands, and which axes cut its factors. It also emits what partitioned ops need of
// the mesh.
//
//   Value start = local.getOffset(builder, factor);          // i64 scalar, in elements
//   Value total = local.allReduce(builder, sum, axes, ReduceKind::sum);
//
//===----------------------------------------------------------------------===//
#ifndef MINIGPTC_DIALECTS_DIST_IR_LOCALOP_H
#define MINIGPTC_DIALECTS_DIST_IR_LOCALOP_H

#include "dialects/dist/IR/Sharding.h"

namespace minigptc::dist {

class LocalOp {
public:
  LocalOp(mlir::Operation *op, MeshOp mesh, graph::ShardingRule rule,
          llvm::SmallVector<Axes> factorAxes, mlir::ValueRange operands);

  mlir::Operation *getOp() const { return op; } ///< of global types
  MeshOp getMesh() const { return mesh; }
  mlir::ValueRange getOperands() const { return operands; }
  mlir::RankedTensorType getResultType(unsigned result) const; ///< local
  const graph::ShardingRule &getRule() const { return rule; }
  llvm::ArrayRef<Axes> getFactorAxes() const { return factorAxes; }
  llvm::ArrayRef<unsigned> getAxes(unsigned factor) const { return factorAxes[factor]; }
  /// Into how many parts a factor is cut.
  int64_t getParts(unsigned factor) const;
  /// ⌈size / parts⌉.
  int64_t getLocalSize(unsigned factor) const;

  /// Whether parts of a factor are filled up with elements that mean nothing.
  bool isUneven(unsigned factor) const;
  /// Whether axes cut a factor of that kind.
  bool isCut(graph::FactorKind kind) const;

  /// The op itself, on local tensors.
  mlir::Operation *clone(mlir::OpBuilder &builder) const { return clone(builder, operands); }
  mlir::Operation *clone(mlir::OpBuilder &builder, mlir::ValueRange operands) const;

  /// i64 scalar: the first element of this device's part of a factor.
  mlir::Value getOffset(mlir::OpBuilder &builder, unsigned factor) const;
  /// i64 scalar: this device's coordinate along axes.
  mlir::Value getAxisIndex(mlir::OpBuilder &builder, llvm::ArrayRef<unsigned> axes) const;
  /// A value combined over axes; the value itself if there are none. `why` is its origin's.
  mlir::Value allReduce(mlir::OpBuilder &builder, mlir::Value value, llvm::ArrayRef<unsigned> axes,
                        graph::ReduceKind kind, llvm::StringRef why) const {
    return allReduce(builder, mlir::ValueRange(value), axes, kind, why)[0];
  }
  /// Several values together.
  llvm::SmallVector<mlir::Value> allReduce(mlir::OpBuilder &builder, mlir::ValueRange values,
                                           llvm::ArrayRef<unsigned> axes, graph::ReduceKind kind,
                                           llvm::StringRef why) const;

  /// A local tensor with dimensions of these factors, with `fill` in place of elements
  /// that mean nothing; looks only at factors of that kind, if one is given.
  mlir::Value fillPadding(mlir::OpBuilder &builder, mlir::Value value,
                          llvm::ArrayRef<graph::DimFactors> dims, mlir::TypedAttr fill,
                          std::optional<graph::FactorKind> kind = std::nullopt) const;
  /// The value on the first device along the axes, `fill` on the others.
  mlir::Value keepOnFirst(mlir::OpBuilder &builder, mlir::Value value,
                          llvm::ArrayRef<unsigned> axes, mlir::TypedAttr fill) const;

private:
  OriginAttr getOrigin(llvm::ArrayRef<unsigned> axes) const;
  mlir::Value splatLike(mlir::OpBuilder &builder, mlir::Value value, mlir::TypedAttr fill) const;

  mlir::Operation *op;
  mutable MeshOp mesh; ///< accessors of ops are not const
  graph::ShardingRule rule;
  llvm::SmallVector<Axes> factorAxes;
  mlir::ValueRange operands;
};

/// The scalar that changes nothing in a combination of that kind.
mlir::TypedAttr getNeutral(graph::ReduceKind kind, mlir::Type elementType);

} // namespace minigptc::dist

#endif // MINIGPTC_DIALECTS_DIST_IR_LOCALOP_H
