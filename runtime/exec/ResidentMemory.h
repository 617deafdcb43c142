//===- ResidentMemory.h - a device's memory with an array's value -*- C++ -*-===//
//
// What entries compute in, and arrays lie in. It knows whose value it has: an array that has
// it *here* (`ArrayBuffer::device`) is its tenant and is moved out before the memory is
// written; of any other it has a copy.
//
//   auto memory = ResidentMemory::allocate(device, bytes);
//   MINIGPTC_RETURN_IF_ERROR((*memory)->vacate(queue));   // it is to be written
//   ... written ...
//   (*memory)->settle(buffer);                            // this array's value lies here now
//
// Shared by arrays and entries; the last one gives it back.
//
//===----------------------------------------------------------------------===//
#ifndef MINIGPTC_RUNTIME_EXEC_RESIDENTMEMORY_H
#define MINIGPTC_RUNTIME_EXEC_RESIDENTMEMORY_H

#include "runtime/base/ArrayBuffer.h"
#include "runtime/hal/Device.h"

namespace minigptc::runtime {

class ResidentMemory final : public DeviceCopy,
                             public std::enable_shared_from_this<ResidentMemory> {
public:
  static StatusOr<std::shared_ptr<ResidentMemory>> allocate(std::shared_ptr<Device> device,
                                                            uint64_t bytes);

  ~ResidentMemory() override;

  std::byte *address() const { return memory_->data(); }
  uint64_t size() const { return memory_->size(); }
  const Device &device() const { return *device_; }
  Status download(std::span<std::byte> target) override;

  /// It holds the array's present value.
  bool holds(const ArrayBuffer &buffer) const;
  /// The value is that of the array, which may also lie elsewhere.
  void noteCopy(const std::shared_ptr<ArrayBuffer> &buffer);
  /// The array lies here.
  void settle(const std::shared_ptr<ArrayBuffer> &buffer);
  /// Nobody's value is here any more. A tenant whose value is nowhere else gets it in memory
  /// of its own, or on the host where the device has no more; `queue` is idle afterwards.
  Status vacate(Queue &queue);
  /// As `vacate`, but a tenant's value is lost.
  void abandon();

  /// Its value has been sent ahead of time, and is there with the event. Entries copy it, so
  /// that the memory can be used for the next one.
  void arrivesWith(std::unique_ptr<Event> event) { arrival_ = std::move(event); }
  bool isTransient() const { return arrival_ != nullptr; }
  /// The host, or what `queue` does from now on, waits for the value.
  Status wait();
  Status waitIn(Queue &queue) { return arrival_ ? queue.waitFor(*arrival_) : Status(); }
  /// No array has its value here, and nobody else shares the memory.
  bool isFree() const { return !tenant() && weak_from_this().use_count() == 1; }

private:
  ResidentMemory(std::shared_ptr<Device> device, std::unique_ptr<Buffer> memory)
      : device_(std::move(device)), memory_(std::move(memory)) {}
  Status moveOut(const std::shared_ptr<ArrayBuffer> &array, Queue &queue);
  /// Null: no array has its value here.
  std::shared_ptr<ArrayBuffer> tenant() const;

  std::shared_ptr<Device> device_;
  std::unique_ptr<Buffer> memory_;
  std::unique_ptr<Event> arrival_; ///< null: the value has come with a run
  std::weak_ptr<ArrayBuffer> held_;
  uint64_t version_ = 0; ///< of `held_`
};

/// The buffer's memory on this device, with its present value; null if it has none there.
std::shared_ptr<ResidentMemory> residenceOf(const ArrayBuffer &buffer, const Device &device);

} // namespace minigptc::runtime

#endif // MINIGPTC_RUNTIME_EXEC_RESIDENTMEMORY_H
