//===- Pieces.h - the pieces of a model that is a pipeline ------*- C++ -*-===//
//
// A model that goes over several groups of devices is cut into *pieces*, in the order in which a
// batch goes through them. Its calls say to which they belong (`graph.piece = 2 : i64`), from the
// trace to the stage `stage`. Derivatives belong to the piece of what they are derivatives of;
// what goes back through the pieces has `graph.backward`, too. A call that says so stays one call.
//
//   markPiece(call, original);              // as `original`, on the way forward
//   markPiece(call, original, /*backward=*/true);
//   if (isPiece(op)) …
//
//===----------------------------------------------------------------------===//
#ifndef MINIGPTC_DIALECTS_GRAPH_IR_PIECES_H
#define MINIGPTC_DIALECTS_GRAPH_IR_PIECES_H

#include "mlir/IR/BuiltinAttributes.h"
#include "mlir/IR/Operation.h"

namespace minigptc::graph {

namespace attr {
/// Call: an i64, the piece, from 0.
inline constexpr llvm::StringLiteral kPiece = "graph.piece";
/// Call with kPiece: a unit; it computes gradients.
inline constexpr llvm::StringLiteral kBackward = "graph.backward";
} // namespace attr

inline bool isPiece(mlir::Operation *op) { return op->hasAttr(attr::kPiece); }

/// Gives an op the piece of another, if that has one.
inline void markPiece(mlir::Operation *op, mlir::Operation *as, bool backward = false) {
  mlir::Attribute piece = as->getAttr(attr::kPiece);
  if (!piece)
    return;
  op->setAttr(attr::kPiece, piece);
  if (backward || as->hasAttr(attr::kBackward))
    op->setAttr(attr::kBackward, mlir::UnitAttr::get(op->getContext()));
}

} // namespace minigptc::graph

#endif // MINIGPTC_DIALECTS_GRAPH_IR_PIECES_H
