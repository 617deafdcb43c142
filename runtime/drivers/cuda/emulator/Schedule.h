//===- Schedule.h - in which order blocks, warps and lanes run --*- C++ -*-===//
//
// A schedule is drawn from a seed and repeats. Within a block, the warp of the highest
// priority that can run does; priorities change at barriers. So some warp is a whole phase
// ahead of another, which finds more than an order that is random at every step.
//
//   Schedule schedule(seed);
//   for (uint64_t block : schedule.blocks(grid)) …
//
//===----------------------------------------------------------------------===//
#ifndef MINIGPTC_RUNTIME_DRIVERS_CUDA_EMULATOR_SCHEDULE_H
#define MINIGPTC_RUNTIME_DRIVERS_CUDA_EMULATOR_SCHEDULE_H

#include <array>
#include <cstdint>
#include <vector>

namespace minigptc::runtime::emulator {

class Schedule {
public:
  static constexpr uint32_t maxWarps = 32;

  /// Seed 0: the natural order of everything.
  explicit Schedule(uint64_t seed);

  std::vector<uint32_t> blocks(uint64_t count);
  /// Draws new priorities.
  void shuffleWarps(uint32_t warps);
  /// Of the warps in `runnable` (a bit each, not 0) the one to run.
  uint32_t pickWarp(uint32_t runnable) const;
  /// Of the lanes in `ready` (not 0) the one to run.
  uint32_t pickLane(uint32_t warp, uint32_t ready) const;

private:
  uint64_t random(uint64_t bound);

  bool natural;
  uint64_t state;
  std::array<uint8_t, maxWarps> order; ///< warps, the most urgent first
  uint32_t warpCount = 0;
  uint32_t backwards = 0; ///< warps whose last lane goes first
};

} // namespace minigptc::runtime::emulator

#endif // MINIGPTC_RUNTIME_DRIVERS_CUDA_EMULATOR_SCHEDULE_H
