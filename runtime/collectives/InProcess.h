//===- InProcess.h - collectives between threads of one process -*- C++ -*-===//
//
// Each device is a thread with memory that the others can read. A collective is a
// meeting: who comes says where its buffers are; when all are there each does its share
// of the work; when all have done it they leave. Waits spin for some microseconds where
// there are cores enough, then sleep.
//
//   InProcessWorld world(8, {.placeOf = [&](uint32_t l) { return program.placeOf(l); }});
//   world.begin();
//   // in thread d, for each d:
//   Status status = world.end(d).run(*queue, problem, inputs, outputs, site);
//   world.finish(d, status);
//   // after all threads:
//   world.failure();                         // the first one, or success
//
// A message goes through a mailbox, one for each device and each that it sends to, with room for
// one: the sender goes on at once, unless the message before is still there.
//
// Nothing is decided by time: a member whose thread works is waited for, be it slow or
// stopped. A meeting to which a member cannot come any more is a failure at once: the member
// has ended, or waits elsewhere for somebody who, in the end, waits here. So is one whose
// members disagree on what they do, a message that nobody comes to receive, or that is not the one
// that the receiver expects. What is said names who is missing, and from which line.
//
// After a failure others may still read and write a device's buffers until all threads
// have called `finish`.
//
//===----------------------------------------------------------------------===//
#ifndef MINIGPTC_RUNTIME_COLLECTIVES_INPROCESS_H
#define MINIGPTC_RUNTIME_COLLECTIVES_INPROCESS_H

#include "runtime/hal/Communicator.h"

#include <atomic>
#include <condition_variable>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <vector>

namespace minigptc::runtime {

struct InProcessOptions {
  int spinMicroseconds = 0;
  /// FILE:LINE of a site's location; may be empty.
  std::function<std::string(uint32_t)> placeOf = {};
};

class InProcessWorld final : public World {
public:
  InProcessWorld(int64_t devices, InProcessOptions options);
  ~InProcessWorld() override;

  Communicator &end(int64_t device) override;
  int64_t devices() const { return int64_t(ends_.size()); }

  void begin() override;
  /// May come again, with a failure after all.
  void finish(int64_t device, const Status &status) override;
  Status failure() override;
  /// Ends all collectives of this run, the present ones included.
  void fail(Status status);
  /// Only a meeting: all members of the device's group have come for the same problem (null:
  /// to record a step, or to replay it), whatever then does the work.
  Status meet(int64_t device, const DeviceGroup &group, const CollectiveProblem *problem,
              const CollectiveSite &site);
  /// As those of an end. Without data only the news of a message, whatever carries it.
  Status send(const MessageProblem &message, const void *data, uint32_t location);
  Status receive(const MessageProblem &message, void *data, uint32_t location);

private:
  class End;
  /// What a member brought to a meeting.
  struct Visit {
    const CollectiveProblem *problem = nullptr; ///< null: a recording or a replay
    std::vector<const void *> inputs;
    std::vector<void *> outputs;
    CollectiveSite site;
  };
  /// The devices of one group, and their present meeting.
  struct Meeting {
    std::vector<int64_t> members; ///< devices, by rank
    std::vector<Visit> visits;    ///< by rank
    std::vector<char> here;       ///< by rank: has come, or (when leaving) is done
    size_t arrived = 0;
    std::atomic<uint64_t> generation{0}; ///< changes when the last one has come
    std::condition_variable changed;
  };
  /// What is under way from one device to another.
  struct Mailbox {
    int64_t from = 0, to = 0;
    bool full = false;
    MessageProblem message; ///< that is in it
    uint32_t location = 0;  ///< ... and where it was sent
    std::vector<std::byte> bytes;
    const MessageProblem *wanted = nullptr; ///< by who waits, to send or to receive it
    uint32_t wantedAt = 0;
    std::atomic<uint64_t> generation{0}; ///< changes with `full`
    std::condition_variable changed;
  };
  /// What a device waits for: a meeting, or to send or receive a message.
  struct Wait {
    const Meeting *meeting = nullptr;
    const Mailbox *mailbox = nullptr;
    bool sends = false;
    bool operator==(const Wait &) const = default;
  };
  enum class State : uint8_t { running, waiting, finished };
  struct DeviceState {
    State state = State::finished;
    Wait wait; ///< waiting
  };

  Meeting &meetingOf(int64_t device, const DeviceGroup &group);
  Status meet(Meeting &meeting, int64_t device, int64_t rank, bool entering);
  Status await(std::unique_lock<std::mutex> &lock, const std::atomic<uint64_t> &generation,
               std::condition_variable &changed);
  // With the mutex held:
  Status checkAgreement(const Meeting &meeting);
  void failNow(Status status);
  bool isMissing(const Meeting &meeting, size_t rank) const;
  void failIfStuck(int64_t device);
  bool isStuck(int64_t device, std::vector<Wait> &reached) const;
  std::vector<int64_t> awaitedBy(const Wait &wait) const;
  Status missing(const Meeting &meeting) const;
  Status missing(const Mailbox &mailbox, bool sends) const;
  Status waitingForEachOther(const std::vector<Wait> &waits) const;
  std::string describeVisit(const Visit &visit) const;
  Mailbox &mailboxOf(int64_t from, int64_t to);
  Status awaitMailbox(std::unique_lock<std::mutex> &lock, Mailbox &mailbox, bool sends,
                      const MessageProblem &message, uint32_t location);
  void change(Mailbox &mailbox, bool full);
  Status leftBehind(const Mailbox &mailbox) const;
  Status unexpected(const Mailbox &mailbox, const MessageProblem &message, uint32_t location) const;
  std::string at(uint32_t location) const;

  InProcessOptions options_;
  std::vector<std::unique_ptr<End>> ends_;
  std::mutex mutex_;
  std::vector<DeviceState> states_;
  /// By strides, sizes and the device of rank 0.
  std::map<std::tuple<std::vector<int64_t>, std::vector<int64_t>, int64_t>,
           std::unique_ptr<Meeting>>
      meetings_;
  std::map<std::pair<int64_t, int64_t>, std::unique_ptr<Mailbox>> mailboxes_; ///< by from, to
  std::atomic<bool> failed_{false};
  Status failure_;
};

} // namespace minigptc::runtime

#endif // MINIGPTC_RUNTIME_COLLECTIVES_INPROCESS_H
