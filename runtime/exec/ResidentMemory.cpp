#include "runtime/exec/ResidentMemory.h"

namespace minigptc::runtime {

StatusOr<std::shared_ptr<ResidentMemory>> ResidentMemory::allocate(std::shared_ptr<Device> device,
                                                                   uint64_t bytes) {
  StatusOr<std::unique_ptr<Buffer>> memory = device->allocate(bytes);
  if (!memory)
    return memory.status();
  return std::shared_ptr<ResidentMemory>(new ResidentMemory(std::move(device), std::move(*memory)));
}

ResidentMemory::~ResidentMemory() {
  Status done = wait(); // Memory that is being written must not be given back.
  (void)done;
}

Status ResidentMemory::wait() { return arrival_ ? arrival_->wait() : Status(); }

Status ResidentMemory::download(std::span<std::byte> target) {
  MINIGPTC_RETURN_IF_ERROR(wait());
  return device_->download(target, memory_->data());
}

bool ResidentMemory::holds(const ArrayBuffer &buffer) const {
  return held_.lock().get() == &buffer && version_ == buffer.version();
}

void ResidentMemory::noteCopy(const std::shared_ptr<ArrayBuffer> &buffer) {
  held_ = buffer;
  version_ = buffer->version();
}

std::shared_ptr<ArrayBuffer> ResidentMemory::tenant() const {
  std::shared_ptr<ArrayBuffer> held = held_.lock();
  return held && held->device().get() == this ? held : nullptr;
}

void ResidentMemory::settle(const std::shared_ptr<ArrayBuffer> &buffer) {
  noteCopy(buffer);
  buffer->setDevice(shared_from_this());
}

Status ResidentMemory::vacate(Queue &queue) {
  if (std::shared_ptr<ArrayBuffer> moved = tenant())
    MINIGPTC_RETURN_IF_ERROR(moveOut(moved, queue));
  held_.reset();
  return {};
}

Status ResidentMemory::moveOut(const std::shared_ptr<ArrayBuffer> &array, Queue &queue) {
  if (!array->isOnHost()) {
    if (StatusOr<std::shared_ptr<ResidentMemory>> place = allocate(device_, memory_->size())) {
      MINIGPTC_RETURN_IF_ERROR(queue.copy((*place)->address(), address(), memory_->size()));
      MINIGPTC_RETURN_IF_ERROR(queue.synchronize()); // Other threads may read it at once.
      (*place)->settle(array);
      return {};
    }
    MINIGPTC_RETURN_IF_ERROR(array->fetch());
  }
  array->setDevice(nullptr);
  return {};
}

void ResidentMemory::abandon() {
  if (std::shared_ptr<ArrayBuffer> lost = tenant())
    lost->setDevice(nullptr);
  held_.reset();
}

std::shared_ptr<ResidentMemory> residenceOf(const ArrayBuffer &buffer, const Device &device) {
  auto memory = std::dynamic_pointer_cast<ResidentMemory>(buffer.device());
  return memory && &memory->device() == &device ? memory : nullptr;
}

} // namespace minigptc::runtime
