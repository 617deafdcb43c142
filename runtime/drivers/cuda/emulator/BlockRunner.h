//===- BlockRunner.h - the threads of a block, a fiber each -----*- C++ -*-===//
//
// A thread runs until it waits (at a barrier, in a warp operation) or ends. One that ends
// without having waited leaves its fiber to the next: a kernel without barriers runs all its
// threads on one stack, as a loop of calls.
//
//   BlockRunner runner(state, checker, shared, schedule);
//   for (uint32_t block : state.blocks)
//     if (!runner.run(block))
//       break; // a finding that ends the launch
//
//===----------------------------------------------------------------------===//
#ifndef MINIGPTC_RUNTIME_DRIVERS_CUDA_EMULATOR_BLOCKRUNNER_H
#define MINIGPTC_RUNTIME_DRIVERS_CUDA_EMULATOR_BLOCKRUNNER_H

#include "runtime/drivers/cuda/emulator/AccessChecker.h"
#include "runtime/drivers/cuda/emulator/Schedule.h"

#include <array>
#include <memory>
#include <vector>

namespace minigptc::runtime::emulator {

/// Fibers that are kept from launch to launch: making one costs more than running a thread.
class FiberPool {
public:
  void clear() {
    idle.clear();
    all.clear();
  }
  std::vector<std::unique_ptr<Fiber>> all;
  std::vector<Fiber *> idle; ///< at the end of a thread, ready for another
  Fiber main;
  /// Whoever runs blocks on these fibers.
  BlockRunner *runner = nullptr;
};

class BlockRunner {
public:
  BlockRunner(LaunchState &state, AccessChecker &checker, SharedMemory shared, Schedule &schedule,
              FiberPool &fibers, const Calls &calls);

  /// False if a finding ended the launch; the fibers are gone then.
  bool run(uint32_t block);
  bool outOfMemory() const { return noMemory; }

  // What threads do; false: a finding that ends the launch.
  AccessChecker &accesses() { return checker; }
  /// The thread has come to a barrier. `wait`: others have yet to come.
  bool arriveAtBarrier(GpuThread &thread, uint32_t site, bool &wait);
  bool arriveInWarp(GpuThread &thread, const WarpCall &call, bool &wait);
  bool waitForCopies(GpuThread &thread, uint32_t pending, bool all, uint32_t site);
  /// The lanes that the block has of a warp.
  uint32_t lanesOf(uint32_t warp) const {
    size_t lanes = threads.size() - warp * warpSize;
    return lanes >= warpSize ? ~0u : (1u << lanes) - 1;
  }
  void reportTrap(GpuThread &thread, uint32_t site);
  void reportEndless(GpuThread &thread, uint32_t site);

  // Called on fibers.
  /// Lets others run until the thread can go on.
  void suspend(GpuThread &thread);
  /// Ends the launch.
  [[noreturn]] void abandon(GpuThread &thread);

private:
  static void runThreads(void *pool);
  Fiber *takeFiber();
  void begin(GpuThread &thread);
  /// False: a finding.
  bool finish(GpuThread &thread);
  /// The next thread to run, no longer ready; null if none is.
  GpuThread *pick();
  GpuThread &lane(uint32_t warp, uint32_t lane) { return threads[warp * warpSize + lane]; }
  void reset(uint32_t block);
  void releaseBarrier();
  bool joinWarp(GpuThread &thread, const WarpCall &call);
  bool completeWarp(uint32_t warp, GpuThread &thread);
  bool noteWarpBarrier(uint32_t warp, GpuThread &thread);
  void reportDeadlock();

  LaunchState &state;
  AccessChecker &checker;
  SharedMemory shared;
  Schedule &schedule;
  FiberPool &fibers;
  std::vector<GpuThread> threads;
  uint32_t warpCount;

  GpuThread *running = nullptr;
  uint32_t current = 0;  ///< warp
  uint32_t runnable = 0; ///< warps with ready lanes
  std::array<uint32_t, Schedule::maxWarps> ready = {}, live = {}, inWarpCall = {};
  uint32_t alive = 0, waiting = 0; ///< threads; of them at the barrier
  GpuThread *firstWaiting = nullptr;
  bool failed = false, noMemory = false;
};

/// The table that kernels call the emulator by.
const Calls &emulatorCalls();

} // namespace minigptc::runtime::emulator

#endif // MINIGPTC_RUNTIME_DRIVERS_CUDA_EMULATOR_BLOCKRUNNER_H
