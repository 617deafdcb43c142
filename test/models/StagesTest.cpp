// Which blocks stages have: by count, by cost, by a list; and what does not go.
#include "models/Stages.h"
#include "models/ModelSharding.h"
#include "models/Registry.h"

#include <catch2/catch.hpp>

#include <numeric>
#include <random>

using namespace minigptc;
using Catch::Contains;
using Catch::EndsWith;

namespace {

using Counts = std::vector<int64_t>;

/// The cost of the most expensive piece.
int64_t mostOf(const ModelCosts &costs, const Counts &blocks) {
  int64_t most = 0;
  size_t at = 0;
  for (size_t piece = 0; piece < blocks.size(); ++piece) {
    int64_t sum =
        (piece + 1 == blocks.size() ? costs.head : 0) + (piece == 0 ? costs.embedding : 0);
    for (int64_t i = 0; i < blocks[piece]; ++i)
      sum += costs.blocks[at++];
    most = std::max(most, sum);
  }
  return most;
}

/// ... at least, of all ways to cut.
int64_t leastMost(const ModelCosts &costs, int64_t pieces, Counts blocks = {}) {
  int64_t used = std::accumulate(blocks.begin(), blocks.end(), int64_t(0));
  int64_t left = int64_t(costs.blocks.size()) - used, rest = pieces - int64_t(blocks.size());
  if (rest == 1) {
    blocks.push_back(left);
    return mostOf(costs, blocks);
  }
  int64_t least = INT64_MAX;
  for (int64_t own = 1; own <= left - rest + 1; ++own) {
    blocks.push_back(own);
    least = std::min(least, leastMost(costs, pieces, blocks));
    blocks.pop_back();
  }
  return least;
}

runtime::RunConfig miniGpt(std::vector<int64_t> mesh, std::vector<std::string> axes) {
  runtime::RunConfig config;
  config.model = {.type = "minigpt", .dModel = 16, .numHeads = 4, .dFf = 32, .numLayers = 8};
  config.model.vocabSize = 32, config.model.contextLength = 8;
  config.training.batchSize = 16;
  config.training.microBatches = 4;
  config.sharding = {
      .enabled = true, .meshShape = std::move(mesh), .meshAxisNames = std::move(axes)};
  return config;
}

StagePlan planOf(const runtime::RunConfig &config) {
  runtime::StatusOr<ModelSharding> sharding = shardingOf(config);
  REQUIRE(sharding);
  REQUIRE(sharding->stages);
  return *sharding->stages;
}

std::string whyNot(const runtime::RunConfig &config) {
  runtime::StatusOr<ModelSharding> sharding = shardingOf(config);
  return sharding ? "none" : sharding.status().toString();
}

} // namespace

TEST_CASE("Blocks are shared out by count") {
  CHECK(splitByCount(8, 2) == Counts{4, 4});
  CHECK(splitByCount(7, 3) == Counts{3, 2, 2});
  CHECK(splitByCount(3, 3) == Counts{1, 1, 1});
}

TEST_CASE("Blocks are shared out by cost") {
  // A head as expensive as two blocks.
  CHECK(splitByCost({{1, 1, 1, 1, 1, 1, 1, 1}, 2}, 2) == Counts{5, 3});
  CHECK(splitByCost({{1, 1, 1, 1, 1, 1}, 0}, 3) == Counts{2, 2, 2});
  // One that is more than a piece's share has a block for company.
  CHECK(splitByCost({{1, 1, 1, 1}, 100}, 2) == Counts{3, 1});
  CHECK(splitByCost({{7, 1, 1}, 0}, 3) == Counts{1, 1, 1});
  std::mt19937 random(5);
  for (int round = 0; round < 300; ++round) {
    ModelCosts costs;
    for (size_t i = 0, n = 1 + random() % 9; i < n; ++i)
      costs.blocks.push_back(1 + random() % 20);
    costs.head = random() % 30;
    costs.embedding = random() % 30;
    int64_t pieces = 1 + int64_t(random() % costs.blocks.size());
    Counts blocks = splitByCost(costs, pieces);
    REQUIRE(int64_t(blocks.size()) == pieces);
    CHECK(*std::ranges::min_element(blocks) >= 1);
    CHECK(std::accumulate(blocks.begin(), blocks.end(), size_t(0)) == costs.blocks.size());
    CHECK(mostOf(costs, blocks) == leastMost(costs, pieces));
  }
}

