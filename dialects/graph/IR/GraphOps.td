//===- GraphOps.td - all ops of the dialect, by family --------------------===//
#ifndef MINIGPTC_GRAPH_OPS_TD
#define MINIGPTC_GRAPH_OPS_TD

include "dialects/graph/IR/GraphElementwise.td"
include "dialects/graph/IR/GraphShape.td"
include "dialects/graph/IR/GraphContraction.td"
include "dialects/graph/IR/GraphRandom.td"
include "dialects/graph/IR/GraphComposite.td"
include "dialects/graph/IR/GraphStructure.td"

#endif // MINIGPTC_GRAPH_OPS_TD
