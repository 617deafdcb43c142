//===- ScheduleReport.cpp - a pipeline's schedule for people --------------===//
#include "tools/minigptc/ScheduleReport.h"

#include "dialects/dist/Schedules/Picture.h"
#include "models/ModelSharding.h"
#include "runtime/base/Format.h"
#include "tools/minigptc/TextTable.h"

#include <nlohmann/json.hpp>

using namespace minigptc;
using runtime::format;

namespace {

/// More ticks than that are drawn several at a time.
constexpr int64_t kTextTicks = 64, kSvgTicks = 400;

std::string counted(int64_t number, const std::string &noun) {
  bool hisses = noun.ends_with("ch") || noun.ends_with("s");
  return std::to_string(number) + " " + noun + (number == 1 ? "" : hisses ? "es" : "s");
}

std::string percent(double share) { return format("%.1f %%", 100 * share); }

/// A matrix product's backward pass is two such products.
dist::StageCosts costsOf(const StagePlan &plan) {
  dist::StageCosts costs{.forward = plan.costs, .backward = plan.costs};
  for (int64_t &cost : costs.backward)
    cost *= 2;
  return costs;
}

int64_t costOfStage(const StagePlan &plan, int64_t stage) {
  int64_t cost = 0;
  for (int64_t piece = stage; piece < plan.pipeline.pieces(); piece += plan.pipeline.stages)
    cost += plan.costs[size_t(piece)];
  return cost;
}

int64_t costOfAll(const StagePlan &plan) {
  int64_t cost = 0;
  for (int64_t piece : plan.costs)
    cost += piece;
  return cost;
}

/// "embedding, blocks 0 to 3".
std::string contentsOf(const StagePlan &plan, int64_t stage) {
  std::string text = stage == 0 ? "embedding, " : "";
  text += plan.blocksOfStage(stage);
  return text + (stage == plan.pipeline.stages - 1 ? ", head" : "");
}

double idleShare(const dist::Simulation &run, int64_t stage) {
  return run.total > 0 ? double(run.idleOf(stage)) / double(run.total) : 0;
}

} // namespace

ScheduleReport::ScheduleReport(const StagePlan &plan, const runtime::RunConfig &config)
    : plan_(plan), schedule_(dist::makeSchedule(plan.schedule, plan.pipeline)),
      ticks_(dist::simulate(schedule_, dist::StageCosts::equal(plan.pipeline, 1, 1))),
      flops_(dist::simulate(schedule_, costsOf(plan))) {
  Mesh mesh = meshOf(config.sharding);
  devicesOfStage_ = mesh.numDevices() / plan.pipeline.stages;
  int64_t replicas = mesh.size(mesh.has("batch") ? "batch" : "data");
  sequences_ = config.training.batchSize / plan.pipeline.microBatches / replicas;
}

std::string ScheduleReport::title() const {
  return std::string(dist::nameOf(plan_.schedule)) + ": " +
         counted(plan_.pipeline.stages, "stage") + " of " + counted(devicesOfStage_, "device") +
         (plan_.pipeline.chunks > 1 ? " with " + counted(plan_.pipeline.chunks, "chunk") + " each"
                                    : "") +
         ", " + counted(plan_.pipeline.microBatches, "micro-batch") + " of " +
         counted(sequences_, "sequence") + " in each replica";
}

std::string ScheduleReport::table() const {
  TextTable table({"stage", "FLOPs", "idle ticks", "idle by FLOPs", "holds at most", "has"},
                  /*firstNumber=*/0, /*numbers=*/4);
  std::string what = plan_.pipeline.chunks > 1 ? "pass" : "micro-batch";
  for (int64_t stage = 0; stage < plan_.pipeline.stages; ++stage)
    table.add({std::to_string(stage),
               percent(double(costOfStage(plan_, stage)) / double(costOfAll(plan_))),
               std::to_string(ticks_.idleOf(stage)) + " of " + std::to_string(ticks_.total),
               percent(idleShare(flops_, stage)), counted(dist::mostHeld(schedule_, stage), what),
               contentsOf(plan_, stage)});
  return table.print(/*markdown=*/false);
}

std::string ScheduleReport::bubbles() const {
  const dist::Pipeline &pipeline = plan_.pipeline;
  int64_t passes = pipeline.chunks * pipeline.microBatches;
  std::string text =
      format("bubble: %s, (G-1)/(%s+G-1) = %lld/%lld, of stages that cost the same; "
             "%s by the FLOPs of matrix products\n",
             percent(dist::predictedBubble(pipeline)).c_str(), pipeline.chunks > 1 ? "vM" : "M",
             (long long)(pipeline.stages - 1), (long long)(passes + pipeline.stages - 1),
             percent(flops_.bubble()).c_str());
  dist::Pipeline more = pipeline;
  std::string others;
  for (int64_t factor : {2, 4}) {
    more.microBatches = factor * pipeline.microBatches;
    others += (others.empty() ? "with " : ", with ") + counted(more.microBatches, "micro-batch") +
              " " + percent(dist::predictedBubble(more));
  }
  return text + "        " + others + "\n";
}

std::string ScheduleReport::text() const {
  const dist::Pipeline &pipeline = plan_.pipeline;
  return title() + "\n\n" + dist::drawText(ticks_, kTextTicks) + "\n" + table() + "\n" + bubbles() +
         format("messages: %lld activations or gradients of them, in each replica and step: 2 x %s "
                "x %s\n",
                (long long)pipeline.messages(),
                counted(pipeline.microBatches, "micro-batch").c_str(),
                pipeline.pieces() == 2
                    ? "1 boundary"
                    : (std::to_string(pipeline.pieces() - 1) + " boundaries").c_str());
}

std::string ScheduleReport::json() const {
  const dist::Pipeline &pipeline = plan_.pipeline;
  std::vector<int64_t> pieces = plan_.pieces();
  nlohmann::ordered_json stages = nlohmann::ordered_json::array();
  for (int64_t stage = 0; stage < pipeline.stages; ++stage) {
    nlohmann::ordered_json tasks = nlohmann::ordered_json::array(), blocks = tasks;
    for (const dist::TimedTask &task : ticks_.stages[size_t(stage)])
      tasks.push_back({{"tick", task.begin},
                       {"pass", task.task.backward ? "backward" : "forward"},
                       {"micro_batch", task.task.microBatch},
                       {"chunk", task.task.chunk}});
    for (size_t block = 0; block < pieces.size(); ++block)
      if (plan_.stageOfPiece(pieces[block]) == stage)
        blocks.push_back(block);
    stages.push_back({{"stage", stage},
                      {"blocks", blocks},
                      {"flops_share", double(costOfStage(plan_, stage)) / double(costOfAll(plan_))},
                      {"idle_ticks", ticks_.idleOf(stage)},
                      {"idle_by_flops", idleShare(flops_, stage)},
                      {"held", dist::mostHeld(schedule_, stage)},
                      {"tasks", tasks}});
  }
  nlohmann::ordered_json all = {{"schedule", dist::nameOf(plan_.schedule)},
                                {"stages", pipeline.stages},
                                {"chunks", pipeline.chunks},
                                {"micro_batches", pipeline.microBatches},
                                {"ticks", ticks_.total},
                                {"bubble", dist::predictedBubble(pipeline)},
                                {"bubble_by_flops", flops_.bubble()},
                                {"messages", pipeline.messages()},
                                {"by_stage", stages}};
  return all.dump(2) + "\n";
}

std::string ScheduleReport::svg() const { return dist::drawSvg(ticks_, title(), kSvgTicks); }
