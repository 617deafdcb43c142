//===- Waiting.h - ops in which devices wait for each other -----*- C++ -*-===//
//
//   if (CollectiveOp collective = getWaitingCollective(op)) …
//
//===----------------------------------------------------------------------===//
#ifndef MINIGPTC_DIALECTS_DIST_TRANSFORMS_WAITING_H
#define MINIGPTC_DIALECTS_DIST_TRANSFORMS_WAITING_H

#include "dialects/dist/IR/Dist.h"

namespace minigptc::dist {

/// The collective that an op is, if a device waits for the others in it; else null.
inline CollectiveOp getWaitingCollective(mlir::Operation *op) {
  auto collective = mlir::dyn_cast<CollectiveOp>(op);
  return collective && collective.hasToWait() ? collective : CollectiveOp();
}

} // namespace minigptc::dist

#endif // MINIGPTC_DIALECTS_DIST_TRANSFORMS_WAITING_H
