//===- MergeFunctions.h - one function for equal ones ----------*- C++ -*-===//
#ifndef MINIGPTC_DIALECTS_GRAPH_TRANSFORMS_MERGEFUNCTIONS_H
#define MINIGPTC_DIALECTS_GRAPH_TRANSFORMS_MERGEFUNCTIONS_H

#include "dialects/graph/Transforms/FunctionGraph.h"

namespace minigptc::graph {

/// Redirects uses of private functions to the first one, callees first, that is
/// equal but for names and locations, and erases the others. Functions whose
/// callees merge can merge in turn. Linear in the size of the module: functions
/// are compared only where their hashes agree. Gives whether anything changed;
/// `functions` is stale then.
bool mergeEqualFunctions(const FunctionGraph &functions);

} // namespace minigptc::graph

#endif // MINIGPTC_DIALECTS_GRAPH_TRANSFORMS_MERGEFUNCTIONS_H
