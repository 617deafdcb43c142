//===- Communicator.h - a device's end of the collectives -------*- C++ -*-===//
//
// The members of a group call the same collectives in the same order. A collective is
// submitted to one of the device's queues, always the same, behind what that has. Where the device
// shares the host's memory, it is done on return: this device's outputs are written and nobody
// reads its inputs any more. Elsewhere that is so when the queue has come past it; so the queue's
// `synchronize` may be the first to tell of a failure. Once one device has failed, every call of
// every device of this run does.
//
//   Communicator &end = world.end(device);
//   Status status = end.run(*queue, problem, inputs, outputs, {instruction, location});
//
//===----------------------------------------------------------------------===//
#ifndef MINIGPTC_RUNTIME_HAL_COMMUNICATOR_H
#define MINIGPTC_RUNTIME_HAL_COMMUNICATOR_H

#include "minigptc/runtime/Status.h"
#include "runtime/hal/Collective.h"

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace minigptc::runtime {

class Queue;

/// Which call this is: all members must mean the same one.
struct CollectiveSite {
  const void *instruction = nullptr;
  uint32_t location = 0xffffffff; ///< for messages; see Program::placeOf
};

/// A tensor that goes from one device to another.
struct MessageProblem {
  uint32_t number = 0;      ///< of the program's messages; the same at both ends
  int64_t from = 0, to = 0; ///< devices
  uint64_t bytes = 0;
  std::string what = {}; ///< "f32[4,8]"

  /// "message 3 (f32[4,8]) from device 0 to device 2".
  std::string describe() const;
  bool operator==(const MessageProblem &) const = default;
};

/// Used by one thread. All members get the same bits; between threads of a process reductions
/// combine in the order of members.
class Communicator {
public:
  virtual ~Communicator();
  virtual int64_t device() const = 0;
  /// Device pointers, one per operand. The output of an all-reduce may be its input.
  virtual Status run(Queue &queue, const CollectiveProblem &problem, std::span<void *const> inputs,
                     std::span<void *const> outputs, const CollectiveSite &site) = 0;
  /// A message, submitted to one of the device's queues as a collective is: where the device
  /// shares the host's memory, it is done on return. What one device sends to another is received
  /// in the order in which it is sent, each from one queue to one queue. Sending waits, if at
  /// all, for the message before to the same device to be received; receiving for the message.
  /// `location` is where the program has it, for failures.
  virtual Status send(Queue &queue, const MessageProblem &message, const void *data,
                      uint32_t location) = 0;
  virtual Status receive(Queue &queue, const MessageProblem &message, void *data,
                         uint32_t location) = 0;
  /// To be called by all devices before each records a step with collectives or messages, and
  /// before each replays it: those who come know that all do.
  virtual Status meetAll() { return {}; }
  /// This device comes to nothing more in this run, and will wait for its queues only: whoever
  /// waits for it to come is told so.
  virtual void submittedAll() {}
};

/// The ends of a program's devices, and what ends them together.
class World {
public:
  virtual ~World();
  virtual Communicator &end(int64_t device) = 0;
  /// Before a run, while no device's thread is inside: forgets the last one.
  virtual void begin() = 0;
  /// This device's run is over. A failure ends the others' collectives.
  virtual void finish(int64_t device, const Status &status) = 0;
  /// The first failure of the run, once all devices have finished.
  virtual Status failure() = 0;
};

class TcpStore;

/// Of a world of several processes, each with one device.
struct ProcessPlace {
  TcpStore *store = nullptr;   ///< outlives the world
  int64_t rank = 0, count = 1; ///< this process, whose device has the same number
  /// What is known of the others' failures besides, as that one was killed; may be empty.
  std::function<Status()> failure = {};
};

struct WorldOptions {
  /// All that will be run, so that communicators and memory are there beforehand.
  std::span<const CollectiveProblem> problems;
  /// FILE:LINE of a site's location; may be empty.
  std::function<std::string(uint32_t)> placeOf = {};
  int spinMicroseconds = 0; ///< of waits
  /// From which device to which there are messages.
  std::vector<std::pair<int64_t, int64_t>> ways = {};
  /// Without a store all devices are in this process.
  ProcessPlace process = {};
};

} // namespace minigptc::runtime

#endif // MINIGPTC_RUNTIME_HAL_COMMUNICATOR_H
