#include "runtime/train/StageProfile.h"

#include <algorithm>
#include <map>
#include <utility>

namespace minigptc::runtime {
namespace {

/// A pass or a message of a device, with the layers that a pass consists of.
struct Span {
  int64_t start = 0, end = 0;
  std::optional<PipelinePass> pass;
  std::vector<int64_t> layers; ///< how long each takes
};

/// One device in one step.
struct DeviceRun {
  std::vector<Span> spans;
  std::vector<int64_t> layers; ///< of the pass that is going on
  int64_t end = 0;             ///< of the last instruction
};
using Runs = std::map<int64_t, DeviceRun>;

int64_t medianOf(std::vector<int64_t> values) {
  if (values.empty())
    return 0;
  auto middle = values.begin() + ptrdiff_t(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

int64_t &partOf(PassCost &cost, bool backward) { return backward ? cost.backward : cost.forward; }

/// By piece and way.
using Way = std::pair<int64_t, bool>;

class Measurement {
public:
  explicit Measurement(const Mesh &mesh) : mesh_(mesh) { profile_.stages = mesh.size(kStageAxis); }

  void add(const ProfiledStep &step) {
    Runs runs;
    int64_t begin = step.endNanoseconds, end = step.startNanoseconds;
    for (const ProfiledInstruction &instruction : step.instructions) {
      begin = std::min(begin, instruction.startNanoseconds);
      if (instruction.what->pass)
        end = std::max(end, instruction.endNanoseconds);
      add(instruction, runs[instruction.device]);
    }
    if (end <= begin)
      return;
    ++steps_;
    profile_.step += double(step.endNanoseconds - step.startNanoseconds);
    profile_.passes += double(end - begin);
    for (const auto &[device, run] : runs) {
      times_[device] += timesOf(run, begin, end);
      for (size_t i = 0; i < run.spans.size(); ++i)
        if (run.spans[i].pass)
          addSample(run.spans, i);
      if (int64_t stage = stageOf(device); !orders_.contains(stage))
        orders_[stage] = orderOf(run);
    }
  }

  std::optional<StageProfile> finish() {
    if (samples_.empty())
      return std::nullopt;
    double each = 1 / double(steps_);
    profile_.step *= each;
    profile_.passes *= each;
    for (const auto &[device, times] : times_)
      profile_.devices.push_back({device, stageOf(device), times * each});
    std::ranges::stable_sort(profile_.devices, {}, &DeviceTimes::stage);
    int64_t last = samples_.rbegin()->first.first;
    profile_.chunks = last / profile_.stages + 1;
    profile_.pieces.resize(size_t(profile_.chunks * profile_.stages));
    for (const auto &[way, samples] : samples_)
      partOf(profile_.pieces[size_t(way.first)], way.second) = medianOf(samples);
    if (samples_.size() == 2 * profile_.pieces.size()) { // All stages are here.
      profile_.costs = costs();
      predict();
    }
    return std::move(profile_);
  }

private:
  int64_t stageOf(int64_t device) const { return mesh_.coordinate(device, kStageAxis); }

  /// A call comes after what is inside of it.
  static void add(const ProfiledInstruction &instruction, DeviceRun &run) {
    const InstructionInfo &what = *instruction.what;
    run.end = std::max(run.end, instruction.endNanoseconds);
    Span span{instruction.startNanoseconds, instruction.endNanoseconds, what.pass, {}};
    if (what.pass) {
      span.layers = std::exchange(run.layers, {});
      // With one micro-batch each layer is a call that says which pass it is of.
      if (!run.spans.empty() && run.spans.back().pass == what.pass)
        run.spans.back().end = span.end;
      else
        run.spans.push_back(std::move(span));
    } else if (what.isLayer) {
      run.layers.push_back(span.end - span.start);
    } else if (what.kind == "send" || what.kind == "recv") {
      run.spans.push_back(std::move(span));
    }
  }

  static StageTimes timesOf(const DeviceRun &run, int64_t begin, int64_t end) {
    StageTimes times;
    times.idle = double(std::max<int64_t>(end - std::max(run.end, begin), 0));
    for (const Span &span : run.spans) {
      auto inside = double(std::max<int64_t>(std::min(span.end, end) - span.start, 0));
      (span.pass ? span.pass->backward ? times.backward : times.forward : times.idle) += inside;
    }
    times.other = double(end - begin) - times.forward - times.backward - times.idle;
    return times;
  }

  void addSample(const std::vector<Span> &spans, size_t number) {
    const Span &span = spans[number];
    // What follows the last pass is the update.
    auto isPass = [](const Span &other) { return other.pass.has_value(); };
    bool isLast = std::none_of(spans.begin() + ptrdiff_t(number) + 1, spans.end(), isPass);
    int64_t end = isLast ? span.end : spans[number + 1].start;
    Way way{span.pass->piece, span.pass->backward};
    samples_[way].push_back(end - span.start);
    std::vector<std::vector<int64_t>> &layers = layers_[way];
    layers.resize(std::max(layers.size(), span.layers.size()));
    for (size_t i = 0; i < span.layers.size(); ++i)
      layers[i].push_back(span.layers[i]);
    profile_.microBatches = std::max(profile_.microBatches, span.pass->microBatch + 1);
  }

  static std::vector<PipelinePass> orderOf(const DeviceRun &run) {
    std::vector<PipelinePass> order;
    for (const Span &span : run.spans)
      if (span.pass)
        order.push_back(*span.pass);
    return order;
  }

  /// What a pass takes beyond its layers is the embedding's in the first piece, the head's in the
  /// last, and shared by the layers between.
  std::optional<PipelineCosts> costs() {
    PipelineCosts costs;
    size_t first = 0, last = profile_.pieces.size() - 1;
    for (size_t piece = 0; piece <= last; ++piece) {
      size_t blocks = layers_[{int64_t(piece), false}].size(), before = costs.blocks.size();
      if (blocks == 0 || layers_[{int64_t(piece), true}].size() != blocks)
        return std::nullopt;
      costs.blocks.resize(before + blocks);
      for (bool backward : {false, true}) {
        int64_t rest = partOf(profile_.pieces[piece], backward);
        const auto &layers = layers_[{int64_t(piece), backward}];
        for (size_t i = 0; i < blocks; ++i) {
          size_t block = before + (backward ? blocks - 1 - i : i);
          int64_t own = medianOf(layers[i]);
          partOf(costs.blocks[block], backward) = own;
          rest -= own;
        }
        rest = std::max<int64_t>(rest, 0); // Medians of parts need not add up.
        if (piece == first)
          partOf(costs.embedding, backward) += rest;
        else if (piece == last)
          partOf(costs.head, backward) += rest;
        else
          for (size_t i = before; i < before + blocks; ++i)
            partOf(costs.blocks[i], backward) += rest / int64_t(blocks);
      }
    }
    return costs;
  }

  /// Passes in the order in which stages worked, each as soon as its stage is free and what it
  /// needs is there.
  void predict() {
    std::map<std::pair<Way, int64_t>, int64_t> ends; // By way and micro-batch.
    std::vector<size_t> next(size_t(profile_.stages));
    std::vector<int64_t> clocks(next.size()), busy(next.size());
    auto last = int64_t(profile_.pieces.size()) - 1;
    auto begin = [&](const PipelinePass &pass) -> std::optional<int64_t> {
      int64_t before = pass.piece + (pass.backward ? 1 : -1);
      if (before < 0 || before > last)
        return 0;
      auto found = ends.find({{before, pass.backward}, pass.microBatch});
      return found == ends.end() ? std::nullopt : std::optional(found->second);
    };
    for (bool goesOn = true; std::exchange(goesOn, false);)
      for (size_t stage = 0; stage < next.size(); ++stage)
        for (const auto &order = orders_[int64_t(stage)]; next[stage] < order.size();
             ++next[stage], goesOn = true) {
          const PipelinePass &pass = order[next[stage]];
          std::optional<int64_t> ready = begin(pass);
          if (!ready)
            break;
          int64_t cost = partOf(profile_.pieces[size_t(pass.piece)], pass.backward);
          clocks[stage] = std::max(clocks[stage], *ready) + cost;
          busy[stage] += cost;
          ends[{{pass.piece, pass.backward}, pass.microBatch}] = clocks[stage];
        }
    profile_.predictedPasses = *std::ranges::max_element(clocks);
    for (int64_t work : busy)
      profile_.predictedIdle.push_back(profile_.predictedPasses - work);
  }

  const Mesh &mesh_;
  StageProfile profile_;
  int64_t steps_ = 0;
  std::map<int64_t, StageTimes> times_; ///< by device
  std::map<Way, std::vector<int64_t>> samples_;
  std::map<Way, std::vector<std::vector<int64_t>>> layers_; ///< in the order of work
  std::map<int64_t, std::vector<PipelinePass>> orders_;     ///< by stage
};

} // namespace

StageTimes &StageTimes::operator+=(const StageTimes &more) {
  forward += more.forward, backward += more.backward;
  idle += more.idle, other += more.other;
  return *this;
}

StageTimes StageTimes::operator*(double factor) const {
  return {forward * factor, backward * factor, idle * factor, other * factor};
}

std::optional<StageProfile> StageProfile::measure(std::span<const ProfiledStep> steps,
                                                  const Mesh &mesh) {
  Measurement measurement(mesh);
  for (const ProfiledStep &step : steps)
    measurement.add(step);
  return measurement.finish();
}

StageTimes StageProfile::meanOf(int64_t stage) const {
  StageTimes sum;
  int64_t count = 0;
  for (const DeviceTimes &device : devices)
    if (device.stage == stage)
      sum += device.times, ++count;
  return count > 0 ? sum * (1 / double(count)) : sum;
}

double StageProfile::bubble() const {
  double idle = 0;
  for (const DeviceTimes &device : devices)
    idle += device.times.idle;
  return idle / (passes * double(devices.size()));
}

double StageProfile::predictedBubble() const {
  double idle = 0;
  for (int64_t stage : predictedIdle)
    idle += double(stage);
  return predictedPasses > 0 ? idle / (double(predictedPasses) * double(predictedIdle.size())) : 0;
}

} // namespace minigptc::runtime
