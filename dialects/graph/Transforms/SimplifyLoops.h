//===- SimplifyLoops.h - loops without what nobody needs -------*- C++ -*-===//
//
// A part of --graph-simplify-functions:
//
//   bool changed = simplifyLoops(*functions);
//
//===----------------------------------------------------------------------===//
#ifndef MINIGPTC_DIALECTS_GRAPH_TRANSFORMS_SIMPLIFYLOOPS_H
#define MINIGPTC_DIALECTS_GRAPH_TRANSFORMS_SIMPLIFYLOOPS_H

#include "dialects/graph/Transforms/FunctionGraph.h"

namespace minigptc::graph {

/// Rewrites scans together with their bodies: results without readers go, as far as no result that
/// has one depends on them; so do arguments that the body does not read; and what is carried
/// without ever changing becomes a constant.
bool simplifyLoops(const FunctionGraph &functions);

/// A private function that scans call, and nothing else.
bool isBodyOfScans(mlir::func::FuncOp function, const FunctionGraph &functions);

} // namespace minigptc::graph

#endif // MINIGPTC_DIALECTS_GRAPH_TRANSFORMS_SIMPLIFYLOOPS_H
