//===- GemmPeak.h - how fast a device multiplies matrices -------*- C++ -*-===//
//
//   StatusOr<double> flops = measureGemmPeak("host", session.threads());
//
//===----------------------------------------------------------------------===//
#ifndef MINIGPTC_RUNTIME_EXEC_GEMMPEAK_H
#define MINIGPTC_RUNTIME_EXEC_GEMMPEAK_H

#include "minigptc/runtime/Status.h"

#include <string>

namespace minigptc::runtime {

/// FLOP/s of the driver's GEMM on f32 matrices of 1024³ with so many threads: the best
/// of 20 runs. Takes about a second on two cores.
StatusOr<double> measureGemmPeak(const std::string &driver, int threads);

} // namespace minigptc::runtime

#endif // MINIGPTC_RUNTIME_EXEC_GEMMPEAK_H
