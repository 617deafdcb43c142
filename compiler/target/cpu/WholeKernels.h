//===- WholeKernels.h - ops with loops of their own -------------*- C++ -*-===//
//
// Attaches `WholeKernelOp` to the composite ops that the CPU computes by code
// written for them, and not by loops around the element of a result.
//
//   registerWholeKernelModels(registry); // then isa<graph::WholeKernelOp>(op)
//
//===----------------------------------------------------------------------===//
#ifndef MINIGPTC_COMPILER_TARGET_CPU_WHOLEKERNELS_H
#define MINIGPTC_COMPILER_TARGET_CPU_WHOLEKERNELS_H

#include "mlir/IR/DialectRegistry.h"
#include "mlir/IR/MLIRContext.h"

namespace minigptc::cpu {

void registerWholeKernelModels(mlir::DialectRegistry &registry);

void attachAttentionKernels(mlir::MLIRContext *context);

} // namespace minigptc::cpu

#endif // MINIGPTC_COMPILER_TARGET_CPU_WHOLEKERNELS_H
