#include "dialects/dist/Schedules/Schedules.h"
#include "dialects/dist/Schedules/Receives.h"

#include <algorithm>
#include <array>
#include <map>
#include <utility>

namespace minigptc::dist {
namespace {

constexpr std::array<std::pair<ScheduleKind, std::string_view>, 3> kNames{
    {{ScheduleKind::gpipe, "gpipe"},
     {ScheduleKind::oneForwardOneBackward, "1f1b"},
     {ScheduleKind::interleaved, "interleaved"}}};

/// Task `number` of a stage's forward (or backward) tasks: G micro-batches of one chunk, then as
/// many of the next; backward the last chunk comes first.
StageTask taskOf(const Pipeline &pipeline, bool backward, int64_t number) {
  int64_t round = number / pipeline.pieces(), place = number % pipeline.pieces();
  int64_t chunk = place / pipeline.stages;
  return {backward, backward ? pipeline.chunks - 1 - chunk : chunk,
          round * pipeline.stages + place % pipeline.stages};
}

/// Forward tasks before the first backward one, besides the one right before it.
int64_t warmupOf(ScheduleKind kind, const Pipeline &pipeline, int64_t stage) {
  int64_t all = pipeline.microBatches * pipeline.chunks, behind = pipeline.stages - 1 - stage;
  switch (kind) {
  case ScheduleKind::gpipe: return all;
  case ScheduleKind::oneForwardOneBackward: return std::min(all, behind);
  case ScheduleKind::interleaved:
    // Twice the way to the last stage, and the chunks before the last one.
    return std::min(all, 2 * behind + (pipeline.chunks - 1) * pipeline.stages);
  }
  return all;
}

std::vector<StageTask> orderOf(ScheduleKind kind, const Pipeline &pipeline, int64_t stage) {
  int64_t all = pipeline.microBatches * pipeline.chunks;
  int64_t warmup = warmupOf(kind, pipeline, stage);
  std::vector<StageTask> order;
  for (int64_t i = 0; i < warmup; ++i)
    order.push_back(taskOf(pipeline, false, i));
  for (int64_t i = 0; i < all; ++i) {
    if (warmup + i < all)
      order.push_back(taskOf(pipeline, false, warmup + i));
    order.push_back(taskOf(pipeline, true, i));
  }
  return order;
}

int64_t pieceOf(const Pipeline &pipeline, int64_t stage, int64_t chunk) {
  return chunk * pipeline.stages + stage;
}

using Actions = std::vector<std::vector<StageAction>>;

/// Messages that one stage sends to another, in order, and how many have been received.
struct Channel {
  std::vector<Message> sent;
  size_t received = 0;
};

/// All messages of a step, by channel.
class Post {
public:
  explicit Post(const Schedule &schedule)
      : pipeline_(schedule.pipeline), places_(size_t(schedule.pipeline.messages())) {
    for (size_t stage = 0; stage < schedule.stages.size(); ++stage)
      for (const StageTask &task : schedule.stages[stage])
        if (auto message = madeBy(pipeline_, int64_t(stage), task)) {
          std::vector<Message> &sent = channelOf(*message).sent;
          places_[numberOf(*message)] = sent.size();
          sent.push_back(*message);
        }
  }
  Channel &channelOf(const Message &message) {
    return channels_[{message.senderPiece() % pipeline_.stages,
                      message.receiverPiece() % pipeline_.stages}];
  }
  /// How many are sent before it in its channel. Looked up: a search would make long schedules
  /// take quadratic time.
  size_t placeOf(const Message &message) const { return places_[numberOf(message)]; }

private:
  size_t numberOf(const Message &message) const {
    int64_t way = message.boundary + (message.backward ? pipeline_.pieces() - 1 : 0);
    return size_t(way * pipeline_.microBatches + message.microBatch);
  }

