//===- FusionCost.h - what recomputing and storing cost ---------*- C++ -*-===//
//
// A small model in "bytes": the time in which one byte of memory is streamed.
// A cheap scalar operation costs about one such unit (vector code), a
// polynomial (exp, tanh) many. Good to a factor of two; nothing but the choice
// between recomputing and storing depends on it.
//
//===----------------------------------------------------------------------===//
#ifndef MINIGPTC_DIALECTS_GRAPH_TRANSFORMS_FUSIONCOST_H
#define MINIGPTC_DIALECTS_GRAPH_TRANSFORMS_FUSIONCOST_H

#include "dialects/graph/IR/Graph.h"

namespace minigptc::graph {

/// The fixed cost of one more kernel in a step.
inline constexpr double kLaunchCost = 16384;

/// Cost of one result element, without reading operands.
double getElementCost(mlir::Operation *op);

/// Cost of all results of an op, without reading operands from memory; matrix
/// products by their FLOPs.
double getOpCost(mlir::Operation *op);

/// How often the elements of an operand are computed, on average, if its
/// producer is computed inside `user`'s kernel: 1 for elementwise users, the
/// share that is read for a slice, the number of repetitions for a broadcast.
double getEvaluations(mlir::OpOperand &use);

/// True where element (i, j, …) of the result is at operand indices that are
/// sums of multiples of i, j, …: dimensions are only split, or have size 1. Such
/// a reshape costs no division inside a kernel.
bool isSplit(ReshapeOp reshape);

/// Number of elements of a tensor value, at least 1.
double getNumElements(mlir::Value value);
/// Bytes of one element in memory.
double getElementBytes(mlir::Value value);

} // namespace minigptc::graph

#endif // MINIGPTC_DIALECTS_GRAPH_TRANSFORMS_FUSIONCOST_H
