//===- LinearCrossEntropy.h - the rows of a head and its loss ---*- C++ -*-===//
//
// Emits, for some rows of a `graph.linear_cross_entropy` (or of the two ops that share it
// between devices), losses and gradients. Used by their decompositions for all rows, and
// by `--graph-chunk-losses` for a chunk.
//
//   HeadRows rows(builder, {hidden, weight, bias, targets, {}, ignore, transposed});
//   Value losses = rows.losses();            // [n]
//   Value gradient = rows.logitsGradient(s); // of the losses' sum, times s: [n, V]
//   Value dHidden = rows.hiddenGradient(gradient);
//
//===----------------------------------------------------------------------===//
#ifndef MINIGPTC_DIALECTS_GRAPH_IR_LINEARCROSSENTROPY_H
#define MINIGPTC_DIALECTS_GRAPH_IR_LINEARCROSSENTROPY_H

#include "dialects/graph/IR/Builders.h"

namespace minigptc::graph {

/// hidden [n, d], weight [d, V] or [V, d] (transposed), bias [V] or null, targets [n],
/// logSumExp [n] of more classes than these, or null.
struct HeadOperands {
  mlir::Value hidden, weight, bias, targets, logSumExp;
  std::optional<uint64_t> ignoreIndex;
  bool transposed = false;
};

class HeadRows {
public:
  HeadRows(GraphBuilder &b, const HeadOperands &operands);

  /// Per row, in the accumulator type; 0 where the target is ignored.
  mlir::Value losses();
  /// Per row, in the accumulator type: log Σ e^logit, and the target's logit or 0.
  mlir::Value logSumExp();
  mlir::Value targetLogit();
  /// d Σ losses / d logits · scale, in the accumulator type [n, V].
  mlir::Value logitsGradient(double scale);

  // Products with a matrix of logits' shape.
  /// The gradient of hidden, of its element type or the accumulator type.
  mlir::Value hiddenGradient(mlir::Value logitsGradient, mlir::Type elementType);
  /// The weight's gradient in the accumulator type, where what is added to it is.
  mlir::Value weightGradient(mlir::Value logitsGradient);
  mlir::Value biasGradient(mlir::Value logitsGradient);

  // Parts of the second derivative.
  mlir::Value getProbabilities();
  /// hidden·weight of other values.
  mlir::Value multiplyWeight(mlir::Value hidden, mlir::Value weight);
  /// gradient·weightᵀ.
  mlir::Value multiplyTransposed(mlir::Value logitsGradient, mlir::Value weight);
  /// hiddenᵀ·gradient in the weight's layout.
  mlir::Value multiplyOuter(mlir::Value hidden, mlir::Value logitsGradient);
  /// Zero in the rows whose target is ignored; one value per row, or per logit.
  mlir::Value zeroIgnored(mlir::Value value);

private:
  mlir::Value isTarget();

  GraphBuilder &b;
  HeadOperands operands;
  mlir::Value logits; ///< in the accumulator type
  GraphBuilder::ShiftedExponential exponential;
};

} // namespace minigptc::graph

#endif // MINIGPTC_DIALECTS_GRAPH_IR_LINEARCROSSENTROPY_H
