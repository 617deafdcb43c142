//===- ScheduleReport.h - a pipeline's schedule for people ------*- C++ -*-===//
//
// What `explain --schedule` says: the picture, ticks x stages; which blocks a stage has; how long
// it waits; and what the waiting comes to (the bubble), of stages that cost the same, by the
// FLOPs of these, and by what was measured.
//
//   StatusOr<ModelSharding> sharding = shardingOf(config);
//   ScheduleReport report(*sharding, config);
//   if (Status status = report.measure(costs); !status) …   // costs of another model
//   report.text(); report.json(); report.svg();
//
//===----------------------------------------------------------------------===//
#ifndef MINIGPTC_TOOLS_MINIGPTC_SCHEDULEREPORT_H
#define MINIGPTC_TOOLS_MINIGPTC_SCHEDULEREPORT_H

#include "dialects/dist/Schedules/Simulation.h"
#include "models/ModelSharding.h"
#include "runtime/train/PipelineCosts.h"

#include <optional>

namespace minigptc {

class ScheduleReport {
public:
  /// `sharding` has stages.
  ScheduleReport(const ModelSharding &sharding, const runtime::RunConfig &config);

  /// From now on with times of a model of as many blocks, on these stages or others.
  runtime::Status measure(const runtime::PipelineCosts &costs);
  std::string text() const;
  std::string json() const;
  /// A document of its own.
  std::string svg() const;

private:
  std::string title() const;
  std::string table() const;
  std::string bubbles() const;
  std::string flopsOrCosts() const { return plan_.isMeasured ? "stage_costs" : "FLOPs"; }

  StagePlan plan_;
  int64_t sequences_; ///< of a micro-batch
  int64_t devicesOfStage_;
  dist::Schedule schedule_;
  dist::Simulation ticks_;                ///< each pass takes one
  dist::Simulation flops_;                ///< by what they cost
  std::optional<dist::Simulation> times_; ///< in nanoseconds, if they were measured
};

} // namespace minigptc

#endif // MINIGPTC_TOOLS_MINIGPTC_SCHEDULEREPORT_H
