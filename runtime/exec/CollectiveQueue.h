//===- CollectiveQueue.h - collectives beside compute -----------*- C++ -*-===//
//
// On a device whose queues work beside each other, collectives have one of their own, in the order
// in which they are submitted, the same on all devices. A collective comes after what the compute
// queue has when it is started; what the compute queue gets behind the wait comes after the
// collective. In a recording of the compute queue, both take part.
//
//   auto link = CollectiveQueue::create(device, queue, communicator);
//   link->start(&instruction, problem, inputs, outputs, site);
//   queue.launch(…);                       // beside it
//   link->wait(&instruction);
//
//===----------------------------------------------------------------------===//
#ifndef MINIGPTC_RUNTIME_EXEC_COLLECTIVEQUEUE_H
#define MINIGPTC_RUNTIME_EXEC_COLLECTIVEQUEUE_H

#include "runtime/hal/Communicator.h"
#include "runtime/hal/Device.h"

#include <utility>

namespace minigptc::runtime {

class CollectiveQueue {
public:
  /// `compute` and `communicator` outlive it.
  static StatusOr<std::unique_ptr<CollectiveQueue>> create(Device &device, Queue &compute,
                                                           Communicator &communicator);

  /// `key` names it for `wait`, and is on its way once at a time.
  Status start(const void *key, const CollectiveProblem &problem, std::span<void *const> inputs,
               std::span<void *const> outputs, const CollectiveSite &site);
  Status wait(const void *key);
  Status synchronize() { return queue_->synchronize(); }
  /// What is on its way is nobody's any more: the run has failed, or a new one begins.
  void forget() { flights_.clear(); }

private:
  CollectiveQueue(Queue &compute, Communicator &communicator)
      : compute_(compute), communicator_(communicator) {}

  Queue &compute_;
  Communicator &communicator_;
  std::unique_ptr<Queue> queue_;
  /// Keys, and when they are done.
  std::vector<std::pair<const void *, std::unique_ptr<Event>>> flights_;
};

} // namespace minigptc::runtime

#endif // MINIGPTC_RUNTIME_EXEC_COLLECTIVEQUEUE_H
