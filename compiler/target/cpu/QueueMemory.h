//===- QueueMemory.h - what a device takes beside the plan ------*- C++ -*-===//
//
// Panels of matrix products and kernels' scratch memory are not in a block's frame: the
// driver has them, once for all blocks. Here they are counted as the driver counts them.
//
//   uint64_t bytes = queueMemory(module, "train_step", /*threads=*/1);   // stage `exec`
//
//===----------------------------------------------------------------------===//
#ifndef MINIGPTC_COMPILER_TARGET_CPU_QUEUEMEMORY_H
#define MINIGPTC_COMPILER_TARGET_CPU_QUEUEMEMORY_H

#include "mlir/IR/BuiltinOps.h"

namespace minigptc::cpu {

/// Bytes of one device with so many threads that runs the entry.
uint64_t queueMemory(mlir::ModuleOp module, llvm::StringRef entry, int threads);

} // namespace minigptc::cpu

#endif // MINIGPTC_COMPILER_TARGET_CPU_QUEUEMEMORY_H
