//===- ArrayBuffer.h - where an array's bytes lie ---------------*- C++ -*-===//
//
// In the host's memory, in a device's, or in both. What a run leaves on a device comes to the
// host when somebody reads it; what the host writes is no longer on the device.
//
//   auto buffer = ArrayBuffer::onDevice(bytes, place);
//   MINIGPTC_RETURN_IF_ERROR(buffer->fetch());        // why it cannot be read, if it cannot
//   const std::byte *values = buffer->read();
//   buffer->write()[0] = std::byte(1);                // the device's copy is stale: dropped
//
// Several threads may read one; who writes is alone.
//
//===----------------------------------------------------------------------===//
#ifndef MINIGPTC_RUNTIME_BASE_ARRAYBUFFER_H
#define MINIGPTC_RUNTIME_BASE_ARRAYBUFFER_H

#include "minigptc/runtime/Array.h"

#include <atomic>
#include <cstdint>
#include <mutex>

namespace minigptc::runtime {

/// A buffer's bytes on a device. Keeps the device, so that arrays outlive their session.
class DeviceCopy {
public:
  virtual ~DeviceCopy();
  virtual Status download(std::span<std::byte> target) = 0;
};

class ArrayBuffer {
public:
  /// On the host, contents undefined; null if memory is short.
  static std::shared_ptr<ArrayBuffer> allocate(uint64_t bytes);
  static std::shared_ptr<ArrayBuffer> onDevice(uint64_t bytes, std::shared_ptr<DeviceCopy> copy);

  uint64_t size() const { return size_; }
  /// Sees to it that the host has the bytes.
  Status fetch();
  /// Null if they cannot be had: `fetch` says why.
  const std::byte *read();
  /// As `read`, to be changed: until the next run, which takes them to the device anew.
  std::byte *write();
  /// Tells contents apart: another one after each `write`.
  uint64_t version() const { return version_.load(std::memory_order_relaxed); }

  bool isOnHost() const { return onHost_.load(std::memory_order_acquire); }
  /// Null: nowhere but on the host, or lost.
  std::shared_ptr<DeviceCopy> device() const;
  /// Of the same contents; null: they are there no longer.
  void setDevice(std::shared_ptr<DeviceCopy> copy);

private:
  explicit ArrayBuffer(uint64_t size) : size_(size) {}

  uint64_t size_;
  std::atomic<uint64_t> version_{0};
  std::atomic<bool> onHost_{false};
  mutable std::mutex mutex_; ///< of the two below
  std::shared_ptr<std::byte[]> host_;
  std::shared_ptr<DeviceCopy> device_;
};

/// What arrays are made of, for the runtime.
struct ArrayParts {
  /// Its buffer on a device: the only one, if it is whole.
  static const std::shared_ptr<ArrayBuffer> &buffer(const Array &array, int64_t device);
  static Array whole(TensorType type, std::shared_ptr<ArrayBuffer> buffer);
  /// Of the devices of this process.
  static Array sharded(TensorType type, Mesh mesh, PartitionSpec spec, DeviceRange here,
                       std::vector<std::shared_ptr<ArrayBuffer>> buffers);
};

} // namespace minigptc::runtime

#endif // MINIGPTC_RUNTIME_BASE_ARRAYBUFFER_H
