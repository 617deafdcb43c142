//===- Timing.h - how long a train step takes -------------------*- C++ -*-===//
#ifndef MINIGPTC_TOOLS_MINIGPTC_RUN_TIMING_H
#define MINIGPTC_TOOLS_MINIGPTC_RUN_TIMING_H

#include "minigptc/runtime/Session.h"
#include "runtime/train/RunConfig.h"

namespace minigptc {

/// Runs so many train steps on random tokens, after two that do not count, and prints
/// the median, the fastest, the losses and, of a known peak, the utilisation of the device.
/// With a file to profile to, profiles first.
runtime::Status timeSteps(runtime::Session &session, const runtime::RunConfig &config,
                          int64_t steps, const std::string &profile, double peakFlops);

} // namespace minigptc

#endif // MINIGPTC_TOOLS_MINIGPTC_RUN_TIMING_H
