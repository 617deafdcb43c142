//===- Simulation.h - when the stages of a pipeline work --------*- C++ -*-===//
//
// Runs a schedule in simulated time: a stage does its actions in order; a task takes as long as
// the costs say; a message arrives so long after it was sent, and after those before it from
// the same stage. Sending takes the stage no time, unless `queueDepth` messages from it to
// the same stage are still to be received: then it waits.
//
//   Simulation run = simulate(schedule, {.forward = {3, 3}, .backward = {6, 6}, .message = 1});
//   run.total, run.idleOf(0);     // in the units of the costs
//   run.bubble();                 // idle of all stages, of all stages' time
//
// Times are integers, so that what is equal is exactly equal.
//
//===----------------------------------------------------------------------===//
#ifndef MINIGPTC_DIALECTS_DIST_SCHEDULES_SIMULATION_H
#define MINIGPTC_DIALECTS_DIST_SCHEDULES_SIMULATION_H

#include "dialects/dist/Schedules/Schedules.h"

namespace minigptc::dist {

struct StageCosts {
  /// Of one micro-batch, by piece (chunk · G + stage).
  std::vector<int64_t> forward, backward;
  int64_t message = 0;    ///< from sending to arrival
  int64_t queueDepth = 0; ///< of messages from one stage to another; 0: no limit

  /// The same for all pieces.
  static StageCosts equal(const Pipeline &pipeline, int64_t forward, int64_t backward);
};

struct TimedTask {
  StageTask task;
  int64_t begin = 0, end = 0;
};

struct Simulation {
  Pipeline pipeline;
  std::vector<std::vector<TimedTask>> stages; ///< by stage
  int64_t total = 0;                          ///< when the last task ends
  /// Stages that wait for each other; then times mean nothing.
  bool deadlocked = false;

  int64_t busyOf(int64_t stage) const;
  int64_t idleOf(int64_t stage) const { return total - busyOf(stage); }
  int64_t idle() const;
  double bubble() const;
};

Simulation simulate(const Schedule &schedule, const StageCosts &costs);
/// Of actions in any order.
Simulation simulate(const Pipeline &pipeline, const std::vector<std::vector<StageAction>> &actions,
                    const StageCosts &costs);

/// G−1 of M+G−1 ticks for gpipe and 1f1b, G−1 of v·M+G−1 for interleaved: with equal costs and
/// messages that take no time.
double predictedBubble(const Pipeline &pipeline);

} // namespace minigptc::dist

#endif // MINIGPTC_DIALECTS_DIST_SCHEDULES_SIMULATION_H
