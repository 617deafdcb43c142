//===- EmulatorCalls.cpp - what kernels call ------------------------------===//
//
// On a thread's fiber: functions here may be left for good in the middle (`abandon`), and so
// own nothing.
//
//===----------------------------------------------------------------------===//
#include "runtime/drivers/cuda/emulator/BlockRunner.h"
#include "runtime/drivers/cuda/emulator/ScalarOperations.h"

namespace minigptc::runtime::emulator {
namespace {

GpuThread &threadOf(ThreadState *state) { return *static_cast<GpuThread *>(state); }

MINIGPTC_ON_FIBER void access(ThreadState *state, const void *address, uint64_t bytes,
                              uint32_t site) {
  GpuThread &thread = threadOf(state);
  if (!thread.runner->accesses().access(thread, address, bytes, site))
    thread.runner->abandon(thread);
}

MINIGPTC_ON_FIBER void localAccess(ThreadState *state, const void *base, uint64_t size,
                                   const void *address, uint64_t bytes, uint32_t site) {
  GpuThread &thread = threadOf(state);
  if (!thread.runner->accesses().localAccess(thread, reinterpret_cast<uintptr_t>(base), size,
                                             reinterpret_cast<uintptr_t>(address), bytes, site))
    thread.runner->abandon(thread);
}

MINIGPTC_ON_FIBER void barrier(ThreadState *state, uint32_t site) {
  GpuThread &thread = threadOf(state);
  bool wait = false;
  if (!thread.runner->arriveAtBarrier(thread, site, wait))
    thread.runner->abandon(thread);
  if (wait)
    thread.runner->suspend(thread);
}

MINIGPTC_ON_FIBER void warp(ThreadState *state, uint32_t op, uint32_t mask, const uint32_t *in,
                            uint32_t *out, uint32_t site) {
  GpuThread &thread = threadOf(state);
  bool wait = false;
  if (!thread.runner->arriveInWarp(thread, {WarpOp(op), mask, site, in, out}, wait))
    thread.runner->abandon(thread);
  if (wait)
    thread.runner->suspend(thread);
}

uint32_t activeMask(ThreadState *state) {
  GpuThread &thread = threadOf(state);
  return thread.runner->lanesOf(thread.warp);
}

MINIGPTC_ON_FIBER void copyAsync(ThreadState *state, void *target, const void *source,
                                 uint32_t bytes, uint32_t sourceBytes, uint32_t site) {
  GpuThread &thread = threadOf(state);
  AsyncCopy copy{target, source, bytes, sourceBytes < bytes ? sourceBytes : bytes, site};
  if (!thread.runner->accesses().beginCopy(thread, copy))
    thread.runner->abandon(thread);
  thread.copies.add(copy);
}

void commitCopies(ThreadState *state) { threadOf(state).copies.commit(); }

MINIGPTC_ON_FIBER void waitForCopies(ThreadState *state, uint32_t pending, uint32_t all,
                                     uint32_t site) {
  GpuThread &thread = threadOf(state);
  if (!thread.runner->waitForCopies(thread, pending, all, site))
    thread.runner->abandon(thread);
}

MINIGPTC_ON_FIBER void trap(ThreadState *state, uint32_t site) {
  GpuThread &thread = threadOf(state);
  thread.runner->reportTrap(thread, site);
  thread.runner->abandon(thread);
}

MINIGPTC_ON_FIBER void endless(ThreadState *state, uint32_t site) {
  GpuThread &thread = threadOf(state);
  thread.runner->reportEndless(thread, site);
  thread.runner->abandon(thread);
}

} // namespace

const Calls &emulatorCalls() {
  static const Calls calls = {.access = access,
                              .localAccess = localAccess,
                              .barrier = barrier,
                              .warp = warp,
                              .activeMask = activeMask,
                              .copyAsync = copyAsync,
                              .commitCopies = commitCopies,
                              .waitForCopies = waitForCopies,
                              .trap = trap,
                              .endless = endless,
                              .unary = unaryOperation,
                              .binary = binaryOperation,
                              .ternary = ternaryOperation};
  return calls;
}

} // namespace minigptc::runtime::emulator
