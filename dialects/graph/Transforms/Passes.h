//===- Passes.h - passes within the graph dialect --------------*- C++ -*-===//
//
// Declarations generated from Passes.td, which also documents each pass.
//
//===----------------------------------------------------------------------===//
#ifndef MINIGPTC_DIALECTS_GRAPH_TRANSFORMS_PASSES_H
#define MINIGPTC_DIALECTS_GRAPH_TRANSFORMS_PASSES_H

#include "dialects/graph/IR/Graph.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/Pass/Pass.h"

namespace minigptc::graph {

/// On a module: the fewest rows of a chunk of a head and its loss (`--graph-chunk-losses`), where
/// the target wants more than usual; an i64.
inline constexpr llvm::StringLiteral kFewestLossRows = "graph.fewest_loss_rows";

#define GEN_PASS_DECL
#include "dialects/graph/Transforms/Passes.h.inc"
#define GEN_PASS_REGISTRATION
#include "dialects/graph/Transforms/Passes.h.inc"

} // namespace minigptc::graph

#endif // MINIGPTC_DIALECTS_GRAPH_TRANSFORMS_PASSES_H