  const Pipeline &pipeline_;
  std::map<std::pair<int64_t, int64_t>, Channel> channels_; ///< by sender and receiver
  std::vector<size_t> places_;                              ///< by number
};

/// Each as late as the order of its channel allows.
Actions withLateReceives(const Schedule &schedule) {
  const Pipeline &pipeline = schedule.pipeline;
  Post post(schedule);
  Actions all(schedule.stages.size());
  for (int64_t stage = 0; stage < pipeline.stages; ++stage) {
    std::vector<StageAction> &actions = all[size_t(stage)];
    for (const StageTask &task : schedule.stages[size_t(stage)]) {
      if (auto needed = neededBy(pipeline, stage, task)) {
        int64_t sender = needed->senderPiece() % pipeline.stages;
        Channel &channel = post.channelOf(*needed);
        for (size_t place = post.placeOf(*needed); channel.received <= place; ++channel.received)
          actions.push_back({ActionKind::receive, {}, channel.sent[channel.received], sender});
      }
      actions.push_back({ActionKind::compute, task, {}, 0});
      if (auto made = madeBy(pipeline, stage, task))
        actions.push_back({ActionKind::send, {}, *made, made->receiverPiece() % pipeline.stages});
    }
  }
  return all;
}

} // namespace

std::string_view nameOf(ScheduleKind kind) {
  return std::ranges::find(kNames, kind, &decltype(kNames)::value_type::first)->second;
}

std::optional<ScheduleKind> scheduleNamed(std::string_view name) {
  auto found = std::ranges::find(kNames, name, &decltype(kNames)::value_type::second);
  return found == kNames.end() ? std::nullopt : std::optional(found->first);
}

std::string whyNot(ScheduleKind kind, const Pipeline &pipeline) {
  auto [microBatches, stages, chunks] = pipeline;
  if (microBatches < 1 || stages < 1 || chunks < 1)
    return "a pipeline has one stage, one chunk and one micro-batch at least, not " +
           std::to_string(stages) + ", " + std::to_string(chunks) + " and " +
           std::to_string(microBatches);
  std::string name(nameOf(kind));
  if (kind != ScheduleKind::interleaved)
    return chunks == 1 ? ""
                       : "schedule " + name + " has one chunk on each stage, not " +
                             std::to_string(chunks) + "; several are for schedule interleaved";
  if (stages == 1 && chunks > 1)
    return "a pipeline of one stage has one chunk, not " + std::to_string(chunks);
  if (microBatches % stages != 0)
    return "schedule interleaved takes micro-batches " + std::to_string(stages) +
           " at a time, one for each stage: " + std::to_string(microBatches) +
           " is no multiple of that, as " + std::to_string((microBatches / stages + 1) * stages) +
           " is";
  return "";
}

Schedule makeSchedule(ScheduleKind kind, const Pipeline &pipeline) {
  Schedule schedule{kind, pipeline, {}};
  for (int64_t stage = 0; stage < pipeline.stages; ++stage)
    schedule.stages.push_back(orderOf(kind, pipeline, stage));
  return schedule;
}

std::optional<Message> neededBy(const Pipeline &pipeline, int64_t stage, const StageTask &task) {
  int64_t piece = pieceOf(pipeline, stage, task.chunk);
  if (task.backward)
    return piece + 1 < pipeline.pieces() ? std::optional(Message{true, piece, task.microBatch})
                                         : std::nullopt;
  return piece > 0 ? std::optional(Message{false, piece - 1, task.microBatch}) : std::nullopt;
}

std::optional<Message> madeBy(const Pipeline &pipeline, int64_t stage, const StageTask &task) {
  int64_t piece = pieceOf(pipeline, stage, task.chunk);
  if (task.backward)
    return piece > 0 ? std::optional(Message{true, piece - 1, task.microBatch}) : std::nullopt;
  return piece + 1 < pipeline.pieces() ? std::optional(Message{false, piece, task.microBatch})
                                       : std::nullopt;
}

std::vector<std::vector<StageAction>> actionsOf(const Schedule &schedule) {
  Actions actions = withLateReceives(schedule);
  receiveInTime(actions);
  return actions;
}

int64_t mostHeld(const Schedule &schedule, int64_t stage) {
  int64_t held = 0, most = 0;
  for (const StageTask &task : schedule.stages[size_t(stage)]) {
    held += task.backward ? -1 : 1;
    most = std::max(most, held);
  }
  return most;
}

} // namespace minigptc::dist
