//===- Clock.h - the time for measurements ----------------------*- C++ -*-===//
//
//   int64_t start = nanosecondsNow();
//
//===----------------------------------------------------------------------===//
#ifndef MINIGPTC_RUNTIME_BASE_CLOCK_H
#define MINIGPTC_RUNTIME_BASE_CLOCK_H

#include <chrono>
#include <cstdint>

namespace minigptc::runtime {

/// Of the steady clock: the times of threads, instructions and steps compare.
inline int64_t nanosecondsNow() {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(
             std::chrono::steady_clock::now().time_since_epoch())
      .count();
}

} // namespace minigptc::runtime

#endif // MINIGPTC_RUNTIME_BASE_CLOCK_H
