// The table and the JSON object of a StageProfile.
#include "runtime/base/Format.h"
#include "runtime/train/StageProfile.h"

#include <nlohmann/json.hpp>

#include <algorithm>

namespace minigptc::runtime {
namespace {

using Json = nlohmann::ordered_json;

Json toJson(const PassCost &cost) {
  return {{"forward_ns", cost.forward}, {"backward_ns", cost.backward}};
}

Json toJson(const StageTimes &times) {
  return {{"forward_ns", times.forward},
          {"backward_ns", times.backward},
          {"idle_ns", times.idle},
          {"other_ns", times.other}};
}

Json toJson(const PipelineCosts &costs) {
  Json blocks = Json::array();
  for (const PassCost &block : costs.blocks)
    blocks.push_back(toJson(block));
  return {{"embedding", toJson(costs.embedding)}, {"blocks", blocks}, {"head", toJson(costs.head)}};
}

std::string row(const std::string &stage, const std::string &device, const StageTimes &times,
                double passes) {
  return format("%7s  %6s  %10.3f  %11.3f  %8.3f  %7.3f  %6.1f%%", stage.c_str(), device.c_str(),
                times.forward * 1e-6, times.backward * 1e-6, times.other * 1e-6, times.idle * 1e-6,
                100 * times.idle / passes);
}

} // namespace

std::string StageProfile::report() const {
  std::string text = format("stages of the pipeline: passes take %.3f ms of a step's %.3f\n",
                            passes * 1e-6, step * 1e-6);
  text += "  stage  device  forward ms  backward ms  other ms  idle ms     idle";
  text += predictedIdle.empty() ? "\n" : "  by costs\n";
  for (int64_t stage = 0; stage < stages; ++stage) {
    int64_t here = std::ranges::count(devices, stage, &DeviceTimes::stage);
    if (here == 0)
      continue; // Another process has it.
    bool isOne = here == 1;
    std::string number = std::to_string(stage);
    auto first = std::ranges::find(devices, stage, &DeviceTimes::stage);
    text += row(number, isOne ? std::to_string(first->device) : "mean", meanOf(stage), passes);
    if (!predictedIdle.empty())
      text += format("  %7.1f%%", 100 * double(predictedIdle[size_t(stage)]) /
                                      double(std::max<int64_t>(predictedPasses, 1)));
    text += "\n";
    for (const DeviceTimes &device : devices)
      if (!isOne && device.stage == stage)
        text += row("", std::to_string(device.device), device.times, passes) + "\n";
  }
  int64_t passesOfStage = chunks * microBatches;
  text += format("bubble: %.1f %% measured", 100 * bubble());
  if (!predictedIdle.empty())
    text += format("; %.1f %% by what passes cost", 100 * predictedBubble());
  text +=
      format("; (G-1)/(%s+G-1) = %.1f %% of stages that cost the same\n", chunks > 1 ? "vM" : "M",
             100 * double(stages - 1) / double(passesOfStage + stages - 1));
  if (!costs)
    return text;
  std::string list;
  for (int64_t cost : costs->microseconds())
    list += (list.empty() ? "" : ",") + std::to_string(cost);
  return text +
         "blocks by what they cost: --set sharding.stage_balance=cost --set "
         "sharding.stage_costs=[" +
         list + "]\n";
}

std::string StageProfile::json() const {
  Json byStage = Json::array(), byDevice = byStage, byPiece = byStage;
  for (int64_t stage = 0; stage < stages; ++stage) {
    if (std::ranges::count(devices, stage, &DeviceTimes::stage) == 0)
      continue;
    Json times = {{"stage", stage}};
    times.update(toJson(meanOf(stage)));
    if (!predictedIdle.empty())
      times["predicted_idle_ns"] = predictedIdle[size_t(stage)];
    byStage.push_back(times);
  }
  for (const DeviceTimes &device : devices) {
    Json times = {{"device", device.device}, {"stage", device.stage}};
    times.update(toJson(device.times));
    byDevice.push_back(times);
  }
  for (const PassCost &piece : pieces)
    byPiece.push_back(toJson(piece));
  Json all = {{"stages", stages},    {"chunks", chunks},      {"micro_batches", microBatches},
              {"step_ns", step},     {"passes_ns", passes},   {"bubble", bubble()},
              {"by_stage", byStage}, {"by_device", byDevice}, {"by_piece", byPiece}};
  if (!predictedIdle.empty()) {
    all["predicted_passes_ns"] = predictedPasses;
    all["predicted_bubble"] = predictedBubble();
  }
  if (costs)
    all["costs"] = toJson(*costs);
  return all.dump(1);
}

} // namespace minigptc::runtime
