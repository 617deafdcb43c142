//===- Fiber.h - stacks to switch between -----------------------*- C++ -*-===//
//
//   Fiber fiber(body, argument);       // body never returns
//   switchFibers(main, fiber);         // runs body(argument) until it switches back
//
// A fiber keeps its stack for good: `body` is a loop. What it left on its stack when it is
// destroyed is dropped without destructors. x86-64 only (`fibersSupported`).
//
//===----------------------------------------------------------------------===//
#ifndef MINIGPTC_RUNTIME_DRIVERS_CUDA_EMULATOR_FIBER_H
#define MINIGPTC_RUNTIME_DRIVERS_CUDA_EMULATOR_FIBER_H

#include <cstddef>
#include <cstdint>

namespace minigptc::runtime::emulator {

#if defined(__x86_64__)
inline constexpr bool fibersSupported = true;
#else
inline constexpr bool fibersSupported = false;
#endif

/// For functions that are left by a switch and perhaps never returned to: their frames must
/// not be marked in the shadow of the address sanitizer.
#define MINIGPTC_ON_FIBER __attribute__((no_sanitize_address, noinline))

class Fiber {
public:
  /// Of local memory and what the processor's code needs beside.
  static constexpr size_t stackBytes = 64 * 1024;

  /// The stack that runs already.
  Fiber() = default;
  /// `color` shifts the stack's beginning, so that stacks do not share cache sets.
  Fiber(void (*body)(void *), void *argument, uint32_t color);
  ~Fiber();
  Fiber(const Fiber &) = delete;
  Fiber &operator=(const Fiber &) = delete;

  /// False if there was no memory for the stack.
  bool valid() const { return memory != nullptr; }
  bool holds(uintptr_t address) const { return address - low < stackBytes; }

private:
  friend void switchFibers(Fiber &from, Fiber &to);
  void *stackPointer = nullptr; ///< while it does not run
  void *memory = nullptr;
  uintptr_t low = 0;
};

/// Leaves the fiber that runs, `from`, until something switches back to it.
void switchFibers(Fiber &from, Fiber &to);

} // namespace minigptc::runtime::emulator

#endif // MINIGPTC_RUNTIME_DRIVERS_CUDA_EMULATOR_FIBER_H