TEST_CASE("Costs of blocks are the products of a forward pass") {
  for (const char *type : {"minigpt", "transformer_lm"}) {
    runtime::RunConfig config;
    config.model = {.type = type, .dModel = 16, .numHeads = 4, .dFf = 32, .numLayers = 3};
    config.model.vocabSize = 32, config.model.contextLength = 8;
    config.training.batchSize = 2;
    Program program = buildProgram(config, {.training = false, .logits = false});
    ModelCosts costs = costsOf(config.model);
    double sum = double(std::accumulate(costs.blocks.begin(), costs.blocks.end(), costs.head));
    INFO(type);
    CHECK(program.matmulFlops("eval_loss") == Approx(sum * 2 * 8));
  }
}

TEST_CASE("A plan of stages") {
  StagePlan plan = planOf(miniGpt({2, 2, 2}, {"stage", "batch", "model"}));
  CHECK(plan.pipeline == dist::Pipeline{4, 2, 1});
  CHECK(plan.pieces() == Counts{0, 0, 0, 0, 1, 1, 1, 1});
  CHECK(plan.blocksOfStage(1) == "blocks 4 to 7");
  CHECK(plan.costs[1] - plan.costs[0] == 2 * 16 * 32);

  runtime::RunConfig interleaved = miniGpt({2}, {"stage"});
  interleaved.training.schedule = "interleaved";
  interleaved.sharding.stageBlocks = {1, 2, 2, 3};
  plan = planOf(interleaved);
  CHECK(plan.pipeline == dist::Pipeline{4, 2, 2});
  CHECK(plan.blocksOfStage(0) == "blocks 0 and 3 to 4");
  CHECK(plan.stageOfPiece(3) == 1);

  runtime::RunConfig balanced = miniGpt({2}, {"stage"});
  balanced.sharding.stageBalance = "cost";
  balanced.model.vocabSize = 4096;
  CHECK(planOf(balanced).blocks == Counts{7, 1});

  CHECK_FALSE(shardingOf(miniGpt({2, 2}, {"batch", "model"}))->stages);
  CHECK_FALSE(shardingOf(miniGpt({1, 2}, {"stage", "batch"}))->stages);
}

TEST_CASE("Stages beside the Transformer LM's modes, and alone") {
  runtime::RunConfig config = miniGpt({2, 2, 2}, {"stage", "data", "tensor"});
  config.model.type = "transformer_lm";
  config.sharding.mode = "fsdp_tp";
  CHECK(planOf(config).blocks == Counts{4, 4});
  config.sharding.mode = "dp";
  CHECK_THAT(whyNot(config), Contains("mode dp needs a mesh with data > 1 and tensor = 1"));
  config.sharding = {.enabled = true, .meshShape = {4}, .meshAxisNames = {"stage"}};
  CHECK(planOf(config).blocks == Counts{2, 2, 2, 2});
}

