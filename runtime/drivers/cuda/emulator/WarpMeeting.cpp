//===- WarpMeeting.cpp - how the lanes of a warp come together ------------===//
//
// Lanes wait until all lanes of their mask that are alive have come to the same operation.
//
//===----------------------------------------------------------------------===//
#include "runtime/drivers/cuda/emulator/BlockRunner.h"
#include "runtime/drivers/cuda/emulator/WarpOperations.h"

#include <bit>
#include <cinttypes>
#include <cstdio>
#include <cstring>

namespace minigptc::runtime::emulator {

static std::string maskText(uint32_t mask) {
  char text[32];
  std::snprintf(text, sizeof(text), "mask 0x%08" PRIx32, mask);
  return text;
}

bool BlockRunner::arriveInWarp(GpuThread &thread, const WarpCall &call, bool &wait) {
  uint32_t me = 1u << thread.lane;
  if (!(call.mask & me)) {
    state.report(FindingKind::badMask, thread, call.site,
                 maskText(call.mask) + " does not have lane " + std::to_string(thread.lane));
    return false;
  }
  if (thread.lane < matrixRows(call.op)) {
    uint64_t row;
    std::memcpy(&row, call.in, sizeof(row));
    if (!checker.access(thread, reinterpret_cast<const void *>(row), 16, call.site))
      return false;
  }
  if (!joinWarp(thread, call))
    return false;
  uint32_t wanted = call.mask & live[thread.warp];
  wait = (inWarpCall[thread.warp] & wanted) != wanted;
  return wait || completeWarp(thread.warp, thread);
}

/// Fails if a lane waits at something else for this one, or this one for it.
bool BlockRunner::joinWarp(GpuThread &thread, const WarpCall &call) {
  uint32_t me = 1u << thread.lane;
  for (uint32_t others = inWarpCall[thread.warp]; others; others &= others - 1) {
    GpuThread &other = lane(thread.warp, uint32_t(std::countr_zero(others)));
    bool concerned = (other.call.mask & me) || (call.mask >> other.lane & 1);
    if (concerned && !other.call.sameAs(call)) {
      state.reportPair(FindingKind::divergentWarp, thread, call.site, other, other.call.site,
                       maskText(call.mask) + " here, " + maskText(other.call.mask) + " there");
      return false;
    }
  }
  thread.call = call;
  inWarpCall[thread.warp] |= me;
  return true;
}

/// Computes the operation of `thread`'s group if all of it have come; `thread` itself and the
/// others are ready then, but for the one that runs, which goes on.
bool BlockRunner::completeWarp(uint32_t warp, GpuThread &thread) {
  const WarpCall call = thread.call;
  uint32_t group = call.mask & live[warp];
  if ((inWarpCall[warp] & group) != group)
    return true;
  if (needsWholeWarp(call.op) && group != ~0u) {
    state.report(FindingKind::badMask, thread, call.site, "not all 32 lanes are there");
    return false;
  }
  WarpLanes lanes;
  lanes.mask = group;
  for (uint32_t rest = group; rest; rest &= rest - 1) {
    GpuThread &member = lane(warp, uint32_t(std::countr_zero(rest)));
    lanes.in[member.lane] = member.call.in;
    lanes.out[member.lane] = member.call.out;
  }
  WarpResult result = runWarpOperation(call.op, lanes);
  if (result.meaningless)
    state.report(FindingKind::badMask, lane(warp, uint32_t(std::countr_zero(result.meaningless))),
                 call.site, maskText(group) + " does not have the lane that is read from");
  if (call.op == WarpOp::sync && !noteWarpBarrier(warp, thread))
    return false;
  inWarpCall[warp] &= ~group;
  ready[warp] |= group;
  if (running->warp == warp)
    ready[warp] &= ~(group & 1u << running->lane);
  if (ready[warp])
    runnable |= 1u << warp;
  return true;
}

bool BlockRunner::noteWarpBarrier(uint32_t warp, GpuThread &thread) {
  if ((thread.call.mask & live[warp]) != live[warp]) {
    state.report(FindingKind::unsupported, thread, thread.call.site,
                 "a barrier of some lanes of a warp (" + maskText(thread.call.mask) + ")");
    return false;
  }
  state.warpTimes[warp] = ++state.time;
  return true;
}

void BlockRunner::reportDeadlock() {
  for (uint32_t warp = 0; warp < warpCount; ++warp) {
    if (!inWarpCall[warp])
      continue;
    GpuThread &thread = lane(warp, uint32_t(std::countr_zero(inWarpCall[warp])));
    // Who is alive and runs no more and is in no warp operation stands at a barrier.
    uint32_t missing = thread.call.mask & live[warp] & ~inWarpCall[warp];
    GpuThread &other = missing ? lane(warp, uint32_t(std::countr_zero(missing))) : thread;
    state.reportPair(FindingKind::deadlock, thread, thread.call.site, other, other.barrierSite,
                     "waits for lane " + std::to_string(other.lane));
    return;
  }
}

} // namespace minigptc::runtime::emulator
