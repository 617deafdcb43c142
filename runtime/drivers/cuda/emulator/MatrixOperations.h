//===- MatrixOperations.h - products and loads of a warp's matrices -*- C++ -*-===//
//
// Fragments as PTX lays them out: lane 4·g + t holds, of an m × k matrix, elements of rows g
// and g + 8 and of the columns that begin at t.
//
//===----------------------------------------------------------------------===//
#ifndef MINIGPTC_RUNTIME_DRIVERS_CUDA_EMULATOR_MATRIXOPERATIONS_H
#define MINIGPTC_RUNTIME_DRIVERS_CUDA_EMULATOR_MATRIXOPERATIONS_H

#include "runtime/drivers/cuda/emulator/WarpOperations.h"

namespace minigptc::runtime::emulator {

/// D = A·B + C for one of the mma operations; all lanes take part.
void multiplyMatrices(WarpOp op, const WarpLanes &lanes);
/// One of the loadMatrix operations; the rows' addresses have been checked.
void loadMatrices(WarpOp op, const WarpLanes &lanes);

} // namespace minigptc::runtime::emulator

#endif // MINIGPTC_RUNTIME_DRIVERS_CUDA_EMULATOR_MATRIXOPERATIONS_H