TEST_CASE("Stages that do not go are refused") {
  runtime::RunConfig config = miniGpt({2, 2}, {"batch", "stage"});
  CHECK_THAT(whyNot(config),
             Contains("axis 'stage' must come first") && Contains("--mesh stage=2,batch=2"));
  config = miniGpt({16}, {"stage"});
  CHECK_THAT(whyNot(config),
             Contains("model.num_layers is 8: 8 blocks for 16 stages, of which each "
                      "needs one at least"));
  config = miniGpt({8}, {"stage"});
  config.training.microBatches = 8;
  config.training.schedule = "interleaved";
  CHECK_THAT(whyNot(config), Contains("8 blocks for 16 pieces (8 stages x 2 chunks)"));
  config = miniGpt({2}, {"stage"});
  config.sharding.stageBlocks = {8, 0};
  CHECK_THAT(whyNot(config),
             Contains("sharding.stage_blocks is [8, 0]: piece 1 has no block, and so "
                      "no parameters of one"));
  config.sharding.stageBlocks = {4, 3};
  CHECK_THAT(whyNot(config),
             Contains("7 blocks together, but model.num_layers is 8") && Contains("as in [4, 4]"));
  config.sharding.stageBlocks = {8};
  CHECK_THAT(whyNot(config), Contains("1 number, but there are 2 stages"));
  config.sharding.stageBlocks = {};
  config.sharding.stageChunks = 2;
  CHECK_THAT(whyNot(config), Contains("schedule gpipe has one chunk on each stage, not 2"));
  config.training.schedule = "interleaved";
  config.training.microBatches = 1;
  CHECK_THAT(whyNot(config), Contains("1 is no multiple of that"));
  config.training.schedule = "zigzag";
  CHECK_THAT(whyNot(config), Contains("there is no schedule 'zigzag'"));
}

TEST_CASE("Measured costs count all parts of a model") {
  runtime::RunConfig config = miniGpt({2}, {"stage"});
  config.sharding.stageBalance = "cost";
  config.sharding.stageCosts = {40, 10, 10, 10, 10, 10, 10, 10, 10, 0};
  StagePlan plan = planOf(config);
  CHECK(plan.blocks == Counts{2, 6}); // The embedding is as much as four blocks.
  CHECK(plan.costs == Counts{60, 60});
  config.sharding.stageCosts = {0, 10, 10, 10, 10, 10, 10, 10, 10, 40};
  CHECK(planOf(config).blocks == Counts{6, 2});
  config.sharding.stageCosts = {0, 10, 10, 10, 10, 10, 10, 10, 10};
  CHECK_THAT(whyNot(config),
             Contains("sharding.stage_costs is [0, 10, 10, 10, 10, 10, 10, 10, 10], "
                      "9 numbers, but there are an embedding, 8 blocks and a head"));
  config.sharding.stageCosts.assign(10, 0);
  CHECK_THAT(whyNot(config), Contains("nothing costs anything"));
}

TEST_CASE("Stages that count makes much dearer than cost are remarked on") {
  runtime::RunConfig config = miniGpt({2}, {"stage"});
  CHECK(remarkOnBalance(planOf(config)) == "");
  config.sharding.stageCosts = {0, 10, 10, 10, 10, 10, 10, 10, 10, 40};
  CHECK(remarkOnBalance(planOf(config)) ==
        "blocks shared out by count leave stage 1 with 66.7 % of what all cost, of 2 stages; "
        "sharding.stage_balance=cost would leave 50.0 % to the dearest, with [6, 2] blocks instead "
        "of [4, 4]");
  config.sharding.stageBalance = "cost";
  CHECK(remarkOnBalance(planOf(config)) == "");
  config.sharding.stageBalance = "count";
  config.sharding.stageBlocks = {4, 4}; // As wished.
  CHECK(remarkOnBalance(planOf(config)) == "");
}

TEST_CASE("One micro-batch is remarked on, and as many proposed as a batch can be cut into") {
  CHECK(remarkOnBubble({1, 2, 1}, 16) ==
        "one micro-batch leaves 2 stages idle for 50.0 % of a step; training.micro_batches=4 would "
        "leave 20.0 %, 8 11.1 %");
  CHECK_THAT(remarkOnBubble({1, 2, 1}, 18), Contains("=6 would leave 14.3 %, 9 10.0 %"));
  CHECK_THAT(remarkOnBubble({1, 4, 1}, 12), EndsWith("=12 would leave 20.0 %"));
  CHECK_THAT(remarkOnBubble({1, 4, 1}, 2), EndsWith("=2 would leave 60.0 %"));
  CHECK_THAT(remarkOnBubble({1, 8, 1}, 1),
             EndsWith("idle for 87.5 % of a step; a larger training.batch_size, of which each "
                      "replica has one sequence, could be taken in several"));
}
