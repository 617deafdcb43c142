//===- Spin.h - short waits without sleeping --------------------*- C++ -*-===//
//
//   if (!spinUntil(50, [&] { return ready.load(); }))
//     ... // sleep
//
//===----------------------------------------------------------------------===//
#ifndef MINIGPTC_RUNTIME_BASE_SPIN_H
#define MINIGPTC_RUNTIME_BASE_SPIN_H

#include <atomic>
#include <chrono>

namespace minigptc::runtime {

/// Tells the processor that this thread spins.
inline void pauseCpu() {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#else
  std::atomic_signal_fence(std::memory_order_seq_cst);
#endif
}

/// Spins until `ready()` or the time is over; says which.
template <typename Ready> bool spinUntil(int microseconds, Ready ready) {
  using Clock = std::chrono::steady_clock;
  Clock::time_point end = Clock::now() + std::chrono::microseconds(microseconds);
  do {
    for (int i = 0; i < 32; ++i) {
      if (ready())
        return true;
      pauseCpu();
    }
  } while (Clock::now() < end);
  return ready();
}

} // namespace minigptc::runtime

#endif // MINIGPTC_RUNTIME_BASE_SPIN_H
