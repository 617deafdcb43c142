//===- Silent.h - derivatives of what has printed before --------*- C++ -*-===//
//
// The function that `vjp` gives computes the differentiated function again, by a `graph.vjp` of its
// own. Its prints are those of the call that gave the value, and so this op says `graph.silent`.
//
//===----------------------------------------------------------------------===//
#ifndef MINIGPTC_DIALECTS_GRAPH_IR_SILENT_H
#define MINIGPTC_DIALECTS_GRAPH_IR_SILENT_H

#include "llvm/ADT/StringRef.h"

namespace minigptc::graph::attr {
/// graph.vjp: the callee, and what it calls, prints nothing (unit).
inline constexpr llvm::StringLiteral kSilent = "graph.silent";
} // namespace minigptc::graph::attr

#endif // MINIGPTC_DIALECTS_GRAPH_IR_SILENT_H
