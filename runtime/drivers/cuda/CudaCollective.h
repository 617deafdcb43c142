//===- CudaCollective.h - a device's share of a collective ------*- C++ -*-===//
//
// NCCL knows parts that are one piece of memory. Where a tensor's parts lie in rows among each
// other's, they are copied together in staging memory before the calls, or apart after them.
// All of it is submitted to one stream, so it can be captured; the operands' calls are one
// group.
//
//   uint64_t bytes = stagingBytes(problem);             // 0: no operand needs any
//   submitCollective({context, comm, rank, stream, staging}, problem, inputs, outputs);
//
// Elements are combined by NCCL in an order of its own, those of bf16 and f16 in their own
// type; all members get the same bits. Its maxima and minima pass over NaN.
//
//===----------------------------------------------------------------------===//
#ifndef MINIGPTC_RUNTIME_DRIVERS_CUDA_CUDACOLLECTIVE_H
#define MINIGPTC_RUNTIME_DRIVERS_CUDA_CUDACOLLECTIVE_H

#include "runtime/drivers/cuda/CudaContext.h"
#include "runtime/hal/Collective.h"

#include <cstddef>
#include <functional>
#include <span>

namespace minigptc::runtime::cuda {

struct CollectiveMember {
  const CudaContext &context; ///< the thread's current one
  NcclComm comm;              ///< of the problem's group; null if that has one member
  int64_t rank;
  Stream stream;
  std::byte *staging; ///< on the device, aligned to 256 bytes
  /// Waits until NCCL has submitted a group of calls; empty: it has, where that ends.
  std::function<Status()> settle = {};
};

/// Of all operands together.
uint64_t stagingBytes(const CollectiveProblem &problem);
/// What a device takes for a program with these collectives: they come one after the other and
/// share it.
uint64_t stagingBytes(std::span<const CollectiveProblem> problems);

Status submitCollective(const CollectiveMember &member, const CollectiveProblem &problem,
                        std::span<void *const> inputs, std::span<void *const> outputs);

/// "ncclAllGather failed: unhandled cuda error (…)". What is in progress has not failed.
Status checkNccl(const NcclApi &nccl, NcclResult result, const char *call, NcclComm comm);

} // namespace minigptc::runtime::cuda

#endif // MINIGPTC_RUNTIME_DRIVERS_CUDA_CUDACOLLECTIVE_H
