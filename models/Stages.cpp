//===- Stages.cpp - which blocks a pipeline's stages have -----------------===//
#include "models/Stages.h"

#include "dialects/dist/Schedules/Simulation.h"
#include "models/ConfigChecks.h"
#include "models/ModelSharding.h"
#include "runtime/base/Format.h"

#include <algorithm>
#include <numeric>

using namespace minigptc;
using runtime::Status;
using runtime::StatusOr;

namespace {

std::string number(int64_t value) { return std::to_string(value); }
std::string count(int64_t value, const std::string &noun) {
  return number(value) + " " + noun + (value == 1 ? "" : "s");
}

int64_t sumOf(const std::vector<int64_t> &values, size_t begin = 0) {
  return std::accumulate(values.begin() + ptrdiff_t(begin), values.end(), int64_t(0));
}

/// Blocks with the embedding counted as part of the first, the head as part of the last.
std::vector<int64_t> withEnds(const ModelCosts &costs) {
  std::vector<int64_t> all = costs.blocks;
  all.front() += costs.embedding;
  all.back() += costs.head;
  return all;
}

/// Of pieces that have so many blocks.
std::vector<int64_t> costsOfPieces(const ModelCosts &costs, const std::vector<int64_t> &blocks) {
  std::vector<int64_t> all = withEnds(costs), pieces;
  auto next = all.begin();
  for (int64_t count : blocks) {
    pieces.push_back(std::accumulate(next, next + count, int64_t(0)));
    next += count;
  }
  return pieces;
}

/// The stage that costs most.
int64_t dearestStage(const StagePlan &plan) {
  int64_t dearest = 0;
  for (int64_t stage = 1; stage < plan.pipeline.stages; ++stage)
    if (plan.costOfStage(stage) > plan.costOfStage(dearest))
      dearest = stage;
  return dearest;
}

/// Whether costs from `begin` on go into so many pieces, none of them empty or over the bound.
bool fits(const std::vector<int64_t> &costs, size_t begin, int64_t pieces, int64_t bound) {
  if (int64_t(costs.size() - begin) < pieces || pieces == 0)
    return begin == costs.size() && pieces == 0;
  int64_t used = 1, filled = 0;
  for (size_t i = begin; i < costs.size(); ++i) {
    if (costs[i] > bound)
      return false;
    if (filled + costs[i] > bound)
      ++used, filled = 0;
    filled += costs[i];
  }
  // Fewer, fuller pieces can be taken apart.
  return used <= pieces;
}

int64_t leastBound(const std::vector<int64_t> &costs, int64_t pieces) {
  int64_t low = 0, high = sumOf(costs);
  while (low < high) {
    int64_t middle = low + (high - low) / 2;
    if (fits(costs, 0, pieces, middle))
      high = middle;
    else
      low = middle + 1;
  }
  return low;
}

/// How many blocks from `begin` on the first of so many pieces takes: of what leaves a
/// possibility for the rest, what is nearest to its share.
int64_t takeShare(const std::vector<int64_t> &costs, size_t begin, int64_t pieces, int64_t bound) {
  int64_t share = sumOf(costs, begin) / pieces, filled = 0, best = -1, distance = 0;
  for (size_t end = begin + 1; end <= costs.size(); ++end) {
    filled += costs[end - 1];
    if (filled > bound)
      break;
    int64_t own = std::abs(filled - share);
    if ((best < 0 || own < distance) && fits(costs, end, pieces - 1, bound))
      best = int64_t(end - begin), distance = own;
  }
  return best;
}

std::string listOf(const std::vector<int64_t> &values) {
  std::string text;
  for (int64_t value : values)
    text += (text.empty() ? "[" : ", ") + number(value);
  return text + "]";
}

/// The blocks that a configuration lists itself.
StatusOr<std::vector<int64_t>> listedBlocks(const std::vector<int64_t> &list, int64_t blocks,
                                            const std::string &pieces, int64_t numPieces) {
  std::string key = "sharding.stage_blocks is " + listOf(list);
  std::string help = "as in " + listOf(splitByCount(blocks, numPieces)) +
                     "; without it (null) blocks are shared out by count";
  if (int64_t(list.size()) != numPieces)
    return invalidConfig(
        key + ", " + count(int64_t(list.size()), "number") + ", but there are " + pieces, help);
  for (size_t piece = 0; piece < list.size(); ++piece)
    if (list[piece] < 1)
      return invalidConfig(key + ": piece " + number(int64_t(piece)) +
                               " has no block, and so no parameters of one",
                           help);
  if (sumOf(list) != blocks)
    return invalidConfig(key + ", " + count(sumOf(list), "block") +
                             " together, but "
                             "model.num_layers is " +
                             number(blocks),
                         help);
  return list;
}

/// What `sharding.stage_costs` says.
StatusOr<ModelCosts> listedCosts(const std::vector<int64_t> &list, int64_t blocks) {
  std::string key = "sharding.stage_costs is " + listOf(list),
              help = "what train --profile prints of a mesh with an axis 'stage'; [] counts FLOPs";
  if (int64_t(list.size()) != blocks + 2)
    return invalidConfig(key + ", " + count(int64_t(list.size()), "number") +
                             ", but there are an embedding, " + count(blocks, "block") +
                             " and a head",
                         help);
  if (std::ranges::all_of(list, [](int64_t cost) { return cost == 0; }))
    return invalidConfig(key + ": nothing costs anything", help);
  return ModelCosts{
      .blocks = {list.begin() + 1, list.end() - 1}, .head = list.back(), .embedding = list.front()};
}

} // namespace

