//===- MemoryLimits.h - how much memory this process may use ----*- C++ -*-===//
//
//   MemoryLimits limits = memoryLimits();
//   if (bytes > limits.total)        // the system would kill the process
//     ...
//
//===----------------------------------------------------------------------===//
#ifndef MINIGPTC_RUNTIME_BASE_MEMORYLIMITS_H
#define MINIGPTC_RUNTIME_BASE_MEMORYLIMITS_H

#include <cstdint>
#include <string>

namespace minigptc::runtime {

/// Bytes.
struct MemoryLimits {
  /// The machine's memory, or what the process's control group may have of it, and swap.
  uint64_t total = UINT64_MAX;
  /// What of it nobody uses now; caches that the system can drop count as unused.
  uint64_t available = UINT64_MAX;
};

/// `root` holds the folders proc and sys; other than "" in tests. What the system
/// doesn't tell is taken as unlimited.
MemoryLimits memoryLimits(const std::string &root = "");

/// "12.3 GiB", "340 MiB", "2 KiB", "64 bytes".
std::string readableBytes(uint64_t bytes);

} // namespace minigptc::runtime

#endif // MINIGPTC_RUNTIME_BASE_MEMORYLIMITS_H
