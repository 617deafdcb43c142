#include "runtime/exec/CollectiveQueue.h"

#include <algorithm>

namespace minigptc::runtime {

StatusOr<std::unique_ptr<CollectiveQueue>> CollectiveQueue::create(Device &device, Queue &compute,
                                                                   Communicator &communicator) {
  std::unique_ptr<CollectiveQueue> made(new CollectiveQueue(compute, communicator));
  StatusOr<std::unique_ptr<Queue>> queue = device.createQueue();
  if (!queue)
    return queue.status();
  made->queue_ = std::move(*queue);
  return made;
}

Status CollectiveQueue::start(const void *key, const CollectiveProblem &problem,
                              std::span<void *const> inputs, std::span<void *const> outputs,
                              const CollectiveSite &site) {
  StatusOr<std::unique_ptr<Event>> made = compute_.record();
  if (!made)
    return made.status();
  MINIGPTC_RETURN_IF_ERROR(queue_->waitFor(**made));
  MINIGPTC_RETURN_IF_ERROR(communicator_.run(*queue_, problem, inputs, outputs, site));
  StatusOr<std::unique_ptr<Event>> done = queue_->record();
  if (!done)
    return done.status();
  flights_.emplace_back(key, std::move(*done));
  return {};
}

Status CollectiveQueue::wait(const void *key) {
  auto flight = std::ranges::find(flights_, key, [](const auto &each) { return each.first; });
  if (flight == flights_.end())
    return Status(StatusCode::internal, "a wait for what is not on its way");
  MINIGPTC_RETURN_IF_ERROR(compute_.waitFor(*flight->second));
  flights_.erase(flight);
  return {};
}

} // namespace minigptc::runtime
