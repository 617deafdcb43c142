//===- VjpHelpers.h - how vector-Jacobian products are written -*- C++ -*-===//
//
// Private to the <Family>Vjp.cpp files. What a vjp reads of its op decides what
// the forward pass saves, so each reads as little as it can, and what is cheap
// to compute again (a mean, a softmax) is computed again.
//
//   MINIGPTC_VJP(TanhOp) {
//     return unaryVjp(*this, builder, cotangents, gradients, [](GraphBuilder &b, auto v) {
//       return b.multiply(v.cotangent, b.subtract(1, b.square(v.result)));
//     });
//   }
//
//===----------------------------------------------------------------------===//
#ifndef MINIGPTC_DIALECTS_GRAPH_IR_VJPHELPERS_H
#define MINIGPTC_DIALECTS_GRAPH_IR_VJPHELPERS_H

#include "dialects/graph/IR/Builders.h"

/// The signature of `DifferentiableOp::buildVjp` for one op.
#define MINIGPTC_VJP(Op)                                                                           \
  ::llvm::LogicalResult Op::buildVjp(                                                              \
      ::mlir::OpBuilder &builder, ::llvm::ArrayRef<::mlir::Value> cotangents,                      \
      ::llvm::ArrayRef<bool> wanted, ::llvm::MutableArrayRef<::mlir::Value> gradients)

namespace minigptc::graph {

/// An op's values in the accumulator type: derivatives of bf16 and f16 ops are
/// computed in f32 and rounded once.
struct WideUnary {
  mlir::Value operand, result, cotangent;
};

/// The vjp of an op with one float operand and one result; `derivative` gives
/// the operand's cotangent from wide values.
template <typename Op, typename Derivative>
llvm::LogicalResult unaryVjp(Op op, mlir::OpBuilder &builder,
                             llvm::ArrayRef<mlir::Value> cotangents,
                             llvm::MutableArrayRef<mlir::Value> gradients, Derivative derivative) {
  GraphBuilder b(builder, op.getLoc());
  mlir::Value operand = op->getOperand(0);
  mlir::Type wide = b.accumulatorType(operand);
  WideUnary values{b.convert(operand, wide), b.convert(op->getResult(0), wide),
                   b.convert(cotangents[0], wide)};
  gradients[0] = b.convert(derivative(b, values), elementType(operand));
  return llvm::success();
}

/// `value` where the predicate holds, else zero.
inline mlir::Value keepWhere(GraphBuilder &b, mlir::Value pred, mlir::Value value) {
  return b.select(pred, value, b.zerosLike(value));
}
/// Zero where the predicate holds, else `value`.
inline mlir::Value dropWhere(GraphBuilder &b, mlir::Value pred, mlir::Value value) {
  return b.select(pred, b.zerosLike(value), value);
}

} // namespace minigptc::graph

#endif // MINIGPTC_DIALECTS_GRAPH_IR_VJPHELPERS_H
