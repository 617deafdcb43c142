//===- AccessChecker.h - whether a thread may touch an address --*- C++ -*-===//
//
// Finds what an address belongs to (a variable in shared memory, a parameter's buffer, an
// allocation, the thread's own stack), remembers it for the site, and asks the shadow of that
// memory who was there before.
//
//   if (!checker.access(thread, address, bytes, site))
//     … // reported; the GPU would not go on
//
//===----------------------------------------------------------------------===//
#ifndef MINIGPTC_RUNTIME_DRIVERS_CUDA_EMULATOR_ACCESSCHECKER_H
#define MINIGPTC_RUNTIME_DRIVERS_CUDA_EMULATOR_ACCESSCHECKER_H

#include "runtime/drivers/cuda/emulator/LaunchState.h"

namespace minigptc::runtime::emulator {

/// The memory that the threads of the running block share.
struct SharedMemory {
  char *begin = nullptr;
  uint64_t bytes = 0; ///< as laid out, with gaps
  uint64_t reach = 0; ///< with a margin behind: addresses there are wrong ones of shared memory
  ShadowMemory *shadow = nullptr;
};

class AccessChecker {
public:
  AccessChecker(LaunchState &state, DeviceMemory &memory, SharedMemory shared);

  /// False after a finding that ends the launch.
  bool access(GpuThread &thread, const void *address, uint64_t bytes, uint32_t site);
  /// For an array of the thread's own.
  bool localAccess(GpuThread &thread, uintptr_t base, uint64_t size, uintptr_t address,
                   uint64_t bytes, uint32_t site);
  /// Checks both ends of an asynchronous copy, and marks the target as not there.
  bool beginCopy(GpuThread &thread, const AsyncCopy &copy);
  /// It arrives, and counts as written now.
  bool finishCopy(GpuThread &thread, const AsyncCopy &copy, uint32_t waitSite);

private:
  /// What a site's addresses have last been found in.
  struct Range {
    uintptr_t begin = 0;
    uint64_t bytes = 0;
    ShadowMemory *shadow = nullptr; ///< null: nothing to track
    bool isShared = false;
    uint32_t writtenSince = 0; ///< of device memory
    bool holds(uintptr_t address, uint64_t count) const {
      return address - begin <= bytes && count <= bytes - (address - begin);
    }
  };
  enum class Outcome { found, local, fault };

  /// Fills the site's range; `flags` say whether it is to be read or written.
  Outcome resolve(GpuThread &thread, uintptr_t address, uint64_t bytes, uint32_t site,
                  uint32_t flags, Range &range);
  Outcome resolveShared(GpuThread &thread, uintptr_t address, uint64_t bytes, uint32_t site,
                        Range &range);
  Outcome resolveParameter(GpuThread &thread, uintptr_t address, uint64_t bytes, uint32_t site,
                           uint32_t flags, Range &range, bool &known);
  bool isParameterValue(uintptr_t address, uint64_t bytes) const;
  void setRange(Range &range, Allocation &allocation, uintptr_t begin, uint64_t bytes) const;
  Outcome outOfBounds(GpuThread &thread, uintptr_t address, uint64_t bytes, uint32_t site,
                      const std::string &where);
  bool check(GpuThread &thread, uintptr_t address, uint64_t bytes, uint32_t site, uint32_t flags,
             uint32_t alignment, Range &range);
  std::string describe(const Range &range, uintptr_t address) const;

  LaunchState &state;
  DeviceMemory &memory;
  SharedMemory shared;
  std::vector<Range> ranges, sourceRanges; ///< by site; the second of asynchronous copies' sources
};

} // namespace minigptc::runtime::emulator

#endif // MINIGPTC_RUNTIME_DRIVERS_CUDA_EMULATOR_ACCESSCHECKER_H
