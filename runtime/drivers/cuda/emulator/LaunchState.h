//===- LaunchState.h - a launch that runs -----------------------*- C++ -*-===//
//
// What stays the same over a launch, how time has moved in it, and what was found.
//
//===----------------------------------------------------------------------===//
#ifndef MINIGPTC_RUNTIME_DRIVERS_CUDA_EMULATOR_LAUNCHSTATE_H
#define MINIGPTC_RUNTIME_DRIVERS_CUDA_EMULATOR_LAUNCHSTATE_H

#include "runtime/drivers/cuda/emulator/Emulator.h"
#include "runtime/drivers/cuda/emulator/GpuThread.h"
#include "runtime/drivers/cuda/emulator/ShadowMemory.h"

#include <map>
#include <tuple>

namespace minigptc::runtime::emulator {

struct LaunchState {
  LaunchState(const KernelRecord &record, const Launch &launch, const LaunchOptions &options,
              uint32_t &time)
      : record(record), launch(launch), options(options), time(time), launchTime(++time) {}

  const KernelRecord &record;
  const Launch &launch;
  const LaunchOptions &options;

  uint32_t &time; ///< of the emulator; see ShadowMemory.h
  uint32_t launchTime, blockTime = 0, barrierTime = 0;
  uint32_t warpTimes[warpSize] = {};
  /// Blocks in the order in which they run, and when each began.
  std::vector<uint32_t> blocks, blockTimes;

  void beginBlock() { blockTimes.push_back(blockTime = barrierTime = ++time); }

  Accessor accessor(const GpuThread &thread, uint32_t site) const {
    return {time,
            launchTime,
            blockTime,
            barrierTime,
            warpTimes[thread.warp],
            thread.index,
            site,
            record.sites[site].flags};
  }

  /// "store of 4 bytes at file.cpp:12".
  std::string siteText(uint32_t site) const;
  std::array<uint32_t, 3> blockPlace(uint32_t block) const;
  std::array<uint32_t, 3> threadPlace(uint32_t thread) const;

  /// Adds a finding; if it has been found between these sites before, it is only counted.
  void report(FindingKind kind, const GpuThread &thread, uint32_t site, std::string detail,
              uintptr_t address = 0);
  void report(const Clash &clash, const GpuThread &thread, uint32_t site, const std::string &where);
  /// With the other thread, of the same block, at `otherSite`.
  void reportPair(FindingKind kind, const GpuThread &thread, uint32_t site, const GpuThread &other,
                  uint32_t otherSite, std::string detail);

  Report findings;

private:
  /// The place for a new finding, or null if it is counted already or there are enough.
  Finding *add(FindingKind kind, const GpuThread &thread, uint32_t site, uint32_t otherSite);
  std::map<std::tuple<FindingKind, uint32_t, uint32_t>, size_t> known; // size_t: where, or none
};

} // namespace minigptc::runtime::emulator

#endif // MINIGPTC_RUNTIME_DRIVERS_CUDA_EMULATOR_LAUNCHSTATE_H
