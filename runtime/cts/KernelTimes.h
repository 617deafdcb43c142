//===- KernelTimes.h - how long each kernel and product takes ---*- C++ -*-===//
//
// Each kernel and each matrix product of a train step by itself: a recording of many
// launches, which go through copies of the operands larger than the caches together, replayed
// and timed by the host's clock. Of an emulated device the times say nothing about a GPU.
//
//   StepTimes times = timeStep("lm.mgx", {.driver = "cuda"}, {}, printCheck);
//   printTimes(times, stdout);
//   writeFileAtomically("times.json", timesToJson(times));
//
//===----------------------------------------------------------------------===//
#ifndef MINIGPTC_RUNTIME_CTS_KERNELTIMES_H
#define MINIGPTC_RUNTIME_CTS_KERNELTIMES_H

#include "runtime/cts/KernelRecords.h"

#include <cstdio>

namespace minigptc::runtime {

/// What a GPU can do at most; 0: not known.
struct DevicePeaks {
  double bf16Flops = 0, f32Flops = 0; ///< dense matrix products, per second
  double bytes = 0;                   ///< of memory, per second
};
/// By the name of a device, from its data sheet.
DevicePeaks peaksOf(std::string_view device);

struct TimedWork {
  std::string name; ///< a kernel's, or "768x8192x2048 bf16" of a product
  bool product = false;
  int64_t count = 0;                        ///< in a step
  double seconds = 0, flops = 0, bytes = 0; ///< of one
  DType dtype = DType::f32;                 ///< product: of its operands
  std::string failure;                      ///< if it could not be timed

  double secondsOfStep() const { return seconds * double(count); }
};

struct StepTimes {
  std::string device;
  bool emulated = false;
  DevicePeaks peaks;
  double productFlops = 0, copyBytes = 0; ///< the best measured here, per second; 0: not measured
  std::string productSize;                ///< "8192 x 8192 x 8192 bf16"
  std::vector<TimedWork> work;            ///< the most expensive first
};

/// A peak that `given` has goes over the data sheet's.
StatusOr<StepTimes> timeStep(const std::string &program, CheckOptions options, DevicePeaks given,
                             const ReportCheck &report);
/// A table of kernels, one of products, and their sums.
void printTimes(const StepTimes &times, std::FILE *out);
std::string timesToJson(const StepTimes &times);

} // namespace minigptc::runtime

#endif // MINIGPTC_RUNTIME_CTS_KERNELTIMES_H
