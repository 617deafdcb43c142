//===- PartitionModels.h - ops whose parts are not the op itself -*- C++ -*-===//
//
// External models of `graph::PartitionableOp`. Every other op is cloned with local types. A
// model that gives no values leaves its op to the partitioner, which computes it whole.
//
//   registerPartitionModels(registry);
//
//===----------------------------------------------------------------------===//
#ifndef MINIGPTC_DIALECTS_DIST_TRANSFORMS_PARTITIONMODELS_H
#define MINIGPTC_DIALECTS_DIST_TRANSFORMS_PARTITIONMODELS_H

#include "dialects/dist/IR/LocalOp.h"
#include "dialects/graph/IR/Builders.h"

namespace minigptc::dist {

void registerPartitionModels(mlir::DialectRegistry &registry);

template <typename Model, typename Op>
using PartitionModel = graph::PartitionableOp::ExternalModel<Model, Op>;

// Of one file each.
void attachShapePartitions(mlir::MLIRContext &context);       ///< sizes and places
void attachContractionPartitions(mlir::MLIRContext &context); ///< sums, products, look-ups
void attachNormPartitions(mlir::MLIRContext &context);        ///< statistics
void attachLossPartitions(mlir::MLIRContext &context);        ///< over a cut vocabulary

/// x less its maximum along a dimension, of which each device along `axes` has a part. A
/// part's padding must be -inf.
mlir::Value subtractMaximum(graph::GraphBuilder &b, const LocalOp &local, mlir::Value x,
                            int64_t dim, llvm::ArrayRef<unsigned> axes);

/// The scalar zero of a type, or -infinity.
mlir::TypedAttr zeroOf(mlir::Value value);
mlir::TypedAttr lowestOf(mlir::Value value);
/// True where `value`'s element lies in [0, size).
mlir::Value isWithin(graph::GraphBuilder &b, mlir::Value value, int64_t size);

} // namespace minigptc::dist

#endif // MINIGPTC_DIALECTS_DIST_TRANSFORMS_PARTITIONMODELS_H
