//===- MicroBatches.h - a loop over micro-batches as tasks ------*- C++ -*-===//
//
// The loop of a step whose body holds pieces of a model (Pieces.h) becomes calls: of a function
// for each piece and direction, for each micro-batch, in the order of a schedule.
//
//   MicroBatchLoop loop(op, body, symbols, ScheduleKind::oneForwardOneBackward, {.stages = 2});
//   if (failed(loop.cut())) …       // reported; else the calls stand where `op` stood
//
// A *task* is one way of a micro-batch through one piece; its number is its place in the
// way: forward through pieces 0 … P−1, then back. An op without a mark belongs to the last
// task that it reads from. One that reads of none (a key, a constant, an embedding) belongs to the
// first that reads it, if they are all of one stage and it is a tensor of floats, and else to each
// of them. What tasks of a stage keep for later ones is a result of the one and an argument
// of the other, as is what goes to another stage.
//
// What the loop carries is a sum (of gradients, of losses), which is added up behind each call,
// where its parts are made: if that is on several stages, once for each, and over stages at the
// end. Or it has to do with no piece (the number of the micro-batch).
//
//===----------------------------------------------------------------------===//
#ifndef MINIGPTC_DIALECTS_DIST_TRANSFORMS_MICROBATCHES_H
#define MINIGPTC_DIALECTS_DIST_TRANSFORMS_MICROBATCHES_H

#include "dialects/dist/Schedules/Schedules.h"
#include "dialects/graph/IR/Graph.h"
#include "dialects/graph/IR/Phase.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/IR/SymbolTable.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/SmallBitVector.h"

#include <map>

namespace minigptc::dist {

class MicroBatchLoop {
public:
  /// The pipeline's number of micro-batches is the loop's. `symbols`, of the module, gets the
  /// tasks' functions.
  MicroBatchLoop(graph::LoopOp loop, mlir::func::FuncOp body, mlir::SymbolTable &symbols,
                 ScheduleKind kind, Pipeline pipeline);

  llvm::LogicalResult cut();

private:
  static constexpr int kFree = -1; ///< of no task
  struct Task {
    mlir::func::FuncOp function;           ///< null: there is nothing to do
    llvm::SmallVector<mlir::Value> inputs, ///< of the body
        outputs;
  };
  /// Something that is added up, in one task of each micro-batch.
  struct Sum {
    unsigned carried; ///< operand of the loop
    mlir::Value part; ///< of the body
    mlir::Value soFar;
  };

  int numTasks() const { return int(2 * pipeline.pieces()); }
  bool isBackward(int task) const { return task >= pipeline.pieces(); }
  graph::Phase phaseOf(int task) const {
    return isBackward(task) ? graph::Phase::backward : graph::Phase::forward;
  }
  int64_t pieceOf(int task) const {
    return isBackward(task) ? numTasks() - 1 - task : int64_t(task);
  }
  int64_t stageOf(int task) const { return pieceOf(task) % pipeline.stages; }
  int taskOf(mlir::Value value) const;
  bool isReadElsewhere(mlir::Operation *user, int task) const;
  bool isOnOneStage(const llvm::SmallBitVector &tasks) const;
  llvm::SmallBitVector readersOf(mlir::Operation *op) const;

  llvm::LogicalResult checkPlan();
  llvm::LogicalResult placeOps();
  llvm::FailureOr<int> placeMarked(mlir::Operation *op, int latest, mlir::Value cause);
  void placeFree();
  llvm::LogicalResult findSums();
  llvm::LogicalResult checkFree(mlir::Value value) const;
  bool splitSums();
  void addParts(unsigned carried, mlir::Value addend);
  mlir::Value nextOf(unsigned carried);
  mlir::Value addendOf(unsigned carried);
  bool areApart(mlir::Value a, mlir::Value b) const;
  void keepParts();

  void buildTasks();
  void buildTask(int task);
  bool emitTask(int task, int64_t microBatch);
  llvm::LogicalResult emitAll();
  mlir::Value valueOf(mlir::Value value, int64_t microBatch);
  mlir::Value partOf(mlir::Value cut, int64_t microBatch);
  void replaceLoop();

  graph::LoopOp loop;
  mlir::func::FuncOp original;
  mlir::func::FuncOp body; ///< a copy, until the end
  mlir::SymbolTable &symbols;
  ScheduleKind kind;
  Pipeline pipeline;
  mlir::OpBuilder builder;
  llvm::DenseMap<mlir::Operation *, int> taskOfOp;
  llvm::DenseMap<mlir::Operation *, llvm::SmallBitVector> needed; ///< of free ops
  std::vector<Task> tasks;
  std::vector<Sum> sums;
  llvm::SmallVector<std::optional<unsigned>> resultOf; ///< by operand: the carried result
  /// By operand: the next value of what is carried and no sum.
  llvm::SmallVector<mlir::Value> freeNext;
  std::vector<mlir::IRMapping> maps;   ///< by micro-batch
  std::vector<std::vector<bool>> done; ///< by task and micro-batch
};

} // namespace minigptc::dist

#endif // MINIGPTC_DIALECTS_DIST_TRANSFORMS_MICROBATCHES_H
