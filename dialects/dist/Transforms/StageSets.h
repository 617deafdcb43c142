//===- StageSets.h - the stages that need a value ---------------*- C++ -*-===//
//
//   NeededStages needed = findNeededStages(body, ofResults, stages, placeOf);
//   if (needed.lookup(value).test(1)) …     // it is read on stage 1
//
//===----------------------------------------------------------------------===//
#ifndef MINIGPTC_DIALECTS_DIST_TRANSFORMS_STAGESETS_H
#define MINIGPTC_DIALECTS_DIST_TRANSFORMS_STAGESETS_H

#include "mlir/IR/Block.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/SmallBitVector.h"

#include <optional>

namespace minigptc::dist {

/// A bit for each stage of a pipeline.
using StageSet = llvm::SmallBitVector;

StageSet onlyStage(int64_t stage, int64_t stages);
StageSet allStages(int64_t stages);
llvm::SmallVector<int64_t> listOf(const StageSet &stages);

/// Not: values that neither a result nor a print needs.
using NeededStages = llvm::DenseMap<mlir::Value, StageSet>;

/// On which stages each value of an entry is read, from its results back: an op reads where it
/// happens (`placeOf`), or else wherever its results are needed. What prints is needed.
NeededStages
findNeededStages(mlir::Block &body, llvm::ArrayRef<StageSet> ofResults, int64_t stages,
                 llvm::function_ref<std::optional<int64_t>(mlir::Operation *)> placeOf);

} // namespace minigptc::dist

#endif // MINIGPTC_DIALECTS_DIST_TRANSFORMS_STAGESETS_H
