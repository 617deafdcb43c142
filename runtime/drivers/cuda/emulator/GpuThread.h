//===- GpuThread.h - one emulated thread ------------------------*- C++ -*-===//
//
// What the emulator keeps of a thread of the block that runs, behind what its code sees.
//
//===----------------------------------------------------------------------===//
#ifndef MINIGPTC_RUNTIME_DRIVERS_CUDA_EMULATOR_GPUTHREAD_H
#define MINIGPTC_RUNTIME_DRIVERS_CUDA_EMULATOR_GPUTHREAD_H

#include "runtime/drivers/cuda/emulator/AsyncCopies.h"
#include "runtime/drivers/cuda/emulator/EmulatorAbi.h"
#include "runtime/drivers/cuda/emulator/Fiber.h"

namespace minigptc::runtime::emulator {

class BlockRunner;

/// The warp operation that a lane waits in.
struct WarpCall {
  WarpOp op = WarpOp::sync;
  uint32_t mask = 0, site = 0;
  const uint32_t *in = nullptr;
  uint32_t *out = nullptr;

  bool sameAs(const WarpCall &other) const {
    return op == other.op && mask == other.mask && site == other.site;
  }
};

struct GpuThread : ThreadState {
  BlockRunner *runner = nullptr;
  uint32_t index = 0; ///< in the block
  bool fresh = true;  ///< has not begun
  Fiber *fiber = nullptr;
  uint32_t barrierSite = 0;
  WarpCall call;
  AsyncCopies copies;
};

} // namespace minigptc::runtime::emulator

#endif // MINIGPTC_RUNTIME_DRIVERS_CUDA_EMULATOR_GPUTHREAD_H
