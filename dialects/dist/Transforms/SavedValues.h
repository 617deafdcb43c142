//===- SavedValues.h - what one function saves for another ------*- C++ -*-===//
#ifndef MINIGPTC_DIALECTS_DIST_TRANSFORMS_SAVEDVALUES_H
#define MINIGPTC_DIALECTS_DIST_TRANSFORMS_SAVEDVALUES_H

#include "dialects/dist/Transforms/ShardingTable.h"

namespace minigptc::dist {

/// A value that goes from one private function to others (from a layer's forward to its
/// backward function), where all that reads it wants another sharding, which the function that
/// makes it has anyway, is handed over so: what was gathered once is not gathered again.
///
///   f.fwd: %n = norm %x            cut along 1; its products gather it; returned
///   f.bwd: (%n, …)                 products gather it again  ->  gets what f.fwd has gathered
void handOverAsRead(ShardingTable &table);

} // namespace minigptc::dist

#endif // MINIGPTC_DIALECTS_DIST_TRANSFORMS_SAVEDVALUES_H
