// Both models on meshes with stages, with every schedule, dropout on: the gradients and the losses
// of one device; and no messages but those that the schedule says, and some scalars.
#include "dialects/dist/Schedules/Schedules.h"
#include "runtime/exec/ArtifactReader.h"
#include "test/models/PipelineRun.h"
#include "test/support/Arrays.h"
#include "test/support/Compare.h"
#include "test/support/ModuleRunner.h"

#include <catch2/catch.hpp>

#include <cmath>
#include <functional>

using namespace minigptc;
using namespace minigptc::test;

namespace {

struct Trained {
  std::vector<double> losses;
  /// The optimizer's first moments behind the first step: its gradients, all times one number.
  Tensors gradients;
};

mlir::MLIRContext &context() {
  static ModuleRunner runner;
  return runner.context();
}

Trained train(PipelineRun &run, int steps) {
  Trained result;
  for (int step = 0; step < steps; ++step) {
    runtime::StatusOr<double> loss = run.step();
    INFO((loss ? "" : loss.status().toString()));
    REQUIRE(loss.ok());
    result.losses.push_back(*loss);
    for (const auto &[name, array] : run.state())
      if (step == 0 && name.starts_with("state.optimizer.m."))
        result.gradients[name] = toTensor(array.isSharded() ? array.whole() : array, context());
  }
  return result;
}

constexpr int kSteps = 20;

/// On one device.
const Trained &reference(const runtime::RunConfig &config) {
  static std::map<std::tuple<std::string, int64_t, bool, bool>, Trained> known;
  runtime::RunConfig one = pipelineConfig(config.model.type, /*layout=*/{}, config.model.numLayers);
  one.model = config.model;
  one.data = config.data;
  Trained &trained = known[{one.model.type, one.model.numLayers, one.model.tieEmbeddings,
                            one.data.ignoreIndex.has_value()}];
  if (trained.losses.empty()) {
    PipelineRun run(one);
    trained = train(run, kSteps);
  }
  return trained;
}

void checkSame(const Trained &actual, const Trained &expected) {
  std::vector<interpreter::Tensor> all;
  for (const auto &[name, gradient] : expected.gradients)
    all.push_back(gradient);
  REQUIRE(all.size() > 10);
  for (const auto &[name, gradient] : expected.gradients) {
    INFO(name);
    CHECK(gradientDifference(actual.gradients.at(name), gradient, normOf(all)) == "");
  }
  CHECK(std::abs(actual.losses[0] - expected.losses[0]) <= 1e-5 * expected.losses[0]);
  for (int step = 0; step < kSteps; ++step) {
    INFO("step " << step);
    CHECK(std::abs(actual.losses[step] - expected.losses[step]) <= 5e-5);
  }
  CHECK(expected.losses.back() < expected.losses.front() - 0.1);
}

/// 2·M·(v·G-1) activations and gradients of them from each device to the next; else scalars, and of
/// a tied embedding what the last stage reads and gives back, once a step.
void checkMessages(const PipelineRun &run, const runtime::RunConfig &config) {
  runtime::StatusOr<runtime::Program> program = runtime::readArtifact(run.artifact());
  REQUIRE(program.ok());
  runtime::StatusOr<ModelSharding> sharding = shardingOf(config);
  REQUIRE(sharding.ok());
  const dist::Pipeline &pipeline = sharding->stages->pipeline;
  const Mesh &mesh = sharding->mesh;
  int64_t rows = kPipelineBatch / pipeline.microBatches / mesh.size("batch") / mesh.size("data");
  int64_t tokens = kPipelineContext / (config.sharding.mode == "tp_sp" ? mesh.size("tensor") : 1);
  // The reference's annotations of norms cut activations.
  int64_t width =
      kPipelineWidth / (config.model.annotations == "reference" ? mesh.size("model") : 1);
  int64_t activations = 0, embeddings = 0;
  for (const runtime::Message &message : program->messages) {
    INFO(message.type.toString());
    if (message.type.shape.size() == 3) {
      ++activations;
      CHECK(message.type.shape == Shape{rows, tokens, width});
    } else if (message.type.shape.size() == 2) {
      ++embeddings;
    } else {
      CHECK(message.type.shape.empty());
    }
  }
  CHECK(activations == 2 * pipeline.microBatches * (pipeline.chunks * pipeline.stages - 1));
  CHECK(activations == pipeline.messages());
  CHECK(embeddings == (config.model.tieEmbeddings ? 2 : 0));
  int64_t scalars = int64_t(program->messages.size()) - activations - embeddings;
  CHECK(scalars >= pipeline.stages - 1); // Each stage's part of the gradients' norm.
  // With several pieces of a stage, each parameter's of some of them.
  CHECK(scalars <=
        8 * (pipeline.stages - 1) +
            (pipeline.chunks > 1 ? int64_t(makeModel(config.model)->parameters().size()) : 0));
}

/// Bytes of a device of the stage that needs most.
int64_t memoryOf(const PipelineRun &run) {
  runtime::StatusOr<runtime::Program> program = runtime::readArtifact(run.artifact());
  REQUIRE(program.ok());
  uint64_t most = 0;
  for (const runtime::MemoryReport &report : program->memory)
    most = std::max(most, report.total);
  return int64_t(most);
}

/// With every schedule; targets are ignored with every other one.
void checkSchedules(const std::string &model, PipelineLayout layout, bool ignores,
                    const std::function<void(runtime::RunConfig &)> &edit = {}) {
  for (const char *schedule : {"gpipe", "1f1b", "interleaved"}) {
    layout.schedule = schedule;
    int64_t layers = layout.mesh.size("stage") == 8 ? 16 : 8;
    runtime::RunConfig config = pipelineConfig(model, layout, layers);
    if (ignores)
      config.data.ignoreIndex = 3;
    if (edit)
      edit(config);
    INFO(model << " " << layout.mode << " on " << layout.mesh.toString() << ", " << schedule
               << (ignores ? ", targets ignored" : ""));
    PipelineRun run(config);
    checkMessages(run, config);
    checkSame(train(run, kSteps), reference(config));
    ignores = !ignores;
  }
}

} // namespace

