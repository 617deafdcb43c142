//===- WarpCode.h - what the lanes of a warp do together --------*- C++ -*-===//
//
// All lanes of the warp must stand here together.
//
//   Value sum = s.create<arith::AddFOp>(x, shuffleXor(s, x, 16));
//
//===----------------------------------------------------------------------===//
#ifndef MINIGPTC_COMPILER_TARGET_CUDA_WARPCODE_H
#define MINIGPTC_COMPILER_TARGET_CUDA_WARPCODE_H

#include "compiler/conversion/GraphToLoops/Scalars.h"

namespace minigptc::cuda {

/// The value of lane l ^ mask, of any scalar type.
mlir::Value shuffleXor(graph::kernel::Scalars s, mlir::Value value, int64_t mask);
/// The value of the lane, an index that is the same for all of them.
mlir::Value shuffleFrom(graph::kernel::Scalars s, mlir::Value value, mlir::Value lane);
/// A bit for each lane, as i32: whether its condition holds.
mlir::Value ballot(graph::kernel::Scalars s, mlir::Value condition);

/// What each lane has read and written is done before any goes on.
void syncWarp(graph::kernel::Scalars s);

} // namespace minigptc::cuda

#endif // MINIGPTC_COMPILER_TARGET_CUDA_WARPCODE_H
