//===- Receives.h - stages that never wait for each other -------*- C++ -*-===//
//
// Moves receives forward, where stages would else wait for each other in a ring although there is
// room for a message from each stage to each other one:
//
//   std::vector<std::vector<StageAction>> actions = …;   // by stage; messages in order
//   receiveInTime(actions);
//
// An action has a `kind` and, of a send or receive, the `peer` at the other end. From one stage
// to another as many messages are sent as received, in one order.
//
//===----------------------------------------------------------------------===//
#ifndef MINIGPTC_DIALECTS_DIST_SCHEDULES_RECEIVES_H
#define MINIGPTC_DIALECTS_DIST_SCHEDULES_RECEIVES_H

#include "dialects/dist/Schedules/Schedules.h"

#include <algorithm>
#include <cassert>
#include <map>
#include <utility>

namespace minigptc::dist {

/// Walks through actions where a stage that sends waits until its last message to the same stage
/// has been received. Where all stages wait, one of these is: its message is received earlier, at
/// once. Whether stages come to wait for each other does not depend on how fast they are, so
/// that afterwards they never do, nor with longer queues.
template <typename Action> class EarlierReceives {
public:
  explicit EarlierReceives(std::vector<std::vector<Action>> &actions)
      : actions_(actions), next_(actions.size()) {}

  void run() {
    do
      while (advance())
        ;
    while (receiveEarlier());
  }

private:
  const Action *nextOf(size_t stage) const {
    return next_[stage] < actions_[stage].size() ? &actions_[stage][next_[stage]] : nullptr;
  }
  bool advance() {
    bool any = false;
    for (size_t stage = 0; stage < actions_.size(); ++stage)
      for (const Action *action; (action = nextOf(stage)) && step(int64_t(stage), *action);) {
        ++next_[stage];
        any = true;
      }
    return any;
  }
  bool step(int64_t stage, const Action &action) {
    if (action.kind == ActionKind::compute)
      return true;
    bool sends = action.kind == ActionKind::send;
    bool &full = full_[sends ? std::pair(stage, action.peer) : std::pair(action.peer, stage)];
    if (full == sends)
      return false;
    full = sends;
    return true;
  }
  bool receiveEarlier() {
    for (size_t stage = 0; stage < actions_.size(); ++stage) {
      const Action *action = nextOf(stage);
      if (!action || action->kind != ActionKind::send)
        continue;
      std::vector<Action> &others = actions_[size_t(action->peer)];
      auto from = others.begin() + int64_t(next_[size_t(action->peer)]);
      auto receive = std::find_if(from, others.end(), [&](const Action &other) {
        return other.kind == ActionKind::receive && other.peer == int64_t(stage);
      });
      assert(receive != others.end() && "whatever is sent is received");
      std::rotate(from, receive, receive + 1);
      return true;
    }
    return false;
  }

  std::vector<std::vector<Action>> &actions_;
  std::vector<size_t> next_;                         ///< by stage
  std::map<std::pair<int64_t, int64_t>, bool> full_; ///< by sender and receiver
};

template <typename Action> void receiveInTime(std::vector<std::vector<Action>> &actions) {
  EarlierReceives<Action>(actions).run();
}

} // namespace minigptc::dist

#endif // MINIGPTC_DIALECTS_DIST_SCHEDULES_RECEIVES_H
