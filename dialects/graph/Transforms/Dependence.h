//===- Dependence.h - which values influence which -------------*- C++ -*-===//
//
// A derivative can flow from one float tensor to another through an op that
// reads the first and gives the second. Calls (mapped ones, loops and branches, too) are looked
// through: a summary per function says which results depend on which arguments.
//
//===----------------------------------------------------------------------===//
#ifndef MINIGPTC_DIALECTS_GRAPH_TRANSFORMS_DEPENDENCE_H
#define MINIGPTC_DIALECTS_GRAPH_TRANSFORMS_DEPENDENCE_H

#include "dialects/graph/IR/Graph.h"
#include "llvm/ADT/BitVector.h"

namespace minigptc::graph {

/// True for float tensors: nothing else has a cotangent.
bool hasCotangent(mlir::Type type);

using ValueSet = llvm::DenseSet<mlir::Value>;

class Dependence {
public:
  /// The functions that an op may call; none, for most.
  using Lookup = std::function<llvm::SmallVector<mlir::func::FuncOp, 2>(mlir::Operation *)>;
  explicit Dependence(Lookup lookup) : lookup(std::move(lookup)) {}

  /// For each result of a function, the arguments that it depends on. Computed
  /// once; the function must not change after that.
  llvm::ArrayRef<llvm::BitVector> ofResults(mlir::func::FuncOp function);

  /// The values of the block that depend on those given.
  ValueSet dependingOn(mlir::ValueRange values, mlir::Block &block);
  /// The values of the block that those given depend on.
  ValueSet influencing(mlir::ValueRange values, mlir::Block &block);

private:
  using Summary = llvm::SmallVector<llvm::BitVector>;
  /// Of an op that calls functions: for each result the operands that it depends on.
  std::optional<Summary> summarize(mlir::Operation &op);
  /// Calls `visit(result, operand)` for every pair of an op where the result
  /// depends on the operand.
  void forEachEdge(mlir::Operation &op,
                   llvm::function_ref<void(mlir::OpResult, mlir::OpOperand &)> visit);

  Lookup lookup;
  llvm::DenseMap<mlir::Operation *, llvm::SmallVector<llvm::BitVector>> summaries;
};

} // namespace minigptc::graph

#endif // MINIGPTC_DIALECTS_GRAPH_TRANSFORMS_DEPENDENCE_H
