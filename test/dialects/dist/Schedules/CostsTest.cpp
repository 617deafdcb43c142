// Idle times of stages that cost what they cost, against a clock that ticks.
#include "dialects/dist/Schedules/Simulation.h"

#include <catch2/catch.hpp>

#include <map>
#include <random>
#include <tuple>

using namespace minigptc::dist;

namespace {

/// How many ticks each stage is idle, and how many there are: in each, a stage goes on with its
/// task, or begins its next one if all that it needs has been made before.
struct Clock {
  std::vector<int64_t> idle;
  int64_t ticks = 0;
};

Clock runTickByTick(const Schedule &schedule, const StageCosts &costs) {
  const Pipeline &pipeline = schedule.pipeline;
  using Key = std::tuple<bool, int64_t, int64_t>; // Backward, piece, micro-batch.
  std::map<Key, int64_t> madeAt;
  std::vector<size_t> next(schedule.stages.size());
  std::vector<int64_t> left(next.size());
  Clock clock{std::vector<int64_t>(next.size()), 0};
  auto hasAll = [&](const StageTask &task, int64_t piece) {
    int64_t before = piece + (task.backward ? 1 : -1);
    if (before < 0 || before == pipeline.pieces())
      return true;
    auto found = madeAt.find({task.backward, before, task.microBatch});
    return found != madeAt.end() && found->second <= clock.ticks;
  };
  auto isDone = [&] {
    for (size_t stage = 0; stage < next.size(); ++stage)
      if (next[stage] < schedule.stages[stage].size())
        return false;
    return true;
  };
  for (; !isDone(); ++clock.ticks)
    for (size_t stage = 0; stage < next.size(); ++stage) {
      if (next[stage] == schedule.stages[stage].size()) {
        ++clock.idle[stage];
        continue;
      }
      const StageTask &task = schedule.stages[stage][next[stage]];
      int64_t piece = task.chunk * pipeline.stages + int64_t(stage);
      if (left[stage] == 0) {
        if (!hasAll(task, piece)) {
          ++clock.idle[stage];
          continue;
        }
        left[stage] = (task.backward ? costs.backward : costs.forward)[size_t(piece)];
      }
      if (--left[stage] == 0) {
        madeAt[{task.backward, piece, task.microBatch}] = clock.ticks + 1;
        ++next[stage];
      }
    }
  return clock;
}

} // namespace

TEST_CASE("idle times of unequal stages are those of a clock that ticks") {
  std::mt19937 random(11);
  for (ScheduleKind kind :
       {ScheduleKind::gpipe, ScheduleKind::oneForwardOneBackward, ScheduleKind::interleaved})
    for (int64_t stages = 1; stages <= 4; ++stages)
      for (int64_t microBatches = 1; microBatches <= 8; ++microBatches)
        for (int64_t chunks = 1; chunks <= 2; ++chunks) {
          Pipeline pipeline{microBatches, stages, chunks};
          if (!whyNot(kind, pipeline).empty())
            continue;
          INFO(nameOf(kind) << ", " << microBatches << " micro-batches, " << stages << " stages, "
                            << chunks << " chunks");
          Schedule schedule = makeSchedule(kind, pipeline);
          StageCosts costs = StageCosts::equal(pipeline, 0, 0);
          for (std::vector<int64_t> *each : {&costs.forward, &costs.backward})
            for (int64_t &cost : *each)
              cost = 1 + int64_t(random() % 9);
          Simulation run = simulate(schedule, costs);
          Clock clock = runTickByTick(schedule, costs);
          CHECK(run.total == clock.ticks);
          for (int64_t stage = 0; stage < stages; ++stage)
            CHECK(run.idleOf(stage) == clock.idle[size_t(stage)]);
        }
}

TEST_CASE("equal stages of gpipe are idle for exactly G-1 of M+G-1, whatever passes cost") {
  for (int64_t stages = 1; stages <= 5; ++stages)
    for (int64_t microBatches = 1; microBatches <= 9; ++microBatches) {
      Pipeline pipeline{microBatches, stages};
      Simulation run =
          simulate(makeSchedule(ScheduleKind::gpipe, pipeline), StageCosts::equal(pipeline, 3, 7));
      for (int64_t stage = 0; stage < stages; ++stage)
        CHECK(run.idleOf(stage) * (microBatches + stages - 1) == run.total * (stages - 1));
    }
}

TEST_CASE("a long schedule is no other than a short one") {
  for (ScheduleKind kind : {ScheduleKind::oneForwardOneBackward, ScheduleKind::interleaved}) {
    Pipeline pipeline{100'000, 4, kind == ScheduleKind::interleaved ? 2 : 1};
    Simulation run = simulate(makeSchedule(kind, pipeline), StageCosts::equal(pipeline, 1, 1));
    CHECK_FALSE(run.deadlocked);
    CHECK(run.total == 2 * (pipeline.chunks * pipeline.microBatches + pipeline.stages - 1));
  }
}
