//===- DeviceMemory.h - the memory that emulated kernels may touch -*- C++ -*-===//
//
// A registry of allocations. The emulator owns none of the memory: whoever plays the
// device's allocator adds what it hands out and removes what it takes back.
//
//   memory.add(pointer, bytes, "weights", {.trackWrites = true});
//   memory.markWritten(pointer, bytes); // after a copy from the host
//   memory.remove(pointer);             // from now on a use of it is a use after free
//
//===----------------------------------------------------------------------===//
#ifndef MINIGPTC_RUNTIME_DRIVERS_CUDA_EMULATOR_DEVICEMEMORY_H
#define MINIGPTC_RUNTIME_DRIVERS_CUDA_EMULATOR_DEVICEMEMORY_H

#include "minigptc/runtime/Status.h"
#include "runtime/drivers/cuda/emulator/Findings.h"

#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <string>

namespace minigptc::runtime::emulator {

class ShadowMemory;

/// An allocation with the record of who touched it (`shadow`).
struct Allocation {
  uintptr_t begin = 0;
  uint64_t bytes = 0;
  std::string name;
  /// Reads of what nobody has written are findings.
  bool trackWrites = false;
  std::unique_ptr<ShadowMemory> shadow;

  uintptr_t end() const { return begin + bytes; }
};

class DeviceMemory {
public:
  struct AllocationOptions {
    bool trackWrites = false;
  };

  DeviceMemory();
  ~DeviceMemory();
  DeviceMemory(const DeviceMemory &) = delete;
  DeviceMemory &operator=(const DeviceMemory &) = delete;

  /// Fails if it overlaps what is there.
  Status add(const void *pointer, uint64_t bytes, std::string name, AllocationOptions options);
  Status add(const void *pointer, uint64_t bytes, std::string name = "memory") {
    return add(pointer, bytes, std::move(name), {});
  }
  /// Fails if no allocation begins there.
  Status remove(const void *pointer);
  /// These bytes now hold what the host wrote, or a copy.
  void markWritten(const void *pointer, uint64_t bytes);
  /// All accesses so far are ordered before what comes.
  void forget();

  /// Appends what the launch that began at that time has accessed.
  void collectTouched(uint32_t launch, std::vector<TouchedRange> &ranges) const;

  /// The allocation that holds these bytes, or null.
  Allocation *find(uintptr_t address, uint64_t bytes);
  /// Whether an allocation that held the address was removed since.
  bool wasFreed(uintptr_t address, std::string &name) const;
  /// "4 bytes after the end of 'x' (1024 bytes at 0x…)".
  std::string describe(uintptr_t address) const;

private:
  std::map<uintptr_t, Allocation> allocations; // by begin
  struct Freed {
    uintptr_t begin, end;
    std::string name;
  };
  std::deque<Freed> freed; // the last ones
};

} // namespace minigptc::runtime::emulator

#endif // MINIGPTC_RUNTIME_DRIVERS_CUDA_EMULATOR_DEVICEMEMORY_H
