#include "runtime/exec/Prefetcher.h"

#include "runtime/exec/EntryMemory.h"

#include <cstring>

namespace minigptc::runtime {

Prefetcher::~Prefetcher() {
  Status done = queue_ ? queue_->synchronize() : Status();
  (void)done; // What was sent is of no more use.
}

StatusOr<Prefetcher::Slot *> Prefetcher::slotOf(uint64_t bytes) {
  for (Slot &slot : slots_)
    if (slot.memory->size() == bytes && slot.memory->isFree()) {
      MINIGPTC_RETURN_IF_ERROR(slot.memory->wait()); // Its staging is read until then.
      return &slot;
    }
  StatusOr<std::unique_ptr<Buffer>> staging = device_->allocateStaging(bytes);
  if (!staging)
    return staging.status();
  StatusOr<std::shared_ptr<ResidentMemory>> memory = ResidentMemory::allocate(device_, bytes);
  if (!memory)
    return memory.status();
  slots_.push_back({std::move(*staging), std::move(*memory)});
  return &slots_.back();
}

Status Prefetcher::send(const std::shared_ptr<ArrayBuffer> &buffer) {
  uint64_t bytes = buffer->size();
  if (bytes <= EntryMemory::kSmall || bytes > EntryMemory::kMaxStaged || buffer->device())
    return {};
  MINIGPTC_RETURN_IF_ERROR(buffer->fetch());
  if (!queue_) {
    StatusOr<std::unique_ptr<Queue>> queue = device_->createQueue();
    if (!queue)
      return queue.status();
    queue_ = std::move(*queue);
  }
  StatusOr<Slot *> slot = slotOf(bytes);
  if (!slot)
    return slot.status();
  std::memcpy((*slot)->staging->data(), buffer->read(), bytes);
  MINIGPTC_RETURN_IF_ERROR(
      queue_->write((*slot)->memory->address(), (*slot)->staging->data(), bytes));
  StatusOr<std::unique_ptr<Event>> sent = queue_->record();
  if (!sent)
    return sent.status();
  (*slot)->memory->arrivesWith(std::move(*sent));
  (*slot)->memory->settle(buffer);
  return {};
}

} // namespace minigptc::runtime
