//===- StageSets.cpp - the stages that need a value -----------------------===//
#include "dialects/dist/Transforms/StageSets.h"
#include "dialects/graph/IR/Graph.h"

#include "llvm/ADT/STLExtras.h"

using namespace mlir;
using namespace minigptc;
using namespace minigptc::dist;

StageSet minigptc::dist::onlyStage(int64_t stage, int64_t stages) {
  StageSet one{unsigned(stages)};
  one.set(unsigned(stage));
  return one;
}

StageSet minigptc::dist::allStages(int64_t stages) { return StageSet(unsigned(stages), true); }

SmallVector<int64_t> minigptc::dist::listOf(const StageSet &stages) {
  return llvm::to_vector(
      llvm::map_range(stages.set_bits(), [](int stage) { return int64_t(stage); }));
}

NeededStages
minigptc::dist::findNeededStages(Block &body, ArrayRef<StageSet> ofResults, int64_t stages,
                                 llvm::function_ref<std::optional<int64_t>(Operation *)> placeOf) {
  NeededStages needed;
  auto need = [&](Value value, const StageSet &where) {
    auto [place, isNew] = needed.try_emplace(value, where);
    if (!isNew)
      place->second |= where;
  };
  for (auto [value, where] : llvm::zip_equal(body.getTerminator()->getOperands(), ofResults))
    need(value, where);
  for (Operation &op : llvm::reverse(body.without_terminator())) {
    StageSet where{unsigned(stages)};
    for (Value result : op.getResults())
      where |= needed.lookup(result);
    if (where.none() && !graph::prints(&op))
      continue;
    if (std::optional<int64_t> place = placeOf(&op))
      where = onlyStage(*place, stages);
    for (Value operand : op.getOperands())
      need(operand, where);
  }
  return needed;
}
