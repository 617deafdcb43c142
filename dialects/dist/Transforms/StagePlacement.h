//===- StagePlacement.h - the stage of every op of an entry -----*- C++ -*-===//
//
// Says of an entry function's ops on which stage of a pipeline they happen, given that of some
// (`dist.stage`), and sends values to where they are read.
//
//   StagePlacement placement(entry, stages);
//   placement.run();
//   placement.getStages()      // of arguments that are not everywhere: {"state.params.w": [1]}
//
// An op is where most bytes of what it reads are. What is made of nothing that has a place (a
// constant, a key, a host's scalar) is everywhere, and so are arguments; what is everywhere is
// made only where it is read; so is a tensor that is made of scalars. An argument of floats that
// several stages read, as a weight that is tied, has its home on the first of these, which sends it
// to the others. Scalars that other stages read are there everywhere from then on (`dist.share`),
// all else is sent to whom reads it (`dist.transfer`), once. The value that takes over an
// argument's memory is brought to where that is.
//
//===----------------------------------------------------------------------===//
#ifndef MINIGPTC_DIALECTS_DIST_TRANSFORMS_STAGEPLACEMENT_H
#define MINIGPTC_DIALECTS_DIST_TRANSFORMS_STAGEPLACEMENT_H

#include "dialects/dist/Transforms/StageSets.h"
#include "dialects/graph/IR/Graph.h"

#include <map>

namespace minigptc::dist {

class StagePlacement {
public:
  using StagesByName = std::map<std::string, llvm::SmallVector<int64_t>, std::less<>>;

  StagePlacement(mlir::func::FuncOp entry, int64_t stages);
  void run();
  const StagesByName &getStages() const { return stagesByName; }

private:
  static constexpr int64_t kAny = -1;

  void placeOps();
  int64_t placeOf(mlir::Operation *op) const;
  bool spreads(mlir::Operation *op) const;
  int64_t stageOf(mlir::Value value) const { return stageOfValue.lookup_or(value, kAny); }
  StageSet only(int64_t stage) const { return onlyStage(stage, stages); }
  void findNeeded();
  bool findHomes();
  void bringResults();
  void insertTransfers();
  mlir::Value bring(mlir::Value value, int64_t stage);
  mlir::Value share(mlir::Value value);
  mlir::OpBuilder behind(mlir::Value value);
  void markArguments();

  mlir::func::FuncOp entry;
  mlir::Block &body;
  int64_t stages;
  llvm::DenseMap<mlir::Value, int64_t> stageOfValue; ///< not: kAny
  llvm::DenseMap<mlir::Operation *, int64_t> stageOfOp;
  NeededStages needed;
  llvm::DenseMap<std::pair<mlir::Value, int64_t>, mlir::Value> brought; ///< kAny: shared
  StagesByName stagesByName;
};

} // namespace minigptc::dist

#endif // MINIGPTC_DIALECTS_DIST_TRANSFORMS_STAGEPLACEMENT_H
