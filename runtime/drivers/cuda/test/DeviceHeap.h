//===- DeviceHeap.h - the memory of an emulated device ----------*- C++ -*-===//
//
// Hands out memory of the process: poisoned, with guard zones on both sides, known to the
// device's emulator. What was given back is kept for a while, so that its address is not
// somebody else's at once.
//
//   StatusOr<DeviceAllocation *> x = heap.allocate(1024);
//   heap.find(address, bytes);                      // null: not of this device
//   heap.free(*x, [](const std::string &text) { … }); // guard zones that were written
//
//===----------------------------------------------------------------------===//
#ifndef MINIGPTC_RUNTIME_DRIVERS_CUDA_TEST_DEVICEHEAP_H
#define MINIGPTC_RUNTIME_DRIVERS_CUDA_TEST_DEVICEHEAP_H

#include "runtime/drivers/cuda/emulator/Emulator.h"
#include "runtime/drivers/cuda/test/AccessLog.h"

#include <cstdlib>

namespace minigptc::runtime::cuda::test {

struct FreeMemory {
  void operator()(std::byte *memory) const { std::free(memory); }
};

struct DeviceAllocation {
  uintptr_t begin = 0;
  uint64_t bytes = 0;
  std::string name; ///< "allocation 3 of device 0 (1024 bytes)"
  std::unique_ptr<std::byte, FreeMemory> raw;
  AccessLog log;
  DeviceAllocation() : log(0, 0) {}
};

class DeviceHeap {
public:
  DeviceHeap(int device, uint64_t capacity) : device(device), capacity(capacity) {}

  /// resourceExhausted if the device has not as much.
  StatusOr<DeviceAllocation *> allocate(uint64_t bytes);
  DeviceAllocation *find(uintptr_t address, uint64_t bytes);
  void free(DeviceAllocation &allocation, const std::function<void(const std::string &)> &report);
  /// Text for each allocation whose guard zones do not hold what they did.
  void checkGuards(const std::function<void(const std::string &)> &report) const;

  uint64_t total() const { return capacity; }
  uint64_t available() const { return capacity - used; }
  const std::map<uintptr_t, DeviceAllocation> &all() const { return allocations; }
  emulator::Emulator &emulator() { return runner; }

private:
  int device;
  uint64_t capacity, used = 0, made = 0;
  emulator::Emulator runner;
  std::map<uintptr_t, DeviceAllocation> allocations;
  std::deque<DeviceAllocation> freed;
};

} // namespace minigptc::runtime::cuda::test

#endif // MINIGPTC_RUNTIME_DRIVERS_CUDA_TEST_DEVICEHEAP_H
