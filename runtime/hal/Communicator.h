//===- Communicator.h - a device's end of the collectives -------*- C++ -*-===//
//
// The members of a group call the same collectives in the same order. A call returns when
// this device's outputs are written and nobody reads its inputs any more, or with a
// failure: once one device has failed, every call of every device of this run does.
//
//   Communicator &end = world.end(device);
//   Status status = end.run(problem, inputs, outputs, {instruction, location});
//
//===----------------------------------------------------------------------===//
#ifndef MINIGPTC_RUNTIME_HAL_COMMUNICATOR_H
#define MINIGPTC_RUNTIME_HAL_COMMUNICATOR_H

#include "minigptc/runtime/Status.h"
#include "runtime/hal/Collective.h"

#include <cstdint>
#include <span>

namespace minigptc::runtime {

/// Which call this is: all members must mean the same one.
struct CollectiveSite {
  const void *instruction = nullptr;
  uint32_t location = 0xffffffff; ///< for messages; see Program::placeOf
};

/// Used by one thread. Reductions combine in the order of members, so that all get the
/// same bits.
class Communicator {
public:
  virtual ~Communicator();
  virtual int64_t device() const = 0;
  /// Device pointers, one per operand. The output of an all-reduce may be its input.
  virtual Status run(const CollectiveProblem &problem, std::span<void *const> inputs,
                     std::span<void *const> outputs, const CollectiveSite &site) = 0;
};

} // namespace minigptc::runtime

#endif // MINIGPTC_RUNTIME_HAL_COMMUNICATOR_H
