//===- AttentionProblem.h - what an attention computes ----------*- C++ -*-===//
//
// The sizes, masks and buffers of `graph.attention` and `graph.attention_grad`, for kernels
// that compute them whole.
//
//   AttentionProblem problem = describe(op);
//   AttentionBuffers buffers = findBuffers(op, pointers); // operands, then results
//
//===----------------------------------------------------------------------===//
#ifndef MINIGPTC_COMPILER_TARGET_COMMON_ATTENTIONPROBLEM_H
#define MINIGPTC_COMPILER_TARGET_COMMON_ATTENTIONPROBLEM_H

#include "dialects/graph/IR/Graph.h"

namespace minigptc::target {

/// Sizes and masks of an attention; see the description of `graph.attention`.
struct AttentionProblem {
  mlir::Type element; ///< computed in, and of everything in scratch memory
  bool bf16;          ///< tensors but the log-sum-exp are bf16, the element type is f32
  int64_t batch, queries, heads, width, keys, groups, valueWidth;
  double scale;
  graph::MaskKind kind;
  int64_t window;               ///< of kind sliding_window
  int64_t maskBatch, maskHeads; ///< of the explicit mask; 0 if there is none
  bool hasSegments, hasOffset;

  int64_t headsPerGroup() const { return heads / groups; }
};

/// Pointers; null where the pass or the op has no such tensor.
struct AttentionBuffers {
  mlir::Value query, key, value, result, logSumExp, cotangent;
  mlir::Value mask, querySegments, keySegments, queryOffset;
  mlir::Value queryGrad, keyGrad, valueGrad;
};

enum class AttentionPass { forward, backward };

AttentionProblem describe(graph::AttentionOp op);
AttentionProblem describe(graph::AttentionGradOp op);

/// `buffers`: pointers to the operands, then to the results.
AttentionBuffers findBuffers(graph::AttentionOp op, mlir::ValueRange buffers);
AttentionBuffers findBuffers(graph::AttentionGradOp op, mlir::ValueRange buffers);

} // namespace minigptc::target

#endif // MINIGPTC_COMPILER_TARGET_COMMON_ATTENTIONPROBLEM_H
