#include "dialects/dist/Schedules/Simulation.h"

#include <algorithm>
#include <map>
#include <utility>

namespace minigptc::dist {
namespace {

struct Sent {
  Message message;
  int64_t arrival = 0;
};
/// What went from one stage to another.
struct Channel {
  std::vector<Sent> sent;
  std::vector<int64_t> received; ///< when
};

class Simulator {
public:
  Simulator(const Pipeline &pipeline, const std::vector<std::vector<StageAction>> &actions,
            const StageCosts &costs)
      : actions_(actions), costs_(costs), next_(actions.size()), clocks_(actions.size()) {
    run_.pipeline = pipeline;
    run_.stages.resize(actions.size());
  }

  Simulation run() {
    for (bool goesOn = true; goesOn;) {
      goesOn = false;
      for (size_t stage = 0; stage < actions_.size(); ++stage)
        while (next_[stage] < actions_[stage].size() && step(stage, actions_[stage][next_[stage]]))
          ++next_[stage], goesOn = true;
    }
    for (size_t stage = 0; stage < actions_.size(); ++stage) {
      run_.deadlocked |= next_[stage] < actions_[stage].size();
      for (const TimedTask &task : run_.stages[stage])
        run_.total = std::max(run_.total, task.end);
    }
    return std::move(run_);
  }

private:
  /// False: it cannot be done before another stage has done something.
  bool step(size_t stage, const StageAction &action) {
    int64_t &clock = clocks_[stage];
    switch (action.kind) {
    case ActionKind::compute: {
      const std::vector<int64_t> &costs = action.task.backward ? costs_.backward : costs_.forward;
      int64_t begin = clock;
      clock += costs[size_t(action.task.chunk * run_.pipeline.stages) + stage];
      run_.stages[stage].push_back({action.task, begin, clock});
      return true;
    }
    case ActionKind::send: return send(channels_[{int64_t(stage), action.peer}], action, clock);
    case ActionKind::receive:
      return receive(channels_[{action.peer, int64_t(stage)}], action, clock);
    }
    return false;
  }

  bool send(Channel &channel, const StageAction &action, int64_t &clock) {
    size_t depth = size_t(costs_.queueDepth), number = channel.sent.size();
    if (depth > 0 && number >= depth) {
      if (channel.received.size() <= number - depth)
        return false;
      clock = std::max(clock, channel.received[number - depth]);
    }
    int64_t before = channel.sent.empty() ? 0 : channel.sent.back().arrival;
    channel.sent.push_back({action.message, std::max(clock + costs_.message, before)});
    return true;
  }

  /// Messages between two stages come in order: another one than is wanted is in the way of it.
  bool receive(Channel &channel, const StageAction &action, int64_t &clock) {
    size_t number = channel.received.size();
    if (number >= channel.sent.size() || !(channel.sent[number].message == action.message))
      return false;
    clock = std::max(clock, channel.sent[number].arrival);
    channel.received.push_back(clock);
    return true;
  }

  const std::vector<std::vector<StageAction>> &actions_;
  const StageCosts &costs_;
  std::vector<size_t> next_; ///< by stage
  std::vector<int64_t> clocks_;
  std::map<std::pair<int64_t, int64_t>, Channel> channels_;
  Simulation run_;
};

} // namespace

StageCosts StageCosts::equal(const Pipeline &pipeline, int64_t forward, int64_t backward) {
  StageCosts costs;
  costs.forward.assign(size_t(pipeline.pieces()), forward);
  costs.backward.assign(size_t(pipeline.pieces()), backward);
  return costs;
}

int64_t Simulation::busyOf(int64_t stage) const {
  int64_t busy = 0;
  for (const TimedTask &task : stages[size_t(stage)])
    busy += task.end - task.begin;
  return busy;
}

int64_t Simulation::idle() const {
  int64_t idle = 0;
  for (int64_t stage = 0; stage < pipeline.stages; ++stage)
    idle += idleOf(stage);
  return idle;
}

double Simulation::bubble() const {
  return total > 0 ? double(idle()) / (double(total) * double(pipeline.stages)) : 0;
}

Simulation simulate(const Schedule &schedule, const StageCosts &costs) {
  return simulate(schedule.pipeline, actionsOf(schedule), costs);
}

Simulation simulate(const Pipeline &pipeline, const std::vector<std::vector<StageAction>> &actions,
                    const StageCosts &costs) {
  return Simulator(pipeline, actions, costs).run();
}

double predictedBubble(const Pipeline &pipeline) {
  return double(pipeline.stages - 1) /
         double(pipeline.chunks * pipeline.microBatches + pipeline.stages - 1);
}

} // namespace minigptc::dist
