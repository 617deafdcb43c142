//===- HostDriver.h - this machine's cores as a device ----------*- C++ -*-===//
//
// Device 0 is this process's cores, or as many threads as its options say. Kernels are
// machine code from an ELF shared object, matrix products are BLIS, memory is the host's.
// Queues work on the caller's thread and the device's pool, and are done when a call
// returns.
//
//===----------------------------------------------------------------------===//
#ifndef MINIGPTC_RUNTIME_DRIVERS_HOST_HOSTDRIVER_H
#define MINIGPTC_RUNTIME_DRIVERS_HOST_HOSTDRIVER_H

#include "runtime/hal/Driver.h"

namespace minigptc::runtime {

std::unique_ptr<const Driver> createHostDriver();

/// `Device::queueMemory` of a device with so many threads.
uint64_t hostQueueMemory(std::span<const GemmProblem> products, uint64_t scratch, int threads);

} // namespace minigptc::runtime

#endif // MINIGPTC_RUNTIME_DRIVERS_HOST_HOSTDRIVER_H
