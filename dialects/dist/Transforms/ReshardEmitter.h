//===- ReshardEmitter.h - a reshard as collectives --------------*- C++ -*-===//
//
//   ReshardEmitter resharder(meshOp);                        // for one block
//   Value y = resharder.emit(builder, loc, x, globalType, from, to, origin);
//
// Equal steps on one value are emitted once: two users that want it gathered share the
// gathered one. So calls must be in the order of the block. A path that is wanted `anew`
// shares nothing.
//
//===----------------------------------------------------------------------===//
#ifndef MINIGPTC_DIALECTS_DIST_TRANSFORMS_RESHARDEMITTER_H
#define MINIGPTC_DIALECTS_DIST_TRANSFORMS_RESHARDEMITTER_H

#include "dialects/dist/Transforms/ReshardPlan.h"

namespace minigptc::dist {

class ReshardEmitter {
public:
  explicit ReshardEmitter(MeshOp mesh) : mesh(mesh), planner(mesh.getMesh()) {}

  /// `local` sharded as `to`, on the cheapest path; null if there is none. Collectives get
  /// `origin`, unless it is null.
  mlir::Value emit(mlir::OpBuilder &builder, mlir::Location location, mlir::Value local,
                   mlir::RankedTensorType global, const Sharding &from, const Sharding &to,
                   OriginAttr origin, bool anew = false);
  /// Another block begins, where nothing is emitted.
  void startBlock() { emitted.clear(); }

private:
  MeshOp mesh;
  ReshardPlanner planner;
  /// Results by operand, step and, of a reduction, kind.
  std::map<std::tuple<void *, ReshardKind, std::vector<unsigned>, uint32_t>, mlir::Value> emitted;
};

} // namespace minigptc::dist

#endif // MINIGPTC_DIALECTS_DIST_TRANSFORMS_RESHARDEMITTER_H
