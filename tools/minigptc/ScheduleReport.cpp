//===- ScheduleReport.cpp - a pipeline's schedule for people --------------===//
#include "tools/minigptc/ScheduleReport.h"

#include "dialects/dist/Schedules/Picture.h"
#include "runtime/base/Format.h"
#include "tools/minigptc/TextTable.h"

#include <nlohmann/json.hpp>

using namespace minigptc;
using runtime::counted;
using runtime::format;

namespace {

/// More ticks than that are drawn several at a time.
constexpr int64_t kTextTicks = 64, kSvgTicks = 400;

std::string percent(double share) { return format("%.1f %%", 100 * share); }

/// A matrix product's backward pass is two such products.
dist::StageCosts costsOf(const StagePlan &plan) {
  dist::StageCosts costs{.forward = plan.costs, .backward = plan.costs};
  for (int64_t &cost : costs.backward)
    cost *= 2;
  return costs;
}

/// "embedding, blocks 0 to 3".
std::string contentsOf(const StagePlan &plan, int64_t stage) {
  std::string text = stage == 0 ? "embedding, " : "";
  text += plan.blocksOfStage(stage);
  return text + (stage == plan.pipeline.stages - 1 ? ", head" : "");
}

std::string milliseconds(int64_t nanoseconds) { return format("%.3f", double(nanoseconds) * 1e-6); }

double idleShare(const dist::Simulation &run, int64_t stage) {
  return run.total > 0 ? double(run.idleOf(stage)) / double(run.total) : 0;
}

} // namespace

ScheduleReport::ScheduleReport(const ModelSharding &sharding, const runtime::RunConfig &config)
    : plan_(*sharding.stages), schedule_(dist::makeSchedule(plan_.schedule, plan_.pipeline)),
      ticks_(dist::simulate(schedule_, dist::StageCosts::equal(plan_.pipeline, 1, 1))),
      flops_(dist::simulate(schedule_, costsOf(plan_))) {
  devicesOfStage_ = sharding.mesh.numDevices() / plan_.pipeline.stages;
  sequences_ = sequencesOfReplica(config, sharding) / plan_.pipeline.microBatches;
}

runtime::Status ScheduleReport::measure(const runtime::PipelineCosts &costs) {
  if (int64_t(costs.blocks.size()) != plan_.numBlocks())
    return runtime::Status(runtime::StatusCode::invalidArgument,
                           "the costs are of " + counted(int64_t(costs.blocks.size()), "block") +
                               ", but model.num_layers is " + std::to_string(plan_.numBlocks()))
        .withHelp("costs are of the model that was profiled, and of its micro-batches");
  dist::StageCosts times = dist::StageCosts::equal(plan_.pipeline, 0, 0);
  auto add = [&](int64_t piece, const runtime::PassCost &cost) {
    times.forward[size_t(piece)] += cost.forward;
    times.backward[size_t(piece)] += cost.backward;
  };
  add(0, costs.embedding);
  std::vector<int64_t> pieces = plan_.pieces();
  for (size_t block = 0; block < pieces.size(); ++block)
    add(pieces[block], costs.blocks[block]);
  add(plan_.pipeline.pieces() - 1, costs.head);
  times_ = dist::simulate(schedule_, times);
  return {};
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
  std::vector<std::string> header = {"stage", flopsOrCosts(), "idle ticks",
                                     "idle by " + flopsOrCosts()};
  if (times_)
    header.insert(header.end(), {"busy ms", "idle ms", "idle by time"});
  size_t numbers = header.size();
  header.insert(header.end(), {"holds at most", "has"});
  TextTable table(std::move(header), /*firstNumber=*/0, numbers);
  std::string what = plan_.pipeline.chunks > 1 ? "pass" : "micro-batch";
  for (int64_t stage = 0; stage < plan_.pipeline.stages; ++stage) {
    std::vector<std::string> row = {
        std::to_string(stage),
        percent(double(plan_.costOfStage(stage)) / double(plan_.costOfAll())),
        std::to_string(ticks_.idleOf(stage)) + " of " + std::to_string(ticks_.total),
        percent(idleShare(flops_, stage))};
    if (times_)
      row.insert(row.end(),
                 {milliseconds(times_->busyOf(stage)), milliseconds(times_->idleOf(stage)),
                  percent(idleShare(*times_, stage))});
    row.insert(row.end(),
               {counted(dist::mostHeld(schedule_, stage), what), contentsOf(plan_, stage)});
    table.add(std::move(row));
  }
  return table.print(/*markdown=*/false);
}

std::string ScheduleReport::bubbles() const {
  const dist::Pipeline &pipeline = plan_.pipeline;
  int64_t passes = pipeline.chunks * pipeline.microBatches;
  std::string text =
      format("bubble: %s, (G-1)/(%s+G-1) = %lld/%lld, of stages that cost the same; "
             "%s by %s\n",
             percent(dist::predictedBubble(pipeline)).c_str(), pipeline.chunks > 1 ? "vM" : "M",
             (long long)(pipeline.stages - 1), (long long)(passes + pipeline.stages - 1),
             percent(flops_.bubble()).c_str(),
             plan_.isMeasured ? "sharding.stage_costs" : "the FLOPs of matrix products");
  if (times_)
    text += "        " + percent(times_->bubble()) + " by measured times, where all passes take " +
            milliseconds(times_->total) + " ms\n";
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
    nlohmann::ordered_json one = {
        {"stage", stage},
        {"blocks", blocks},
        {"flops_share", double(plan_.costOfStage(stage)) / double(plan_.costOfAll())},
        {"idle_ticks", ticks_.idleOf(stage)},
        {"idle_by_flops", idleShare(flops_, stage)},
        {"held", dist::mostHeld(schedule_, stage)}};
    if (times_) {
      one["busy_ns"] = times_->busyOf(stage);
      one["idle_ns"] = times_->idleOf(stage);
      one["idle_by_time"] = idleShare(*times_, stage);
    }
    one["tasks"] = std::move(tasks);
    stages.push_back(std::move(one));
  }
  nlohmann::ordered_json all = {{"schedule", dist::nameOf(plan_.schedule)},
                                {"stages", pipeline.stages},
                                {"chunks", pipeline.chunks},
                                {"micro_batches", pipeline.microBatches},
                                {"ticks", ticks_.total},
                                {"bubble", dist::predictedBubble(pipeline)},
                                {"bubble_by_flops", flops_.bubble()},
                                {"messages", pipeline.messages()}};
  if (times_) {
    all["passes_ns"] = times_->total;
    all["bubble_by_time"] = times_->bubble();
  }
  all["by_stage"] = std::move(stages);
  return all.dump(2) + "\n";
}

std::string ScheduleReport::svg() const {
  return times_ ? dist::drawTimes(*times_, title()) : dist::drawSvg(ticks_, title(), kSvgTicks);
}
