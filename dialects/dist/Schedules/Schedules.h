//===- Schedules.h - in which order a pipeline's stages work ----*- C++ -*-===//
//
// A batch goes through G stages in M micro-batches. With v chunks a stage has v pieces of the
// model: piece c·G + s of them is chunk c of stage s. A *task* is the forward or the backward
// pass of one micro-batch through one piece; a piece's result goes to the stage of the next
// piece, the gradient of it back.
//
//   Pipeline pipeline{.microBatches = 4, .stages = 2};
//   if (std::string why = whyNot(ScheduleKind::oneForwardOneBackward, pipeline); !why.empty()) …
//   Schedule schedule = makeSchedule(ScheduleKind::oneForwardOneBackward, pipeline);
//   schedule.stages[0]   // F0 F1 B0 F2 B1 F3 B2 B3
//   schedule.stages[1]   // F0 B0 F1 B1 F2 B2 F3 B3
//
// | kind | each stage | activations that a stage holds |
// |---|---|---|
// | gpipe | all forward, then all backward | of M micro-batches |
// | 1f1b | G−1−s forward, then one of each in turn, then what is left | of G−s, at most |
// | interleaved | the same over pieces, G micro-batches of a chunk at a time | of G·v + G−1−2s
// pieces' at most |
//
// `actionsOf` adds the messages. Everything here is a pure function of its arguments.
//
//===----------------------------------------------------------------------===//
#ifndef MINIGPTC_DIALECTS_DIST_SCHEDULES_SCHEDULES_H
#define MINIGPTC_DIALECTS_DIST_SCHEDULES_SCHEDULES_H

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace minigptc::dist {

enum class ScheduleKind { gpipe, oneForwardOneBackward, interleaved };

/// "gpipe", "1f1b", "interleaved".
std::string_view nameOf(ScheduleKind kind);
std::optional<ScheduleKind> scheduleNamed(std::string_view name);

struct Pipeline {
  int64_t microBatches = 1, stages = 1, chunks = 1;

  int64_t pieces() const { return chunks * stages; }
  /// Activations and gradients that go from a stage to another, in a step.
  int64_t messages() const { return 2 * microBatches * (pieces() - 1); }
  bool operator==(const Pipeline &) const = default;
};

/// What a stage does for one micro-batch with one of its chunks.
struct StageTask {
  bool backward = false;
  int64_t chunk = 0, microBatch = 0;
  bool operator==(const StageTask &) const = default;
};

struct Schedule {
  ScheduleKind kind = ScheduleKind::gpipe;
  Pipeline pipeline;
  std::vector<std::vector<StageTask>> stages; ///< by stage, in the order of work
};

/// Why there is no such schedule, with the numbers that do not fit; empty: there is one.
std::string whyNot(ScheduleKind kind, const Pipeline &pipeline);
/// Of what `whyNot` has nothing against.
Schedule makeSchedule(ScheduleKind kind, const Pipeline &pipeline);

/// What goes over the boundary behind piece `boundary`: to the next piece, or a gradient back.
struct Message {
  bool backward = false;
  int64_t boundary = 0, microBatch = 0;

  int64_t senderPiece() const { return boundary + (backward ? 1 : 0); }
  int64_t receiverPiece() const { return boundary + (backward ? 0 : 1); }
  bool operator==(const Message &) const = default;
};

/// The message that a task needs, and the one that it makes; none at the model's ends.
std::optional<Message> neededBy(const Pipeline &pipeline, int64_t stage, const StageTask &task);
std::optional<Message> madeBy(const Pipeline &pipeline, int64_t stage, const StageTask &task);

enum class ActionKind { compute, send, receive };
struct StageAction {
  ActionKind kind = ActionKind::compute;
  StageTask task = {};  ///< compute
  Message message = {}; ///< send, receive
  int64_t peer = 0;     ///< ... the stage at the other end
  bool operator==(const StageAction &) const = default;
};

/// By stage, tasks with what they send and receive. A message is sent right after the task that
/// makes it, and received before the task that needs it, as late as may be: two stages may have
/// several boundaries between them, and messages from one to the other are received in the order
/// in which they are sent; and stages never wait for each other in a ring, though only one message
/// be under way from each stage to each other one. Sending without any buffer is not enough.
std::vector<std::vector<StageAction>> actionsOf(const Schedule &schedule);

/// The most passes whose forward task is done, and whose backward task is not, at a time.
int64_t mostHeld(const Schedule &schedule, int64_t stage);

} // namespace minigptc::dist

#endif // MINIGPTC_DIALECTS_DIST_SCHEDULES_SCHEDULES_H
