//===- FunctionGraph.h - who refers to whom --------------------*- C++ -*-===//
//
// The functions of a module and the ops that name them, read in one walk. Valid
// until ops that name functions are added or erased; build it anew then.
//
//   FailureOr<FunctionGraph> functions = FunctionGraph::build(module);
//   if (failed(functions)) return failure();   // recursion, already reported
//   for (func::FuncOp f : functions->getPostOrder()) … // callees come first
//
//===----------------------------------------------------------------------===//
#ifndef MINIGPTC_DIALECTS_GRAPH_TRANSFORMS_FUNCTIONGRAPH_H
#define MINIGPTC_DIALECTS_GRAPH_TRANSFORMS_FUNCTIONGRAPH_H

#include "dialects/graph/IR/Graph.h"
#include "mlir/IR/BuiltinOps.h"
#include "llvm/ADT/MapVector.h"

namespace minigptc::graph {

/// Visits the functions that an op names, in the order of its attributes: callees, bodies, and of a
/// loop with a predicate that of the predicate, too.
void forEachReference(mlir::Operation *op, llvm::function_ref<void(mlir::StringAttr)> visit);

class FunctionGraph {
public:
  /// The ops that name one function.
  struct Uses {
    llvm::SmallVector<mlir::func::CallOp> calls;
    llvm::SmallVector<mlir::Operation *> others;
    size_t size() const { return calls.size() + others.size(); }
  };

  /// Fails, with a diagnostic, if functions call each other in a circle.
  static llvm::FailureOr<FunctionGraph> build(mlir::ModuleOp module);

  /// All functions, those that a function refers to before itself; otherwise
  /// in the order of the module.
  llvm::ArrayRef<mlir::func::FuncOp> getPostOrder() const { return postOrder; }
  mlir::func::FuncOp lookup(mlir::StringAttr name) const { return byName.lookup(name); }
  mlir::func::FuncOp getCallee(mlir::func::CallOp call) const {
    return lookup(call.getCalleeAttr().getAttr());
  }
  const Uses &getUses(mlir::func::FuncOp function) const;

  /// True if all uses are calls, which a pass may rewrite together with the function.
  bool hasFreeSignature(mlir::func::FuncOp function) const;

  /// True if all ops of the body (and of the functions it calls) are without
  /// side effects, so that a call without used results can go.
  bool isPure(mlir::func::FuncOp function) const { return pure.contains(function); }
  /// True if neither an op nor the functions that it names have side effects.
  bool isPure(mlir::Operation *op) const;

private:
  llvm::LogicalResult sort(mlir::ModuleOp module);
  bool computePure(mlir::func::FuncOp function) const;

  llvm::SmallVector<mlir::func::FuncOp> postOrder;
  llvm::DenseMap<mlir::StringAttr, mlir::func::FuncOp> byName;
  llvm::DenseMap<mlir::Operation *, Uses> uses;
  llvm::DenseMap<mlir::Operation *, llvm::SmallVector<mlir::func::FuncOp>> references;
  llvm::DenseSet<mlir::Operation *> pure;
};

/// A private function with a body of one block: what passes may rewrite.
bool isPrivateWithBody(mlir::func::FuncOp function);

/// Erases unused ops without side effects, last to first. Calls of pure
/// functions, and loops and branches of such, count as such.
void eraseDeadOps(mlir::Block &block, const FunctionGraph &functions);

} // namespace minigptc::graph

#endif // MINIGPTC_DIALECTS_GRAPH_TRANSFORMS_FUNCTIONGRAPH_H
