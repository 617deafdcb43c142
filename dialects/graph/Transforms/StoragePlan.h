//===- StoragePlan.h - which values are stored ------------------*- C++ -*-===//
//
// The first decision of FusionPlan.h, op by op in program order.
//
//===----------------------------------------------------------------------===//
#ifndef MINIGPTC_DIALECTS_GRAPH_TRANSFORMS_STORAGEPLAN_H
#define MINIGPTC_DIALECTS_GRAPH_TRANSFORMS_STORAGEPLAN_H

#include "dialects/graph/IR/Graph.h"

namespace minigptc::graph {

class StoragePlan {
public:
  explicit StoragePlan(mlir::Block &block);

  /// Computed by a kernel, its own or another's; else it stays in the block.
  bool isFused(mlir::Operation *op) const { return fused.contains(op); }
  /// Computed by a kernel that stores the results.
  bool isStored(mlir::Operation *op) const { return stored.contains(op); }
  /// The op that computes an operand inside its reader's kernel, or null where
  /// the reader reads memory.
  mlir::Operation *getInlined(mlir::OpOperand &use) const;
  /// How many messages are sent or received, and calls that print made, before an op, in the order
  /// of the block.
  int64_t getMessagesBefore(mlir::Operation *op) const { return messagesBefore.lookup(op); }

private:
  /// What computing a value where it is read takes: values read from memory, and
  /// ops (without constants), each once.
  struct Tree {
    llvm::SmallSetVector<mlir::Value, 8> leaves;
    llvm::SmallSetVector<mlir::Operation *, 8> ops;
    double getCost() const; ///< per element, without reading
  };

  void classify(mlir::Block &block);
  bool needsStorage(mlir::Operation *op) const;
  bool readsMemory(mlir::OpOperand &use) const;
  Tree buildTree(mlir::Operation *op) const;
  void limitTree(mlir::Operation *op, Tree &tree);
  bool isCheaperStored(mlir::Operation *op, const Tree &tree) const;
  void countMessages(mlir::Block &block);
  bool isSmallerStored(mlir::Operation *op, const Tree &tree) const;

  llvm::DenseSet<mlir::Operation *> fused, stored;
  llvm::DenseMap<mlir::Operation *, Tree> trees;
  llvm::DenseMap<mlir::Operation *, int64_t> messagesBefore; ///< not: 0
};

} // namespace minigptc::graph

#endif // MINIGPTC_DIALECTS_GRAPH_TRANSFORMS_STORAGEPLAN_H
