#include "runtime/base/ArrayBuffer.h"

#include "runtime/base/Memory.h"

#include <utility>

namespace minigptc::runtime {

DeviceCopy::~DeviceCopy() = default;

std::shared_ptr<ArrayBuffer> ArrayBuffer::allocate(uint64_t bytes) {
  std::shared_ptr<std::byte[]> memory = allocateAligned(bytes);
  if (!memory)
    return nullptr;
  std::shared_ptr<ArrayBuffer> buffer(new ArrayBuffer(bytes));
  buffer->host_ = std::move(memory);
  buffer->onHost_ = true;
  return buffer;
}

std::shared_ptr<ArrayBuffer> ArrayBuffer::onDevice(uint64_t bytes,
                                                   std::shared_ptr<DeviceCopy> copy) {
  std::shared_ptr<ArrayBuffer> buffer(new ArrayBuffer(bytes));
  buffer->device_ = std::move(copy);
  return buffer;
}

Status ArrayBuffer::fetch() {
  if (isOnHost())
    return {};
  std::lock_guard lock(mutex_);
  if (isOnHost())
    return {}; // Another reader was first.
  if (!device_)
    return Status(StatusCode::failedPrecondition,
                  "an array that was donated to a run is read after it")
        .withHelp("read what the run gives back, or keep a copy of the array beside the one that "
                  "is donated");
  std::shared_ptr<std::byte[]> memory = allocateAligned(size_);
  if (!memory)
    return Status(StatusCode::resourceExhausted, "not enough memory of the host to read an array");
  MINIGPTC_RETURN_IF_ERROR(device_->download({memory.get(), size_t(size_)}));
  host_ = std::move(memory);
  onHost_.store(true, std::memory_order_release);
  return {};
}

const std::byte *ArrayBuffer::read() { return fetch() ? host_.get() : nullptr; }

std::byte *ArrayBuffer::write() {
  if (!fetch())
    return nullptr;
  version_.fetch_add(1, std::memory_order_relaxed);
  setDevice(nullptr);
  return host_.get();
}

std::shared_ptr<DeviceCopy> ArrayBuffer::device() const {
  std::lock_guard lock(mutex_);
  return device_;
}

void ArrayBuffer::setDevice(std::shared_ptr<DeviceCopy> copy) {
  std::lock_guard lock(mutex_);
  device_.swap(copy);
}

} // namespace minigptc::runtime
