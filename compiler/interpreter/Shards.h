//===- Shards.h - tensors of many devices -----------------------*- C++ -*-===//
//
// A tensor cut into what the devices of a mesh hold, and put together again:
//
//   std::vector<Tensor> parts = shard(whole, sharding, mesh);        // one per device
//   FailureOr<Tensor> again = unshard(loc, parts, sharding, mesh, whole.getType());
//
// Elements beyond the end of a dimension that its parts do not divide are NaN, or the
// largest integer: a program that reads them shows it.
//
//===----------------------------------------------------------------------===//
#ifndef MINIGPTC_COMPILER_INTERPRETER_SHARDS_H
#define MINIGPTC_COMPILER_INTERPRETER_SHARDS_H

#include "compiler/interpreter/Tensor.h"
#include "dialects/dist/IR/Sharding.h"

namespace minigptc::interpreter {

/// The coordinate of a device along axes, major to minor, as one number.
int64_t coordinateOf(int64_t device, llvm::ArrayRef<unsigned> axes, dist::MeshAttr mesh);

/// What each device holds of a tensor; the sharding is not partial.
std::vector<Tensor> shard(const Tensor &whole, const dist::Sharding &sharding, dist::MeshAttr mesh);

/// The tensor of that type of which the devices hold `parts`. Fails, with a diagnostic,
/// if two devices that should hold the same differ in a bit, or the sharding is partial.
llvm::FailureOr<Tensor> unshard(mlir::Location loc, llvm::ArrayRef<Tensor> parts,
                                const dist::Sharding &sharding, dist::MeshAttr mesh,
                                mlir::RankedTensorType type);

/// Part `index` of `count` equal parts along a dimension.
Tensor partOf(const Tensor &whole, int64_t dim, int64_t index, int64_t count);
/// Tensors one after the other along a dimension.
Tensor joined(llvm::ArrayRef<Tensor> parts, int64_t dim);

} // namespace minigptc::interpreter

#endif // MINIGPTC_COMPILER_INTERPRETER_SHARDS_H
