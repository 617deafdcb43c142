//===- BFloat16.h - bf16 elements as f32 scalars ----------------*- C++ -*-===//
//
// In kernels an f32 scalar that bf16 can hold stands for a bf16 element: models
// compute on it as on any f32, and what they give is rounded once, to nearest even.
// Integer operations alone, so that all processors give the same bits.
//
//   Value x = widenBFloat16(s, bits);             // i16 from memory → f32
//   Value y = roundToBFloat16(s, s.create<arith::AddFOp>(x, x));
//   Value out = getBFloat16Bits(s, y);            // f32 → i16 for memory
//
//===----------------------------------------------------------------------===//
#ifndef MINIGPTC_COMPILER_CONVERSION_GRAPHTOLOOPS_BFLOAT16_H
#define MINIGPTC_COMPILER_CONVERSION_GRAPHTOLOOPS_BFLOAT16_H

#include "compiler/conversion/GraphToLoops/Scalars.h"

namespace minigptc::graph::kernel {

/// i16 → f32, exactly. This and the next two take vectors as well.
mlir::Value widenBFloat16(Scalars s, mlir::Value bits);

/// f32 that bf16 holds → i16.
mlir::Value getBFloat16Bits(Scalars s, mlir::Value value);

/// The f32 of the nearest bf16; NaN stays NaN. No operation where the scalar is seen to
/// be one already, as after a selection or a maximum of bf16 elements.
mlir::Value roundToBFloat16(Scalars s, mlir::Value value);

/// An f32 that rounds to the same bf16 as the f64 or the integer does: rounding twice to
/// nearest could give another.
mlir::Value narrowForBFloat16(Scalars s, mlir::Value wide);
mlir::Value integerForBFloat16(Scalars s, mlir::Value integer, bool isUnsigned);

} // namespace minigptc::graph::kernel

#endif // MINIGPTC_COMPILER_CONVERSION_GRAPHTOLOOPS_BFLOAT16_H
