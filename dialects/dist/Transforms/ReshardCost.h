//===- ReshardCost.h - what a change of sharding costs, about ---*- C++ -*-===//
//
// An estimate for decisions: alpha · steps + beta · bytes that one device sends, axis by
// axis, in bytes that could be sent meanwhile. What is cut is free, what is gathered, moved
// or reduced is not.
//
//   double gather = reshardCost(type, from, Sharding::replicated(2), mesh);
//
//===----------------------------------------------------------------------===//
#ifndef MINIGPTC_DIALECTS_DIST_TRANSFORMS_RESHARDCOST_H
#define MINIGPTC_DIALECTS_DIST_TRANSFORMS_RESHARDCOST_H

#include "dialects/dist/IR/Sharding.h"

namespace minigptc::dist {

double reshardCost(mlir::RankedTensorType type, const Sharding &from, const Sharding &to,
                   MeshAttr mesh);

} // namespace minigptc::dist

#endif // MINIGPTC_DIALECTS_DIST_TRANSFORMS_RESHARDCOST_H