int64_t StagePlan::numBlocks() const { return sumOf(blocks); }

int64_t StagePlan::costOfStage(int64_t stage) const {
  int64_t cost = 0;
  for (int64_t piece = stage; piece < pipeline.pieces(); piece += pipeline.stages)
    cost += costs[size_t(piece)];
  return cost;
}

int64_t StagePlan::costOfAll() const { return sumOf(costs); }

int64_t StagePlan::firstBlock(int64_t piece) const {
  return std::accumulate(blocks.begin(), blocks.begin() + piece, int64_t(0));
}

std::vector<int64_t> StagePlan::pieces() const {
  std::vector<int64_t> pieces;
  for (size_t piece = 0; piece < blocks.size(); ++piece)
    pieces.insert(pieces.end(), size_t(blocks[piece]), int64_t(piece));
  return pieces;
}

std::string StagePlan::blocksOfStage(int64_t stage) const {
  std::string text;
  for (int64_t piece = stage; piece < pipeline.pieces(); piece += pipeline.stages) {
    int64_t first = firstBlock(piece), last = first + blocks[size_t(piece)] - 1;
    text += text.empty() ? (first == last && pipeline.chunks == 1 ? "block " : "blocks ") : " and ";
    text += number(first) + (first == last ? "" : " to " + number(last));
  }
  return text;
}

std::vector<int64_t> minigptc::splitByCount(int64_t blocks, int64_t pieces) {
  std::vector<int64_t> result(size_t(pieces), blocks / pieces);
  for (int64_t piece = 0; piece < blocks % pieces; ++piece)
    ++result[size_t(piece)];
  return result;
}

std::vector<int64_t> minigptc::splitByCost(const ModelCosts &costs, int64_t pieces) {
  std::vector<int64_t> all = withEnds(costs), result;
  int64_t bound = leastBound(all, pieces);
  size_t begin = 0;
  for (int64_t left = pieces; left > 0; --left) {
    result.push_back(takeShare(all, begin, left, bound));
    begin += size_t(result.back());
  }
  return result;
}

Status minigptc::checkStageAxis(const Mesh &mesh) {
  if (!mesh.has(kStageAxis) || mesh.axes().front().name == kStageAxis)
    return Status::success();
  std::vector<MeshAxis> axes = mesh.axes();
  std::ranges::stable_partition(axes, [](const MeshAxis &axis) { return axis.name == kStageAxis; });
  return invalidConfig("sharding.mesh_axis_names: axis 'stage' must come first: its stages are "
                       "blocks of devices",
                       "as in --mesh " + Mesh(axes).toString());
}

std::string minigptc::remarkOnBubble(const dist::Pipeline &pipeline, int64_t sequences) {
  auto bubble = [&](int64_t microBatches) {
    dist::Pipeline other = pipeline;
    other.microBatches = microBatches;
    return runtime::format("%.1f %%", 100 * dist::predictedBubble(other));
  };
  std::string remark = "one micro-batch leaves " + count(pipeline.stages, "stage") + " idle for " +
                       bubble(1) + " of a step; ";
  // Two and four for each stage, or the next more that divide the batch; else as many as do.
  int64_t proposed = 1;
  for (int64_t wanted : {2 * pipeline.stages, 4 * pipeline.stages}) {
    int64_t microBatches = std::min(std::max(wanted, proposed + 1), sequences);
    while (sequences % microBatches != 0)
      ++microBatches;
    if (microBatches <= proposed)
      break;
    remark += proposed == 1 ? "training.micro_batches=" + number(microBatches) + " would leave "
                            : ", " + number(microBatches) + " ";
    remark += bubble(microBatches);
    proposed = microBatches;
  }
  return proposed > 1 ? remark
                      : remark + "a larger training.batch_size, of which each replica has one "
                                 "sequence, could be taken in several";
}

