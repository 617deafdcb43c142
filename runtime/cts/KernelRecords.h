//===- KernelRecords.h - every kernel against recorded results --*- C++ -*-===//
//
// What each kernel of a program gave on one device (here: the emulated one), small enough to
// carry along, to be compared with what it gives on another:
//
//   std::string json = *recordKernels("lm.mgx", {.driver = "cuda:test"}, report);
//   std::vector<CheckResult> results = *checkKernels("lm.mgx", json, {.driver = "cuda"}, report);
//
// Of an output of up to 64 elements all are recorded, of a larger one 64 drawn by counter, the
// sum of all and of their absolute values, and a hash of all bits (after which all zeros and
// all NaNs are one). A kernel is *exact* if its PTX has no instruction that is approximate:
// then every bit must be the recorded one. Else a value may be off by `tolerance(type)` times
// the larger of its size and the output's root mean square.
//
//===----------------------------------------------------------------------===//
#ifndef MINIGPTC_RUNTIME_CTS_KERNELRECORDS_H
#define MINIGPTC_RUNTIME_CTS_KERNELRECORDS_H

#include "minigptc/runtime/TensorType.h"
#include "runtime/cts/Checks.h"
#include "runtime/exec/Program.h"

#include <string_view>

namespace minigptc::runtime {

/// Kernels with more bytes of operands are not recorded: the emulator is slow.
inline constexpr uint64_t kMaxRecordedBytes = uint64_t(192) << 20;

/// Bits follow from IEEE arithmetic alone.
bool isExact(const KernelInfo &kernel);
/// Relative, for kernels that are not exact; 0: exact whatever the kernel.
double tolerance(DType dtype);

using ReportCheck = std::function<void(const CheckResult &)>;

StatusOr<std::string> recordKernels(const std::string &program, CheckOptions options,
                                    const ReportCheck &report);
/// A check for each kernel of the program; one that was left out by `recordKernels` says so.
StatusOr<std::vector<CheckResult>> checkKernels(const std::string &program,
                                                const std::string &records, CheckOptions options,
                                                const ReportCheck &report);

} // namespace minigptc::runtime

#endif // MINIGPTC_RUNTIME_CTS_KERNELRECORDS_H
