//===- EntryWalk.h - what an entry reaches ----------------------*- C++ -*-===//
//
// Calls `visit` with each instruction of the blocks that an entry reaches and with each kernel
// that they launch, once, however often they are called. For modules of stage `exec`.
//
//   walkEntry(module, "train_step", [&](Operation *op) {
//     if (auto gemm = dyn_cast<exec::GemmOp>(op)) …
//   });
//
//===----------------------------------------------------------------------===//
#ifndef MINIGPTC_COMPILER_TARGET_COMMON_ENTRYWALK_H
#define MINIGPTC_COMPILER_TARGET_COMMON_ENTRYWALK_H

#include "mlir/IR/BuiltinOps.h"

namespace minigptc::target {

void walkEntry(mlir::ModuleOp module, llvm::StringRef entry,
               llvm::function_ref<void(mlir::Operation *)> visit);

} // namespace minigptc::target

#endif // MINIGPTC_COMPILER_TARGET_COMMON_ENTRYWALK_H
