//===- ScheduleReport.h - a pipeline's schedule for people ------*- C++ -*-===//
//
// What `explain --schedule` says: the picture, ticks x stages; which blocks a stage has; how long
// it waits; and what the waiting comes to (the bubble), of stages that cost the same and by the
// FLOPs of these.
//
//   StatusOr<StagePlan> plan = stagePlanOf(config);
//   ScheduleReport report(*plan, config);
//   report.text(); report.json(); report.svg();
//
//===----------------------------------------------------------------------===//
#ifndef MINIGPTC_TOOLS_MINIGPTC_SCHEDULEREPORT_H
#define MINIGPTC_TOOLS_MINIGPTC_SCHEDULEREPORT_H

#include "dialects/dist/Schedules/Simulation.h"
#include "models/Stages.h"

namespace minigptc {

class ScheduleReport {
public:
  ScheduleReport(const StagePlan &plan, const runtime::RunConfig &config);

  std::string text() const;
  std::string json() const;
  /// A document of its own.
  std::string svg() const;

private:
  std::string title() const;
  std::string table() const;
  std::string bubbles() const;

  StagePlan plan_;
  int64_t sequences_; ///< of a micro-batch
  int64_t devicesOfStage_;
  dist::Schedule schedule_;
  dist::Simulation ticks_; ///< each pass takes one
  dist::Simulation flops_; ///< by what they cost
};

} // namespace minigptc

#endif // MINIGPTC_TOOLS_MINIGPTC_SCHEDULEREPORT_H
