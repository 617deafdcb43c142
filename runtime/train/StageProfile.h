//===- StageProfile.h - what the stages of a pipeline do --------*- C++ -*-===//
//
// Of the profiled steps of a pipeline: how long each stage's devices compute forward and backward
// passes and how long they wait, beside how long they should by what the passes cost.
//
//   std::optional<StageProfile> stages = StageProfile::measure(profile.steps(), session.mesh());
//   fputs(stages->report().c_str(), stderr);
//
// The passes' part of a step is from its beginning to the end of the last pass on any device; the
// update behind it is another matter. There
//
//   forward + backward + idle + other = passes' time
//
// for each device: idle is waiting for a message (sending and receiving it included), and whatever
// comes after the device's last instruction; other is what is in no pass, as what is added up
// between them. The bubble is the share of idle time, of all devices.
//
//===----------------------------------------------------------------------===//
#ifndef MINIGPTC_RUNTIME_TRAIN_STAGEPROFILE_H
#define MINIGPTC_RUNTIME_TRAIN_STAGEPROFILE_H

#include "minigptc/runtime/Mesh.h"
#include "runtime/train/PipelineCosts.h"
#include "runtime/train/StepProfile.h"

#include <optional>
#include <span>

namespace minigptc::runtime {

/// Nanoseconds of a step, the mean over steps.
struct StageTimes {
  double forward = 0, backward = 0, idle = 0, other = 0;

  StageTimes &operator+=(const StageTimes &more);
  StageTimes operator*(double factor) const;
};

struct DeviceTimes {
  int64_t device = 0, stage = 0;
  StageTimes times = {};
};

struct StageProfile {
  int64_t stages = 1, chunks = 1, microBatches = 0;
  /// Nanoseconds, the mean over steps: of passes, and of all.
  double passes = 0, step = 0;
  std::vector<DeviceTimes> devices; ///< of this process, by stage
  /// By piece, the median: a pass, with what follows it up to the next pass or message.
  std::vector<PassCost> pieces;
  /// Of the parts of the model; none: some stage is another process's, or passes are no more than
  /// their layers, as with one micro-batch.
  std::optional<PipelineCosts> costs;
  /// By stage, nanoseconds: how long it waits if each pass takes what its piece costs, and messages
  /// no time; and how long passes take then. Empty where stages are missing.
  std::vector<int64_t> predictedIdle = {};
  int64_t predictedPasses = 0;

  /// None if nothing in the steps is a pass.
  static std::optional<StageProfile> measure(std::span<const ProfiledStep> steps, const Mesh &mesh);

  /// The mean over the devices of a stage; all zero if there are none here.
  StageTimes meanOf(int64_t stage) const;
  double bubble() const;
  double predictedBubble() const;
  /// A table for people, several lines.
  std::string report() const;
  /// A JSON object; see PipelineCosts.h for `costs`.
  std::string json() const;
};

} // namespace minigptc::runtime

#endif // MINIGPTC_RUNTIME_TRAIN_STAGEPROFILE_H
