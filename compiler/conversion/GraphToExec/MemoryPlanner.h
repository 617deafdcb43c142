//===- MemoryPlanner.h - offsets for buffers with known lifetimes -*- C++ -*-===//
//
// Packs buffers into one frame so that buffers alive at the same time do not
// overlap. Best fit, the largest first: each buffer goes into the smallest gap
// between those already placed that live at the same time, else behind them.
// Deterministic: depends on the list only.
//
//   MemoryPlan plan = planMemory({{256, 0, 1}, {256, 2, 3}});
//   plan.offsets == {0, 0}, plan.size == 256
//
//===----------------------------------------------------------------------===//
#ifndef MINIGPTC_COMPILER_CONVERSION_GRAPHTOEXEC_MEMORYPLANNER_H
#define MINIGPTC_COMPILER_CONVERSION_GRAPHTOEXEC_MEMORYPLANNER_H

#include <cstdint>
#include <vector>

namespace minigptc {

/// Buffers start at multiples of so many bytes, a cache line.
inline constexpr int64_t kBufferAlignment = 64;

constexpr int64_t alignBuffer(int64_t bytes) {
  return (bytes + kBufferAlignment - 1) / kBufferAlignment * kBufferAlignment;
}

/// A buffer that is alive from instruction `begin` to instruction `end`, both included.
struct Lifetime {
  int64_t bytes = 0, begin = 0, end = 0;
};

struct MemoryPlan {
  std::vector<int64_t> offsets; ///< per buffer, in bytes, aligned
  int64_t size = 0;             ///< of the frame, in bytes, aligned
};

MemoryPlan planMemory(const std::vector<Lifetime> &buffers);

/// The most bytes alive at one time: no plan is smaller.
int64_t getPeak(const std::vector<Lifetime> &buffers);

} // namespace minigptc

#endif // MINIGPTC_COMPILER_CONVERSION_GRAPHTOEXEC_MEMORYPLANNER_H
