//===- ReshardReason.h - why a reshard stands where it does -----*- C++ -*-===//
#ifndef MINIGPTC_DIALECTS_DIST_TRANSFORMS_RESHARDREASON_H
#define MINIGPTC_DIALECTS_DIST_TRANSFORMS_RESHARDREASON_H

#include "dialects/dist/IR/Sharding.h"

namespace minigptc::dist {

/// For a person: what the use needs of its operand, the annotation behind it, the name of
/// a parameter that is moved and the annotation with which it would not be.
OriginAttr reasonOf(mlir::OpOperand &use, const Sharding &from, const Sharding &to, MeshOp mesh);

} // namespace minigptc::dist

#endif // MINIGPTC_DIALECTS_DIST_TRANSFORMS_RESHARDREASON_H
