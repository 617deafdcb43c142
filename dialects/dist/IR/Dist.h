//===- Dist.h - the `dist` dialect -----------------------------*- C++ -*-===//
//
// Meshes, shardings as attributes, collectives. See DistDialect.td.
//
//===----------------------------------------------------------------------===//
#ifndef MINIGPTC_DIALECTS_DIST_IR_DIST_H
#define MINIGPTC_DIALECTS_DIST_IR_DIST_H

#include "dialects/graph/IR/Graph.h"

#include "dialects/dist/IR/DistDialect.h.inc"
#define GET_ATTRDEF_CLASSES
#include "dialects/dist/IR/DistAttributes.h.inc"
#include "dialects/dist/IR/DistInterfaces.h.inc"
#define GET_OP_CLASSES
#include "dialects/dist/IR/DistOps.h.inc"

namespace minigptc::dist {

/// Names of discardable attributes; see the dialect.
namespace attr {
/// Argument or result of a function: a ShardingAttr.
inline constexpr llvm::StringLiteral kSharding = "dist.sharding";
/// Argument: it is kept between runs (a parameter, a moment); its sharding says how it is stored.
/// The name, or empty.
inline constexpr llvm::StringLiteral kStored = "dist.stored";
/// Op: an array of ShardingAttr, one per result.
inline constexpr llvm::StringLiteral kShardings = "dist.shardings";
/// Op of stage `shard`: per factor of its rule an array of axis names, major to minor.
inline constexpr llvm::StringLiteral kFactors = "dist.factors";
/// Op with kFactors (one per cut factor), reshard (one), collective (one per operand): OriginAttr.
inline constexpr llvm::StringLiteral kOrigins = "dist.origins";
/// Collective: how many equal ones of the same operands stand before it in its block. It is
/// repeated so that its result need not be kept; the number keeps them apart.
inline constexpr llvm::StringLiteral kAgain = "dist.again";
/// Collective: a unit; it is only started where it stands, and a `dist.wait` has its results.
inline constexpr llvm::StringLiteral kStarted = "dist.started";
/// Module: a unit; collectives run beside compute.
inline constexpr llvm::StringLiteral kOverlap = "dist.overlap";
/// Module: an i64, the bytes of a bucket's operands at most.
inline constexpr llvm::StringLiteral kBucketBytes = "dist.bucket_bytes";
/// Function of stage `shard`: a `dist.manual` calls it, directly or through others, so that its
/// types are those of one device.
inline constexpr llvm::StringLiteral kLocal = "dist.local";
/// Argument or result of an entry, from stage `spmd` on: a TypeAttr, the whole tensor's type.
inline constexpr llvm::StringLiteral kGlobalType = "dist.global_type";
/// Module: a dictionary of `schedule` (a string) and `chunks` (an i64), how micro-batches go through
/// the stages.
inline constexpr llvm::StringLiteral kPipeline = "dist.pipeline";
/// Op of an entry, or function that is one stage's part of an entry: an i64, the stage.
inline constexpr llvm::StringLiteral kStage = "dist.stage";
/// Function with kStage: a string, the entry's name.
inline constexpr llvm::StringLiteral kStageOf = "dist.stage_of";
/// Argument or result of an entry: a DenseI64ArrayAttr, the stages that have it, ascending.
inline constexpr llvm::StringLiteral kStages = "dist.stages";
} // namespace attr

/// The axis of a mesh whose coordinate is the stage of a pipeline; it cuts no tensor.
inline constexpr llvm::StringLiteral kStageAxis = "stage";
/// How many stages the module's mesh has: 1 without the axis, or without a mesh.
int64_t countStages(mlir::ModuleOp module);

/// The module's mesh, or null. A program has one.
MeshOp findMesh(mlir::ModuleOp module);
/// The wait of a collective that is only started, else null.
WaitOp findWait(mlir::Operation *collective);
/// Whether devices run the function: it has a body, and is not the host's.
bool runsOnDevices(mlir::func::FuncOp function);
/// Whether passes before `spmd` shard it: devices run it, and it is not local already.
bool isSharded(mlir::func::FuncOp function);

} // namespace minigptc::dist

#endif // MINIGPTC_DIALECTS_DIST_IR_DIST_H
