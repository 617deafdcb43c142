//===- Stages.h - which blocks a pipeline's stages have ---------*- C++ -*-===//
//
// A mesh with an axis `stage` lays a model's blocks one behind the other on its stages. A stage
// has one piece of the model, or several with the schedule `interleaved`: piece c·G + s is chunk
// c of stage s. What is before the blocks (embeddings) is of the first piece, what is behind
// them (norm, head, loss) of the last.
//
//   StatusOr<StagePlan> plan = planStages(config, costsOf(config.model));
//   plan->blocks                // {4, 4}: how many each piece has
//   plan->pieces()              // {0, 0, 0, 0, 1, 1, 1, 1}
//
// Blocks are shared out as `sharding.stage_blocks` says, else by count, or by cost: so that the
// most expensive piece is as cheap as may be. Costs are FLOPs of matrix products, or what was
// measured (`sharding.stage_costs`); what is before and behind the blocks counts, too.
//
//===----------------------------------------------------------------------===//
#ifndef MINIGPTC_MODELS_STAGES_H
#define MINIGPTC_MODELS_STAGES_H

#include "dialects/dist/Schedules/Schedules.h"
#include "minigptc/runtime/Mesh.h"
#include "minigptc/runtime/Status.h"
#include "runtime/train/RunConfig.h"

#include <string>
#include <vector>

namespace minigptc {

/// FLOPs of a token's forward pass, or a measured time in some unit.
struct ModelCosts {
  std::vector<int64_t> blocks;
  int64_t head = 0, embedding = 0;
};

struct StagePlan {
  dist::ScheduleKind schedule = dist::ScheduleKind::gpipe;
  dist::Pipeline pipeline;
  std::vector<int64_t> blocks; ///< how many each piece has, in the model's order
  std::vector<int64_t> costs;  ///< of each piece, as ModelCosts
  ModelCosts model;
  bool isByCount = false;  ///< ... as nobody wished it otherwise
  bool isMeasured = false; ///< costs are those of `sharding.stage_costs`

  int64_t numBlocks() const;
  int64_t costOfStage(int64_t stage) const;
  int64_t costOfAll() const;
  /// The first block of a piece.
  int64_t firstBlock(int64_t piece) const;
  int64_t stageOfPiece(int64_t piece) const { return piece % pipeline.stages; }
  /// By block, which piece it is in.
  std::vector<int64_t> pieces() const;
  /// "blocks 0 to 3 and 8 to 11".
  std::string blocksOfStage(int64_t stage) const;
};

/// Counts that differ by one at most, the larger ones first. There are as many blocks as pieces,
/// at least; so in `splitByCost`.
std::vector<int64_t> splitByCount(int64_t blocks, int64_t pieces);
/// The largest cost of a piece is the least that is possible; within that, each piece is near
/// its share of what is left. The embedding is in the first piece, the head in the last.
std::vector<int64_t> splitByCost(const ModelCosts &costs, int64_t pieces);

/// Fails unless the axis `stage`, where there is one, is the first.
runtime::Status checkStageAxis(const Mesh &mesh);
/// How many stages a configuration's mesh has; 1: none.
int64_t countStages(const runtime::RunConfig &config);
/// Fails, with the key that is wrong first, where blocks, micro-batches and schedule do not go
/// together. `flops` are the costs where none were measured.
runtime::StatusOr<StagePlan> planStages(const runtime::RunConfig &config, const ModelCosts &flops);
/// What one micro-batch leaves idle, and what more would, into which the `sequences` that each
/// replica has of a batch can be cut.
std::string remarkOnBubble(const dist::Pipeline &pipeline, int64_t sequences);
/// That blocks shared out by count make a stage much more expensive than blocks shared out by cost
/// would, with numbers; empty where they do not.
std::string remarkOnBalance(const StagePlan &plan);

} // namespace minigptc

#endif // MINIGPTC_MODELS_STAGES_H
