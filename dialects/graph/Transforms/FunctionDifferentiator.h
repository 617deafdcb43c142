//===- FunctionDifferentiator.h - one function's derivative ----*- C++ -*-===//
//
// Works on a detached copy of the function: composites without a vjp are
// decomposed where a derivative flows through them, the backward ops are
// appended in a reverse sweep (the joint program), and the joint program is
// split in two. Lives as long as one function is differentiated.
//
//===----------------------------------------------------------------------===//
#ifndef MINIGPTC_DIALECTS_GRAPH_TRANSFORMS_FUNCTIONDIFFERENTIATOR_H
#define MINIGPTC_DIALECTS_GRAPH_TRANSFORMS_FUNCTIONDIFFERENTIATOR_H

#include "dialects/graph/Transforms/Differentiator.h"
#include "mlir/IR/OwningOpRef.h"
#include "llvm/ADT/SetVector.h"

namespace minigptc::graph {

class FunctionDifferentiator {
public:
  FunctionDifferentiator(Differentiator &parent, mlir::func::FuncOp function,
                         const DerivativeKey &key, mlir::Operation *origin);

  /// The derivative, its functions not in the module yet.
  llvm::FailureOr<std::unique_ptr<Derivative>> run();

private:
  // The joint program.
  void decomposeActiveOps();
  llvm::LogicalResult sweep();
  llvm::LogicalResult differentiateOp(mlir::Operation *&op);
  llvm::LogicalResult buildVjp(mlir::Operation *op, llvm::ArrayRef<mlir::Value> cotangents,
                               llvm::ArrayRef<bool> wanted,
                               llvm::MutableArrayRef<mlir::Value> gradients);
  llvm::FailureOr<const Derivative *> differentiateCallee(mlir::func::FuncOp callee,
                                                          llvm::ArrayRef<mlir::Value> cotangents,
                                                          llvm::ArrayRef<bool> wanted);
  llvm::FailureOr<const Derivative *> differentiateCallee(mlir::func::FuncOp callee,
                                                          const llvm::BitVector &wanted,
                                                          const llvm::BitVector &live);
  void replaceForward(mlir::Operation *&op, mlir::Operation *forward);
  llvm::LogicalResult differentiateMapped(mlir::Operation *&op,
                                          llvm::ArrayRef<mlir::Value> cotangents,
                                          llvm::ArrayRef<bool> wanted,
                                          llvm::SmallVectorImpl<mlir::Value> &gradients);
  llvm::LogicalResult differentiateLoop(mlir::Operation *&op,
                                        llvm::ArrayRef<mlir::Value> cotangents,
                                        llvm::ArrayRef<bool> wanted,
                                        llvm::SmallVectorImpl<mlir::Value> &gradients);
  llvm::LogicalResult differentiateCond(mlir::Operation *&op,
                                        llvm::ArrayRef<mlir::Value> cotangents,
                                        llvm::ArrayRef<bool> wanted,
                                        llvm::SmallVectorImpl<mlir::Value> &gradients);
  llvm::LogicalResult differentiateCall(mlir::Operation *&op,
                                        llvm::ArrayRef<mlir::Value> cotangents,
                                        llvm::ArrayRef<bool> wanted,
                                        llvm::SmallVectorImpl<mlir::Value> &gradients);
  void accumulate(mlir::Value value, mlir::Value cotangent, mlir::Location loc);

  // The split.
  void planBackward();
  void collectBackwardOps();
  void buildForward();
  void buildBackward();
  void emitForwardOps(mlir::Value value, mlir::OpBuilder &backward, mlir::IRMapping &map);

  bool isArgument(mlir::Value value) const;
  bool isForward(mlir::Operation *op) const { return op && forwardSet.contains(op); }

  Differentiator &parent;
  const DerivativeKey &key;
  mlir::Operation *origin;
  mlir::OwningOpRef<mlir::func::FuncOp> joint;
  mlir::Block &body;
  unsigned numArguments, numResults;
  mlir::OpBuilder builder;

  llvm::SmallVector<mlir::Operation *> forwardOps; // in program order
  llvm::DenseSet<mlir::Operation *> forwardSet;
  ValueSet varied; // depends on a wanted argument
  llvm::DenseMap<mlir::Value, mlir::Value> cotangentOf;

  llvm::SmallVector<mlir::Value> roots; // gradients
  llvm::DenseSet<mlir::Operation *> backwardOps;
  llvm::SetVector<mlir::Value> saved;
  llvm::BitVector neededArguments;

  std::unique_ptr<Derivative> derivative;
};

} // namespace minigptc::graph

#endif // MINIGPTC_DIALECTS_GRAPH_TRANSFORMS_FUNCTIONDIFFERENTIATOR_H
