//===- Communicator.h - a device's end of the collectives -------*- C++ -*-===//
//
// The members of a group call the same collectives in the same order. A collective is
// submitted to one of the device's queues, behind what that has. Where the device shares the
// host's memory, it is done on return: this device's outputs are written and nobody reads its
// inputs any more. Elsewhere that is so when the queue has come past it; so the queue's
// `synchronize` may be the first to tell of a failure. Once one device has failed, every call
// of every device of this run does.
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
#include <span>

namespace minigptc::runtime {

class Queue;

/// Which call this is: all members must mean the same one.
struct CollectiveSite {
  const void *instruction = nullptr;
  uint32_t location = 0xffffffff; ///< for messages; see Program::placeOf
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
};

} // namespace minigptc::runtime

#endif // MINIGPTC_RUNTIME_HAL_COMMUNICATOR_H
