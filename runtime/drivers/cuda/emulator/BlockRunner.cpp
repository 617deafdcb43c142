#include "runtime/drivers/cuda/emulator/BlockRunner.h"

#include "runtime/drivers/cuda/emulator/WarpOperations.h"

#include <algorithm>
#include <bit>
#include <cstring>

namespace minigptc::runtime::emulator {

BlockRunner::BlockRunner(LaunchState &state, AccessChecker &checker, SharedMemory shared,
                         Schedule &schedule, FiberPool &fibers, const Calls &calls)
    : state(state), checker(checker), shared(shared), schedule(schedule), fibers(fibers),
      threads(state.launch.block.count()),
      warpCount(uint32_t((threads.size() + warpSize - 1) / warpSize)) {
  Dim3 size = state.launch.block, grid = state.launch.grid;
  for (uint32_t i = 0; i < threads.size(); ++i) {
    GpuThread &thread = threads[i];
    static_cast<ThreadState &>(thread) = {
        .calls = &calls,
        .shared = shared.begin,
        .thread = {i % size.x, i / size.x % size.y, i / size.x / size.y},
        .block = {},
        .blockSize = {size.x, size.y, size.z},
        .gridSize = {grid.x, grid.y, grid.z},
        .lane = i % warpSize,
        .warp = i / warpSize,
        .turnsLeft = 0};
    thread.runner = this;
    thread.index = i;
  }
  fibers.runner = this;
}

void BlockRunner::reset(uint32_t block) {
  state.beginBlock();
  if (shared.bytes)
    std::memset(shared.begin, 0xff, shared.bytes); // NaN, as a number
  std::array<uint32_t, 3> place = state.blockPlace(block);
  for (GpuThread &thread : threads) {
    std::copy(place.begin(), place.end(), thread.block);
    thread.fresh = true;
    thread.copies.clear();
    thread.turnsLeft = state.options.maxTurns + 1;
  }
  alive = uint32_t(threads.size());
  waiting = 0;
  inWarpCall.fill(0);
  for (uint32_t warp = 0; warp < warpCount; ++warp) {
    ready[warp] = live[warp] = lanesOf(warp);
    state.warpTimes[warp] = state.blockTime;
  }
  runnable = warpCount == 32 ? ~0u : (1u << warpCount) - 1;
  schedule.shuffleWarps(warpCount);
  current = schedule.pickWarp(runnable);
}

GpuThread *BlockRunner::pick() {
  if (!ready[current]) {
    if (!runnable)
      return nullptr;
    current = schedule.pickWarp(runnable);
  }
  uint32_t number = schedule.pickLane(current, ready[current]);
  if (!(ready[current] &= ~(1u << number)))
    runnable &= ~(1u << current);
  return &lane(current, number);
}

Fiber *BlockRunner::takeFiber() {
  if (fibers.idle.empty()) {
    fibers.all.push_back(std::make_unique<Fiber>(runThreads, &fibers, uint32_t(fibers.all.size())));
    if (!fibers.all.back()->valid()) {
      fibers.all.pop_back();
      return nullptr;
    }
    fibers.idle.push_back(fibers.all.back().get());
  }
  Fiber *fiber = fibers.idle.back();
  fibers.idle.pop_back();
  return fiber;
}

bool BlockRunner::run(uint32_t block) {
  reset(block);
  running = pick();
  Fiber *fiber = takeFiber();
  if (!fiber)
    return noMemory = true, false;
  running->fiber = fiber;
  switchFibers(fibers.main, *fiber);
  if (failed)
    fibers.clear(); // their threads stand somewhere in the middle
  return !failed;
}

void BlockRunner::begin(GpuThread &thread) { thread.fresh = false; }

MINIGPTC_ON_FIBER void BlockRunner::runThreads(void *argument) {
  FiberPool &pool = *static_cast<FiberPool *>(argument);
  for (;;) {
    BlockRunner &runner = *pool.runner;
    GpuThread &thread = *runner.running;
    runner.begin(thread);
    runner.state.record.entry(&thread, runner.state.launch.parameters.data());
    if (!runner.finish(thread))
      runner.abandon(thread);
    GpuThread *next = runner.pick();
    if (next && next->fresh) {
      next->fiber = thread.fiber;
      runner.running = next;
      continue;
    }
    if (!next && runner.alive) {
      runner.reportDeadlock();
      runner.abandon(thread);
    }
    pool.idle.push_back(thread.fiber);
    runner.running = next;
    switchFibers(*thread.fiber, next ? *next->fiber : pool.main);
  }
}

MINIGPTC_ON_FIBER void BlockRunner::suspend(GpuThread &thread) {
  GpuThread *next = pick();
  if (next == &thread)
    return;
  if (!next) {
    reportDeadlock();
    abandon(thread);
  }
  if (next->fresh && !(next->fiber = takeFiber())) {
    noMemory = true;
    abandon(thread);
  }
  running = next;
  switchFibers(*thread.fiber, *next->fiber);
}

MINIGPTC_ON_FIBER void BlockRunner::abandon(GpuThread &thread) {
  failed = true;
  switchFibers(*thread.fiber, fibers.main);
  __builtin_unreachable();
}

bool BlockRunner::finish(GpuThread &thread) {
  --alive;
  live[thread.warp] &= ~(1u << thread.lane);
  if (waiting) {
    state.report(FindingKind::exitedBeforeBarrier, *firstWaiting, firstWaiting->barrierSite,
                 "thread " + std::to_string(thread.index) + " of the block has ended");
    return false;
  }
  // Lanes that waited for this one, too, need it no longer.
  for (uint32_t callers = inWarpCall[thread.warp]; callers; callers &= callers - 1) {
    uint32_t caller = uint32_t(std::countr_zero(callers));
    if ((inWarpCall[thread.warp] >> caller & 1) &&
        !completeWarp(thread.warp, lane(thread.warp, caller)))
      return false;
  }
  return true;
}

bool BlockRunner::arriveAtBarrier(GpuThread &thread, uint32_t site, bool &wait) {
  thread.barrierSite = site;
  if (alive != threads.size()) {
    state.report(FindingKind::exitedBeforeBarrier, thread, site,
                 std::to_string(threads.size() - alive) + " threads of the block have ended");
    return false;
  }
  if (!waiting) {
    firstWaiting = &thread;
  } else if (firstWaiting->barrierSite != site) {
    state.reportPair(FindingKind::divergentBarrier, thread, site, *firstWaiting,
                     firstWaiting->barrierSite, "");
    return false;
  }
  ++waiting;
  wait = true;
  if (waiting == alive)
    releaseBarrier();
  return true;
}

void BlockRunner::releaseBarrier() {
  waiting = 0;
  ready = live;
  runnable = warpCount == 32 ? ~0u : (1u << warpCount) - 1;
  state.barrierTime = ++state.time;
  schedule.shuffleWarps(warpCount);
  current = schedule.pickWarp(runnable);
}

bool BlockRunner::waitForCopies(GpuThread &thread, uint32_t pending, bool all, uint32_t site) {
  for (const AsyncCopy &copy : thread.copies.take(pending, all))
    if (!checker.finishCopy(thread, copy, site))
      return false;
  return true;
}

void BlockRunner::reportTrap(GpuThread &thread, uint32_t site) {
  state.report(FindingKind::trap, thread, site, "");
}

void BlockRunner::reportEndless(GpuThread &thread, uint32_t site) {
  state.report(FindingKind::endlessLoop, thread, site,
               "more than " + std::to_string(state.options.maxTurns) + " turns of the thread's loops");
}

} // namespace minigptc::runtime::emulator
