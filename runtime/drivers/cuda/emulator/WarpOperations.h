//===- WarpOperations.h - what lanes of a warp compute together -*- C++ -*-===//
//
// The functions behind `WarpOp`, apart from how lanes meet: words of each lane in, words of
// each lane out.
//
//   WarpLanes lanes{.mask = present, …};
//   WarpResult result = runWarpOperation(WarpOp::shuffleDown, lanes);
//
// Shuffles: in a value, an offset (or lane, or mask) and PTX's third operand, which holds
// clamp and segment; out the value and whether the source lane was in range. Matrix products
// sum in f32, from the first k to the last; a tensor core sums in an order of its own.
//
//===----------------------------------------------------------------------===//
#ifndef MINIGPTC_RUNTIME_DRIVERS_CUDA_EMULATOR_WARPOPERATIONS_H
#define MINIGPTC_RUNTIME_DRIVERS_CUDA_EMULATOR_WARPOPERATIONS_H

#include "runtime/drivers/cuda/emulator/EmulatorAbi.h"

namespace minigptc::runtime::emulator {

struct WarpLanes {
  uint32_t mask = 0; ///< the lanes that take part; the others' pointers are not looked at
  const uint32_t *in[warpSize] = {};
  uint32_t *out[warpSize] = {};

  bool has(uint32_t lane) const { return mask >> lane & 1; }
};

/// Lanes that got a value from a lane which takes no part: their result means nothing.
struct WarpResult {
  uint32_t meaningless = 0;
};

WarpResult runWarpOperation(WarpOp op, const WarpLanes &lanes);

/// All lanes must take part.
bool needsWholeWarp(WarpOp op);
/// The number of rows of 8 elements of 2 bytes, one for each of the first lanes, that
/// loadMatrix reads; 0 for other operations.
uint32_t matrixRows(WarpOp op);

} // namespace minigptc::runtime::emulator

#endif // MINIGPTC_RUNTIME_DRIVERS_CUDA_EMULATOR_WARPOPERATIONS_H
