// Every schedule of small pipelines: complete, in an order that its dependencies allow, without
// a deadlock for any depth of the queues, with the bubble and the memory that theory says.
#include "dialects/dist/Schedules/Simulation.h"

#include <catch2/catch.hpp>

#include <algorithm>
#include <map>
#include <random>
#include <set>
#include <tuple>

using namespace minigptc::dist;

namespace {

/// Calls `test` with all schedules of up to 6 stages, 12 micro-batches and 3 chunks.
template <typename Test> void forAll(Test test) {
  for (ScheduleKind kind :
       {ScheduleKind::gpipe, ScheduleKind::oneForwardOneBackward, ScheduleKind::interleaved})
    for (int64_t stages = 1; stages <= 6; ++stages)
      for (int64_t microBatches = 1; microBatches <= 12; ++microBatches)
        for (int64_t chunks = 1; chunks <= 3; ++chunks) {
          Pipeline pipeline{microBatches, stages, chunks};
          if (!whyNot(kind, pipeline).empty())
            continue;
          INFO(nameOf(kind) << ", " << microBatches << " micro-batches, " << stages << " stages, "
                            << chunks << " chunks");
          test(makeSchedule(kind, pipeline));
        }
}

Simulation simulated(const Schedule &schedule, int64_t depth = 0) {
  StageCosts costs = StageCosts::equal(schedule.pipeline, 1, 1);
  costs.queueDepth = depth;
  return simulate(schedule, costs);
}

std::string orderOf(const std::vector<StageTask> &tasks) {
  std::string text;
  for (const StageTask &task : tasks)
    text += std::string(text.empty() ? "" : " ") + (task.backward ? "B" : "F") +
            std::to_string(task.microBatch) +
            (task.chunk ? std::string(size_t(task.chunk), '\'') : "");
  return text;
}

} // namespace

TEST_CASE("orders of the three schedules") {
  Schedule gpipe = makeSchedule(ScheduleKind::gpipe, {3, 2});
  CHECK(orderOf(gpipe.stages[0]) == "F0 F1 F2 B0 B1 B2");
  CHECK(gpipe.stages[1] == gpipe.stages[0]);

  Schedule one = makeSchedule(ScheduleKind::oneForwardOneBackward, {4, 3});
  CHECK(orderOf(one.stages[0]) == "F0 F1 F2 B0 F3 B1 B2 B3");
  CHECK(orderOf(one.stages[1]) == "F0 F1 B0 F2 B1 F3 B2 B3");
  CHECK(orderOf(one.stages[2]) == "F0 B0 F1 B1 F2 B2 F3 B3");

  Schedule chunks = makeSchedule(ScheduleKind::interleaved, {4, 2, 2});
  CHECK(orderOf(chunks.stages[0]) == "F0 F1 F0' F1' F2 B0' F3 B1' F2' B0 F3' B1 B2' B3' B2 B3");
  CHECK(orderOf(chunks.stages[1]) == "F0 F1 F0' B0' F1' B1' F2 B0 F3 B1 F2' B2' F3' B3' B2 B3");
}

TEST_CASE("every task is done once by every stage") {
  forAll([](const Schedule &schedule) {
    for (const std::vector<StageTask> &stage : schedule.stages) {
      std::set<std::tuple<bool, int64_t, int64_t>> seen;
      for (const StageTask &task : stage)
        CHECK(seen.emplace(task.backward, task.chunk, task.microBatch).second);
      CHECK(int64_t(seen.size()) == 2 * schedule.pipeline.microBatches * schedule.pipeline.chunks);
    }
  });
}

TEST_CASE("no task begins before what it needs is there") {
  forAll([](const Schedule &schedule) {
    Simulation run = simulated(schedule);
    REQUIRE_FALSE(run.deadlocked);
    const Pipeline &pipeline = schedule.pipeline;
    std::map<std::tuple<bool, int64_t, int64_t>, TimedTask> byPiece;
    for (int64_t s = 0; s < pipeline.stages; ++s)
      for (const TimedTask &task : run.stages[size_t(s)])
        byPiece[{task.task.backward, task.task.chunk * pipeline.stages + s, task.task.microBatch}] =
            task;
    for (const auto &[key, task] : byPiece) {
      auto [backward, piece, microBatch] = key;
      if (!backward && piece > 0)
        CHECK(byPiece.at({false, piece - 1, microBatch}).end <= task.begin);
      if (backward) // Its own activations, and the gradient of what comes after.
        CHECK(byPiece.at({false, piece, microBatch}).end <= task.begin);
      if (backward && piece + 1 < pipeline.pieces())
        CHECK(byPiece.at({true, piece + 1, microBatch}).end <= task.begin);
    }
  });
}

TEST_CASE("messages: their number, and both ends in one order") {
  forAll([](const Schedule &schedule) {
    auto actions = actionsOf(schedule);
    std::map<std::pair<int64_t, int64_t>, std::vector<Message>> sent, received;
    int64_t number = 0;
    for (int64_t stage = 0; stage < schedule.pipeline.stages; ++stage)
      for (const StageAction &action : actions[size_t(stage)]) {
        if (action.kind == ActionKind::send)
          sent[{stage, action.peer}].push_back(action.message), ++number;
        if (action.kind == ActionKind::receive)
          received[{action.peer, stage}].push_back(action.message);
      }
    CHECK(sent == received);
    CHECK(number == schedule.pipeline.messages());
    CHECK(number == 2 * schedule.pipeline.microBatches *
                        (schedule.pipeline.chunks * schedule.pipeline.stages - 1));
  });
}

