//===- GemmEpilogue.h - epilogues of products on the host -------*- C++ -*-===//
//
// Programs for the CPU have kernels instead, which are faster: this is for whoever runs the
// instructions of another target. Everything is computed in f64 from sums in the product's type,
// and rounded once.
//
//   Status status = runWithEpilogue(gemm, problem, lhs, rhs, out, vector);
//
//===----------------------------------------------------------------------===//
#ifndef MINIGPTC_RUNTIME_DRIVERS_HOST_GEMMEPILOGUE_H
#define MINIGPTC_RUNTIME_DRIVERS_HOST_GEMMEPILOGUE_H

#include "runtime/drivers/host/HostGemm.h"

namespace minigptc::runtime {

Status runWithEpilogue(HostGemm &gemm, const GemmProblem &problem, const void *lhs, const void *rhs,
                       void *out, void *vector);

} // namespace minigptc::runtime

#endif // MINIGPTC_RUNTIME_DRIVERS_HOST_GEMMEPILOGUE_H
