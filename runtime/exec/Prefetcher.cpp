#include "runtime/exec/Prefetcher.h"

#include "runtime/exec/EntryMemory.h"

#include <cstring>
#include <utility>

namespace minigptc::runtime {

Prefetcher::~Prefetcher() {
  Status done = queue_->synchronize();
  (void)done; // What was sent is of no more use.
}

StatusOr<std::unique_ptr<Prefetcher>> Prefetcher::create(std::shared_ptr<Device> device) {
  StatusOr<std::unique_ptr<Queue>> queue = device->createQueue();
  if (!queue)
    return queue.status();
  return std::unique_ptr<Prefetcher>(new Prefetcher(std::move(device), std::move(*queue)));
}

Prefetcher::Slot *Prefetcher::freeSlotOf(uint64_t bytes) {
  for (Slot &slot : slots_)
    if (slot.memory->size() == bytes && slot.memory->isFree())
      return &slot;
  return nullptr;
}

void Prefetcher::provide() {
  for (uint64_t bytes : std::exchange(wanted_, {})) {
    StatusOr<std::unique_ptr<Buffer>> staging = device_->allocateStaging(bytes);
    StatusOr<std::shared_ptr<ResidentMemory>> memory = ResidentMemory::allocate(device_, bytes);
    if (staging && memory)
      slots_.push_back({std::move(*staging), std::move(*memory)});
    else
      isFull_ = true;
  }
}

Status Prefetcher::send(const std::shared_ptr<ArrayBuffer> &buffer) {
  uint64_t bytes = buffer->size();
  if (bytes <= EntryMemory::kSmall || bytes > EntryMemory::kMaxStaged || buffer->device())
    return {};
  MINIGPTC_RETURN_IF_ERROR(buffer->fetch());
  Slot *slot = freeSlotOf(bytes);
  if (!slot) {
    if (!isFull_)
      wanted_.insert(wanted_.end(), 2, bytes);
    return {};
  }
  MINIGPTC_RETURN_IF_ERROR(slot->memory->wait()); // Its staging is read until then.
  std::memcpy(slot->staging->data(), buffer->read(), bytes);
  MINIGPTC_RETURN_IF_ERROR(queue_->write(slot->memory->address(), slot->staging->data(), bytes));
  StatusOr<std::unique_ptr<Event>> sent = queue_->record();
  if (!sent)
    return sent.status();
  slot->memory->arrivesWith(std::move(*sent));
  slot->memory->settle(buffer);
  return {};
}

} // namespace minigptc::runtime
