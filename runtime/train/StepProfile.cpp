#include "runtime/train/StepProfile.h"

#include "runtime/base/Clock.h"
#include "runtime/base/File.h"
#include "runtime/base/TraceFile.h"
#include "runtime/train/StageProfile.h"

#include <algorithm>
#include <cstdio>
#include <utility>

namespace minigptc::runtime {
namespace {

constexpr int kStepTrack = 0;

/// One device's instructions share the track of the steps; of many, each has its own.
struct Tracks {
  int devices, threads;
  int ofDevice(int64_t device) const {
    return devices == 1 ? kStepTrack : 1 + int(device) * (threads + 1);
  }
  int ofThread(int64_t device, int thread) const { return ofDevice(device) + 1 + thread; }
};

/// "F3", "B0"; of stages with several pieces the letter of theirs behind it, as in "F3b".
std::string labelOf(const PipelinePass &pass, const StageProfile &pipeline) {
  std::string label = (pass.backward ? "B" : "F") + std::to_string(pass.microBatch);
  int64_t chunk = pass.piece / pipeline.stages;
  if (pipeline.chunks == 1)
    return label;
  return label + (chunk < 26 ? std::string(1, char('a' + chunk)) : "." + std::to_string(chunk));
}

void nameAsPass(TraceSpan &span, const PipelinePass &pass, const StageProfile &pipeline) {
  span.arguments.emplace_back("calls", std::exchange(span.name, labelOf(pass, pipeline)));
  span.category = pass.backward ? "backward" : "forward";
  span.arguments.emplace_back("piece", double(pass.piece));
  span.arguments.emplace_back("micro-batch", double(pass.microBatch));
}

/// Shorter waits are the end of any parallel loop.
constexpr int64_t kShortestWait = 1000;

TraceSpan spanOf(const ProfiledInstruction &instruction, const Tracks &tracks) {
  const InstructionInfo &what = *instruction.what;
  TraceSpan span{.track = tracks.ofDevice(instruction.device),
                 .name = what.kind == "launch" || what.kind == "call"
                             ? what.name
                             : std::string(what.kind) + " " + what.name,
                 .category = std::string(what.kind),
                 .startNanoseconds = instruction.startNanoseconds,
                 .endNanoseconds = instruction.endNanoseconds,
                 .arguments = {}};
  double seconds = std::max(instruction.seconds(), 1e-9);
  if (!what.places.empty()) {
    span.arguments.emplace_back("at", std::string(what.userPlace()));
    span.arguments.emplace_back("lines", what.places);
  }
  if (!what.shapes.empty())
    span.arguments.emplace_back("shapes", what.shapes);
  if (what.bytes > 0) {
    span.arguments.emplace_back("bytes", what.bytes);
    span.arguments.emplace_back("GB/s", what.bytes / seconds * 1e-9);
  }
  if (what.flops > 0) {
    span.arguments.emplace_back("FLOPs", what.flops);
    span.arguments.emplace_back("GFLOP/s", what.flops / seconds * 1e-9);
  }
  return span;
}

/// What each thread did in an instruction, and that it waited for the others.
void addThreads(TraceFile &trace, const ProfiledInstruction &instruction, const Tracks &tracks) {
  size_t threads = size_t(tracks.threads);
  std::vector<int64_t> ends(threads, instruction.startNanoseconds);
  TraceSpan what = spanOf(instruction, tracks);
  for (const ThreadSpan &span : instruction.threads) {
    trace.add({.track = tracks.ofThread(instruction.device, span.thread),
               .name = what.name,
               .category = what.category,
               .startNanoseconds = span.startNanoseconds,
               .endNanoseconds = span.endNanoseconds,
               .arguments = {}});
    ends[size_t(span.thread)] = span.endNanoseconds;
  }
  if (instruction.threads.empty())
    return; // the host worked, not the threads
  for (size_t thread = 0; thread < threads; ++thread)
    if (instruction.endNanoseconds - ends[thread] >= kShortestWait)
      trace.add({.track = tracks.ofThread(instruction.device, int(thread)),
                 .name = "wait",
                 .category = "wait",
                 .startNanoseconds = ends[thread],
                 .endNanoseconds = instruction.endNanoseconds,
                 .arguments = {}});
}

} // namespace

StatusOr<std::vector<Array>> StepProfile::run(std::string_view entry, std::vector<Array> inputs) {
  return profiled(entry, [&] { return SessionProgram::run(entry, std::move(inputs)); });
}

StatusOr<std::vector<Array>> StepProfile::runInterruptibly(std::string_view entry,
                                                           std::vector<Array> &inputs) {
  return profiled(entry, [&] { return SessionProgram::runInterruptibly(entry, inputs); });
}

StatusOr<std::vector<Array>>
StepProfile::profiled(std::string_view entry,
                      const std::function<StatusOr<std::vector<Array>>()> &run) {
  if (entry != entry_ || steps_.size() >= kWarmupSteps + kSteps)
    return run();
  ProfiledStep &step = steps_.emplace_back();
  step.instructions.reserve(steps_[0].instructions.size());
  session_.profile([&step](const InstructionEvent &event) {
    step.instructions.push_back({&event.what,
                                 event.startNanoseconds,
                                 event.endNanoseconds,
                                 {event.threads.begin(), event.threads.end()},
                                 event.device});
  });
  step.startNanoseconds = nanosecondsNow();
  StatusOr<std::vector<Array>> outputs = run();
  step.endNanoseconds = nanosecondsNow();
  session_.profile({});
  if (!outputs)
    steps_.pop_back();
  return outputs;
}

std::span<const ProfiledStep> StepProfile::steps() const {
  std::span<const ProfiledStep> all(steps_);
  return all.size() > kWarmupSteps ? all.subspan(kWarmupSteps) : all;
}

std::string StepProfile::trace() const {
  if (steps().empty())
    return "";
  Tracks tracks{int(session_.devices()), session_.threads()};
  std::optional<StageProfile> pipeline = StageProfile::measure(steps(), session_.mesh());
  TraceFile trace("minigptc on " + session_.deviceName());
  if (pipeline)
    trace.addMember("pipeline", pipeline->json());
  trace.nameTrack(kStepTrack, entry_);
  DeviceRange here = session_.here();
  for (int64_t device = here.first; device < here.first + here.count; ++device) {
    std::string name;
    if (tracks.devices > 1) {
      name = "device " + std::to_string(device);
      if (pipeline)
        name += ", stage " + std::to_string(session_.mesh().coordinate(device, kStageAxis));
      trace.nameTrack(tracks.ofDevice(device), name);
    }
    for (int thread = 0; thread < tracks.threads; ++thread)
      trace.nameTrack(tracks.ofThread(device, thread),
                      (name.empty() ? "" : name + ", ") + "thread " + std::to_string(thread));
  }
  for (const ProfiledStep &step : steps()) {
    trace.add({.track = kStepTrack,
               .name = entry_,
               .category = "step",
               .startNanoseconds = step.startNanoseconds,
               .endNanoseconds = step.endNanoseconds,
               .arguments = {}});
    for (const ProfiledInstruction &instruction : step.instructions) {
      TraceSpan span = spanOf(instruction, tracks);
      if (instruction.what->pass)
        nameAsPass(span, *instruction.what->pass, *pipeline);
      trace.add(std::move(span));
      addThreads(trace, instruction, tracks);
    }
  }
  return trace.toJson();
}

Status writeProfile(const StepProfile &profile, const std::string &path) {
  std::string trace = profile.trace();
  if (trace.empty()) {
    std::fprintf(stderr, "no step was run: '%s' is not written\n", path.c_str());
    return Status::success();
  }
  MINIGPTC_RETURN_IF_ERROR(writeFileAtomically(path, std::string_view(trace)));
  std::fprintf(stderr, "%s\n%s: the same as a timeline, for ui.perfetto.dev\n",
               profile.report().c_str(), path.c_str());
  return Status::success();
}

} // namespace minigptc::runtime