TEST_CASE("MiniGPT's losses and gradients on stages are those of one device") {
  const PipelineLayout layouts[] = {
      {.mesh = {{"stage", 2}}},
      {.mesh = {{"stage", 4}}, .microBatches = 8},
      {.mesh = {{"stage", 8}}, .microBatches = 8},
      {.mesh = {{"stage", 2}, {"batch", 4}}},
      {.mesh = {{"stage", 4}, {"batch", 2}}},
      {.mesh = {{"stage", 4}, {"model", 2}}},
      {.mesh = {{"stage", 2}, {"batch", 2}, {"model", 2}}},
  };
  bool ignores = false;
  for (const PipelineLayout &layout : layouts)
    checkSchedules("minigpt", layout, ignores = !ignores);
}

TEST_CASE("The Transformer LM's losses and gradients on stages, in every mode, are those of one "
          "device") {
  const PipelineLayout layouts[] = {
      {"", {{"stage", 2}}, "", 2},
      {"dp", {{"stage", 2}, {"data", 2}}},
      {"fsdp", {{"stage", 2}, {"data", 2}}},
      {"fsdp", {{"stage", 4}, {"data", 2}}, "", 8},
      {"fsdp_full", {{"stage", 2}, {"data", 2}}},
      {"tp", {{"stage", 2}, {"tensor", 2}}},
      {"tp", {{"stage", 4}, {"tensor", 2}}},
      {"tp_sp", {{"stage", 2}, {"tensor", 2}}},
      {"fsdp_tp", {{"stage", 2}, {"data", 2}, {"tensor", 2}}},
  };
  bool ignores = false;
  for (const PipelineLayout &layout : layouts)
    checkSchedules("transformer_lm", layout, ignores = !ignores);
}

TEST_CASE("MiniGPT's reference annotations on stages") {
  checkSchedules("minigpt", {.mesh = {{"stage", 2}, {"batch", 2}, {"model", 2}}}, /*ignores=*/false,
                 [](runtime::RunConfig &config) { config.model.annotations = "reference"; });
}

TEST_CASE("A tied embedding is sent once a step, and its gradient back") {
  auto tie = [](runtime::RunConfig &config) { config.model.tieEmbeddings = true; };
  checkSchedules("transformer_lm", {"", {{"stage", 2}}}, /*ignores=*/true, tie);
  checkSchedules("transformer_lm", {"dp", {{"stage", 4}, {"data", 2}}}, /*ignores=*/false, tie);
}

TEST_CASE("A budget of memory on stages: less memory, the same losses") {
  for (const char *schedule : {"gpipe", "1f1b", "interleaved"}) {
    INFO(schedule);
    runtime::RunConfig config = pipelineConfig("minigpt", {"", {{"stage", 2}}, schedule}, 4);
    PipelineRun free(config);
    config.training.memoryBudget = memoryOf(free) * 85 / 100;
    PipelineRun tight(config);
    CHECK(memoryOf(tight) <= *config.training.memoryBudget);
    CHECK(train(tight, 3).losses == train(free, 3).losses);
  }
}
