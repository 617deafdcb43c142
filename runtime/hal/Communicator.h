//===- Communicator.h - collectives between devices -------------*- C++ -*-===//
//
// The members of a group, numbered 0 … size-1, call the same operations in the same
// order. Buffers hold `count` elements for each member where a name says so.
//
//   std::unique_ptr<Communicator> self = createSelfCommunicator();   // a group of one
//   self->allReduce(gradients, gradients, count, DType::f32, ReduceKind::sum);
//
//===----------------------------------------------------------------------===//
#ifndef MINIGPTC_RUNTIME_HAL_COMMUNICATOR_H
#define MINIGPTC_RUNTIME_HAL_COMMUNICATOR_H

#include "minigptc/runtime/Status.h"
#include "minigptc/runtime/TensorType.h"

#include <cstdint>
#include <memory>

namespace minigptc::runtime {

enum class ReduceKind { sum, max, min };

/// One member's end. Device pointers; source and target are the same or do not overlap.
/// Reductions add in the order of members, so that results are the same bits everywhere.
class Communicator {
public:
  virtual ~Communicator();
  virtual int rank() const = 0;
  virtual int size() const = 0;
  /// target[count] = the reduction of all members' source[count].
  virtual Status allReduce(void *target, const void *source, int64_t count, DType dtype,
                           ReduceKind kind) = 0;
  /// target[size · count] = the members' source[count], one after the other.
  virtual Status allGather(void *target, const void *source, int64_t count, DType dtype) = 0;
  /// target[count] = this member's part of the reduction of source[size · count].
  virtual Status reduceScatter(void *target, const void *source, int64_t count, DType dtype,
                               ReduceKind kind) = 0;
  /// Part r of source[size · count] goes to member r; target gets a part from each.
  virtual Status allToAll(void *target, const void *source, int64_t count, DType dtype) = 0;
  virtual Status barrier() = 0;
};

/// The group of a device that is alone, in host memory: everything is a copy.
std::unique_ptr<Communicator> createSelfCommunicator();

} // namespace minigptc::runtime

#endif // MINIGPTC_RUNTIME_HAL_COMMUNICATOR_H
