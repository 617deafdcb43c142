#include "runtime/exec/MessageQueue.h"

#include <algorithm>

namespace minigptc::runtime {

StatusOr<std::unique_ptr<MessageQueue>>
MessageQueue::create(Device &device, Queue &compute, Communicator &communicator,
                     std::span<const MessageProblem> messages) {
  std::unique_ptr<MessageQueue> made(new MessageQueue(compute, communicator));
  std::map<int64_t, uint64_t> bytes; // By whom it goes to.
  for (const MessageProblem &message : messages)
    if (message.from == communicator.device())
      bytes[message.to] = std::max(bytes[message.to], message.bytes);
  for (auto [to, most] : bytes) {
    Way &way = made->ways_[to];
    StatusOr<std::unique_ptr<Buffer>> copy = device.allocate(most);
    if (!copy)
      return copy.status();
    StatusOr<std::unique_ptr<Queue>> queue = device.createQueue();
    if (!queue)
      return queue.status();
    way.copy = std::move(*copy);
    way.queue = std::move(*queue);
  }
  return made;
}

MessageQueue::~MessageQueue() {
  for (auto &[to, way] : ways_)
    if (way.queue) // A failure was told of already.
      (void)way.queue->synchronize().ok();
}

Status MessageQueue::send(const MessageProblem &message, const void *data, uint32_t location) {
  Way &way = ways_.at(message.to);
  if (way.sent)
    MINIGPTC_RETURN_IF_ERROR(compute_.waitFor(*way.sent));
  if (message.bytes)
    MINIGPTC_RETURN_IF_ERROR(compute_.copy(way.copy->data(), data, message.bytes));
  StatusOr<std::unique_ptr<Event>> copied = compute_.record();
  if (!copied)
    return copied.status();
  MINIGPTC_RETURN_IF_ERROR(way.queue->waitFor(**copied));
  MINIGPTC_RETURN_IF_ERROR(communicator_.send(*way.queue, message, way.copy->data(), location));
  StatusOr<std::unique_ptr<Event>> sent = way.queue->record();
  if (!sent)
    return sent.status();
  way.sent = std::move(*sent);
  return {};
}

Status MessageQueue::receive(const MessageProblem &message, void *data, uint32_t location) {
  return communicator_.receive(compute_, message, data, location);
}

Status MessageQueue::finish() {
  for (auto &[to, way] : ways_)
    if (way.sent)
      MINIGPTC_RETURN_IF_ERROR(compute_.waitFor(*way.sent));
  forget();
  return {};
}

void MessageQueue::forget() {
  for (auto &[to, way] : ways_)
    way.sent.reset();
}

} // namespace minigptc::runtime
