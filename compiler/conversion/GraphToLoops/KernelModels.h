//===- KernelModels.h - scalar code of graph ops ----------------*- C++ -*-===//
//
// Attaches `KernelOp` (and, where it applies, `ReductionKernelOp`,
// `ScatterKernelOp`, `BlockKernelOp`) to the ops that kernels hold: all primitives, and clamp.
// What a model emits is `arith`, `math` and `scf` on scalars, with no idea of
// the machine; the loops around it are the emitter's (compiler/target/cpu).
//
//   DialectRegistry registry;
//   registerKernelModels(registry);
//   …
//   Value x = cast<graph::KernelOp>(op).emitElement(builder, 0, indices, load);
//
//===----------------------------------------------------------------------===//
#ifndef MINIGPTC_COMPILER_CONVERSION_GRAPHTOLOOPS_KERNELMODELS_H
#define MINIGPTC_COMPILER_CONVERSION_GRAPHTOLOOPS_KERNELMODELS_H

#include "mlir/IR/DialectRegistry.h"

namespace minigptc::graph {

/// Attaches the models of all families when the dialect is loaded.
void registerKernelModels(mlir::DialectRegistry &registry);

} // namespace minigptc::graph

#endif // MINIGPTC_COMPILER_CONVERSION_GRAPHTOLOOPS_KERNELMODELS_H
