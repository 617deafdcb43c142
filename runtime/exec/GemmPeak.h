//===- GemmPeak.h - how fast a device multiplies matrices -------*- C++ -*-===//
//
//   StatusOr<double> flops = measureGemmPeak(*device);
//
//===----------------------------------------------------------------------===//
#ifndef MINIGPTC_RUNTIME_EXEC_GEMMPEAK_H
#define MINIGPTC_RUNTIME_EXEC_GEMMPEAK_H

#include "runtime/hal/Device.h"

namespace minigptc::runtime {

/// FLOP/s of the vendor's GEMM on f32 matrices of 1024³: the best of 20 runs. Takes
/// about half a second on two cores.
StatusOr<double> measureGemmPeak(Device &device);

} // namespace minigptc::runtime

#endif // MINIGPTC_RUNTIME_EXEC_GEMMPEAK_H