std::string minigptc::remarkOnBalance(const StagePlan &plan) {
  if (!plan.isByCount)
    return "";
  StagePlan byCost = plan;
  byCost.blocks = splitByCost(plan.model, plan.pipeline.pieces());
  byCost.costs = costsOfPieces(plan.model, byCost.blocks);
  int64_t dearest = dearestStage(plan), most = plan.costOfStage(dearest),
          least = byCost.costOfStage(dearestStage(byCost));
  constexpr double kWorthAWord = 1.05;
  if (double(most) < kWorthAWord * double(least))
    return "";
  auto share = [&](int64_t cost) {
    return runtime::format("%.1f %%", 100 * double(cost) / double(plan.costOfAll()));
  };
  return "blocks shared out by count leave stage " + number(dearest) + " with " + share(most) +
         (plan.isMeasured ? " of what all cost" : " of all FLOPs") + ", of " +
         count(plan.pipeline.stages, "stage") + "; sharding.stage_balance=cost would leave " +
         share(least) + " to the dearest, with " + listOf(byCost.blocks) + " blocks instead of " +
         listOf(plan.blocks);
}

int64_t minigptc::countStages(const runtime::RunConfig &config) {
  return config.sharding.enabled ? meshOf(config.sharding).size(kStageAxis) : 1;
}

StatusOr<StagePlan> minigptc::planStages(const runtime::RunConfig &config,
                                         const ModelCosts &flops) {
  const runtime::ShardingConfig &sharding = config.sharding;
  StagePlan plan;
  std::optional<dist::ScheduleKind> kind = dist::scheduleNamed(config.training.schedule);
  if (!kind)
    return invalidConfig("training.schedule: there is no schedule '" + config.training.schedule +
                             "'",
                         "one of: gpipe, 1f1b, interleaved");
  plan.schedule = *kind;
  bool interleaved = *kind == dist::ScheduleKind::interleaved;
  int64_t chunks = sharding.stageChunks.value_or(interleaved ? 2 : 1);
  plan.pipeline = {config.training.microBatches, countStages(config), chunks};
  if (std::string why = dist::whyNot(*kind, plan.pipeline); !why.empty()) {
    dist::Pipeline plain = plan.pipeline;
    plain.chunks = 1;
    return dist::whyNot(*kind, plain).empty()
               ? invalidConfig("sharding.stage_chunks: " + why,
                               "leave it out (null), or set training.schedule to interleaved")
               : invalidConfig("training.micro_batches: " + why,
                               "schedules gpipe and 1f1b take any number");
  }
  int64_t blocks = int64_t(flops.blocks.size()), pieces = plan.pipeline.pieces();
  std::string what = chunks == 1
                         ? count(pieces, "stage")
                         : count(pieces, "piece") + " (" + count(plan.pipeline.stages, "stage") +
                               " x " + count(chunks, "chunk") + ")";
  if (blocks < pieces)
    return invalidConfig("model.num_layers is " + number(blocks) + ": " + count(blocks, "block") +
                             " for " + what + ", of which each needs one at least",
                         chunks == 1 ? "choose a mesh with fewer stages"
                                     : "choose a mesh with fewer stages, or fewer "
                                       "sharding.stage_chunks");
  plan.model = flops;
  plan.isMeasured = !sharding.stageCosts.empty();
  if (plan.isMeasured) {
    StatusOr<ModelCosts> measured = listedCosts(sharding.stageCosts, blocks);
    if (!measured)
      return measured.status();
    plan.model = *std::move(measured);
  }
  if (!sharding.stageBlocks.empty()) {
    if (sharding.stageBalance == "cost")
      return invalidConfig("sharding.stage_blocks lists how many blocks each piece has, and "
                           "sharding.stage_balance is cost, which would count them out",
                           "leave one of the two out");
    StatusOr<std::vector<int64_t>> listed =
        listedBlocks(sharding.stageBlocks, blocks, what, pieces);
    if (!listed)
      return listed.status();
    plan.blocks = *std::move(listed);
  } else {
    plan.isByCount = sharding.stageBalance != "cost";
    plan.blocks = plan.isByCount ? splitByCount(blocks, pieces) : splitByCost(plan.model, pieces);
  }
  plan.costs = costsOfPieces(plan.model, plan.blocks);
  return plan;
}
