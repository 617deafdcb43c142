//===- Conformance.h - what a driver's device must do -----------*- C++ -*-===//
//
// Checks of the hardware abstraction (hal/Device.h) for devices of any driver, GPUs among
// them. Those that launch something need the kernels of runtime/cts/kernels.mlir, compiled
// for the device: the options' program.
//
//   for (const CheckResult &result : runChecks(conformanceChecks(), options, print)) ...
//
//===----------------------------------------------------------------------===//
#ifndef MINIGPTC_RUNTIME_CTS_CONFORMANCE_H
#define MINIGPTC_RUNTIME_CTS_CONFORMANCE_H

#include "runtime/cts/Checks.h"

namespace minigptc::runtime {

/// Checks of large tensors are left out on emulated devices, and where memory is short; `large`:
/// those that take gigabytes of the host's are made, too.
std::vector<Check> conformanceChecks(bool large = false);

/// One line for a program with which all of them would fail: that is not the one of
/// runtime/cts/kernels.mlir, or cannot be loaded on the driver's device.
Status checkConformanceProgram(const CheckOptions &options);

// The parts of it.
void addMemoryChecks(std::vector<Check> &checks);
void addLaunchChecks(std::vector<Check> &checks);
void addQueueChecks(std::vector<Check> &checks);
void addProductChecks(std::vector<Check> &checks);
void addEpilogueChecks(std::vector<Check> &checks);
void addPairChecks(std::vector<Check> &checks);
void addSizeChecks(std::vector<Check> &checks, bool large);

} // namespace minigptc::runtime

#endif // MINIGPTC_RUNTIME_CTS_CONFORMANCE_H
