//===- Emulator.h - runs CUDA kernels on the CPU and checks them -*- C++ -*-===//
//
// An emulated device: kernels that were compiled for it (`compiler/target/cuda/Emulation.h`)
// run with one fiber for each GPU thread, block after block, and every access, barrier and
// warp operation is checked. Results and findings depend on the launch and the seed only.
// It is a test tool, and says nothing about a GPU's speed. x86-64 only: elsewhere loading
// fails with a message.
//
//   Emulator device;
//   device.memory().add(x, bytes, "x");
//   StatusOr<EmulatedModule> module = EmulatedModule::load(elf);
//   Launch launch{.kernel = "scale", .grid = {8}, .block = {256}, .parameters = {&x, &n}};
//   StatusOr<Report> report = device.launch(*module, launch, {.seed = 7});
//   // !report: the launch itself was wrong; !report->clean(): the kernel is.
//
//===----------------------------------------------------------------------===//
#ifndef MINIGPTC_RUNTIME_DRIVERS_CUDA_EMULATOR_EMULATOR_H
#define MINIGPTC_RUNTIME_DRIVERS_CUDA_EMULATOR_EMULATOR_H

#include "runtime/drivers/cuda/emulator/DeviceMemory.h"
#include "runtime/drivers/cuda/emulator/EmulatorAbi.h"
#include "runtime/drivers/cuda/emulator/Findings.h"

#include <memory>
#include <span>
#include <string>
#include <vector>

namespace minigptc::runtime::emulator {

struct Dim3 {
  uint32_t x = 1, y = 1, z = 1;
  uint64_t count() const { return uint64_t(x) * y * z; }
};

/// How far the buffer behind a pointer parameter goes: finer than allocations, of which a
/// program has few. Where the compiler knows which parameter an address comes from, it must
/// lie in that parameter's buffer.
struct Extent {
  uint64_t bytes = 0; ///< 0: the whole allocation
  bool writable = true;
};

struct Launch {
  std::string kernel;
  Dim3 grid, block;
  uint32_t sharedBytes = 0; ///< dynamic shared memory
  /// The address of each parameter's value, as for cuLaunchKernel. Read during `launch`.
  std::vector<const void *> parameters;
  /// One for each parameter (those of scalars are not looked at), or none at all.
  std::vector<Extent> extents;
};

struct LaunchOptions {
  /// 0: blocks, warps and lanes in their natural order; else an order drawn from the seed, in
  /// which some warp runs as far ahead as it can.
  uint64_t seed = 0;
  /// Races and reads of memory that nobody wrote; without, only what a GPU would trap.
  bool trackAccesses = true;
  bool recordTouched = false; ///< fills Report::touched; needs `trackAccesses`
  uint32_t maxFindings = 16;
  /// Of all loops of a thread together: one that goes on is a loop without end.
  uint64_t maxTurns = uint64_t(1) << 26;
  uint32_t maxSharedBytes = 227 * 1024; ///< static and dynamic, of a block
};

/// Kernels in memory. Movable; may be used by several emulators at once.
class EmulatedModule {
public:
  static StatusOr<EmulatedModule> load(std::span<const std::byte> elf);
  EmulatedModule(EmulatedModule &&) noexcept;
  EmulatedModule &operator=(EmulatedModule &&) noexcept;
  ~EmulatedModule();

  /// Null if there is no such kernel.
  const KernelRecord *find(const std::string &kernel) const;

private:
  struct State;
  explicit EmulatedModule(std::unique_ptr<State> state);
  std::unique_ptr<State> state;
};

/// One device. Launches run one after the other; any thread may call.
class Emulator {
public:
  Emulator();
  ~Emulator();
  Emulator(const Emulator &) = delete;
  Emulator &operator=(const Emulator &) = delete;

  /// Not to be changed while a launch runs.
  DeviceMemory &memory();

  /// Runs the kernel to its end, or to a finding that ends it. Fails if the launch does not
  /// fit the kernel: no such kernel, a wrong number of parameters, too large a block.
  StatusOr<Report> launch(const EmulatedModule &module, const Launch &launch,
                          const LaunchOptions &options = {});

private:
  struct State;
  std::unique_ptr<State> state;
};

} // namespace minigptc::runtime::emulator

#endif // MINIGPTC_RUNTIME_DRIVERS_CUDA_EMULATOR_EMULATOR_H