TEST_CASE("no deadlock, however few messages a queue holds") {
  forAll([](const Schedule &schedule) {
    Simulation free = simulated(schedule);
    for (int64_t depth = 1; depth <= 4; ++depth) {
      Simulation run = simulated(schedule, depth);
      CHECK_FALSE(run.deadlocked);
      CHECK(run.total >= free.total);
    }
  });
}

TEST_CASE("no deadlock with stages and messages of any speed") {
  std::mt19937 random(1);
  forAll([&](const Schedule &schedule) {
    StageCosts costs = StageCosts::equal(schedule.pipeline, 1, 1);
    for (int round = 0; round < 4; ++round) {
      for (int64_t &cost : costs.forward)
        cost = int64_t(random() % 50);
      for (int64_t &cost : costs.backward)
        cost = int64_t(random() % 50);
      costs.message = int64_t(random() % 30);
      costs.queueDepth = int64_t(random() % 3);
      Simulation run = simulate(schedule, costs);
      CHECK_FALSE(run.deadlocked);
      for (int64_t stage = 0; stage < schedule.pipeline.stages; ++stage)
        CHECK(run.idleOf(stage) >= 0);
    }
  });
}

TEST_CASE("a message that is lost or exchanged with another one is a deadlock") {
  Schedule schedule = makeSchedule(ScheduleKind::oneForwardOneBackward, {4, 2});
  StageCosts costs = StageCosts::equal(schedule.pipeline, 1, 1);
  auto actions = actionsOf(schedule);
  auto isSend = [](const StageAction &action) { return action.kind == ActionKind::send; };
  auto lost = actions;
  lost[0].erase(std::ranges::find_if(lost[0], isSend));
  CHECK(simulate(schedule.pipeline, lost, costs).deadlocked);
  auto exchanged = actions;
  auto first = std::ranges::find_if(exchanged[0], isSend);
  std::swap(first->message, std::find_if(first + 1, exchanged[0].end(), isSend)->message);
  CHECK(simulate(schedule.pipeline, exchanged, costs).deadlocked);
}

TEST_CASE("the bubble is G-1 of M+G-1 ticks, of v·M+G-1 with chunks") {
  forAll([](const Schedule &schedule) {
    const Pipeline &pipeline = schedule.pipeline;
    Simulation run = simulated(schedule);
    int64_t ticks = pipeline.chunks * pipeline.microBatches + pipeline.stages - 1;
    CHECK(run.total == 2 * ticks);
    for (int64_t stage = 0; stage < pipeline.stages; ++stage)
      CHECK(run.idleOf(stage) * ticks == run.total * (pipeline.stages - 1));
    CHECK(run.bubble() == predictedBubble(pipeline));
  });
}

TEST_CASE("1f1b holds the activations of G micro-batches at most, gpipe of all") {
  forAll([](const Schedule &schedule) {
    const auto &[microBatches, stages, chunks] = schedule.pipeline;
    for (int64_t stage = 0; stage < stages; ++stage) {
      int64_t held = mostHeld(schedule, stage);
      if (schedule.kind == ScheduleKind::gpipe)
        CHECK(held == microBatches);
      else if (schedule.kind == ScheduleKind::oneForwardOneBackward)
        CHECK(held == std::min(microBatches, stages - stage));
      else
        CHECK(held <= chunks * stages + stages - 1 - 2 * stage);
    }
  });
}

TEST_CASE("idle time of stages that differ is predicted") {
  // The slower stage never waits, once it has begun, but for the ends.
  Schedule schedule = makeSchedule(ScheduleKind::gpipe, {4, 2});
  Simulation run = simulate(schedule, {.forward = {1, 3}, .backward = {2, 6}, .message = 0});
  CHECK(run.total == 1 + 4 * (3 + 6) + 2);
  CHECK(run.idleOf(1) == 3);
  CHECK(run.idleOf(0) == run.total - 4 * 3);
  // A message's time counts once each way where the stage behind is the slower one.
  Simulation slow = simulate(schedule, {.forward = {1, 3}, .backward = {2, 6}, .message = 5});
  CHECK(slow.total == run.total + 10);
}

TEST_CASE("what cannot be scheduled is refused with its numbers") {
  CHECK(whyNot(ScheduleKind::interleaved, {6, 4, 2}) ==
        "schedule interleaved takes micro-batches 4 at a time, one for each stage: 6 is no "
        "multiple of that, as 8 is");
  CHECK(whyNot(ScheduleKind::gpipe, {4, 2, 2}) ==
        "schedule gpipe has one chunk on each stage, not 2; several are for schedule interleaved");
  CHECK(whyNot(ScheduleKind::gpipe, {0, 2, 1}).find("one micro-batch at least") !=
        std::string::npos);
  CHECK(whyNot(ScheduleKind::interleaved, {8, 4, 2}).empty());
  CHECK(scheduleNamed("1f1b") == ScheduleKind::oneForwardOneBackward);
  CHECK_FALSE(scheduleNamed("zigzag"));
}
