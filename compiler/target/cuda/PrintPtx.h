//===- PrintPtx.h - a pass that shows CUDA code -----------------*- C++ -*-===//
#ifndef MINIGPTC_COMPILER_TARGET_CUDA_PRINTPTX_H
#define MINIGPTC_COMPILER_TARGET_CUDA_PRINTPTX_H

#include "mlir/Pass/Pass.h"
#include "llvm/Support/raw_ostream.h"

namespace minigptc::cuda {

/// Prints how each kernel of the module is launched, and its PTX with source lines:
///
///   // @k: map, grid 4, block 256, shared memory 0
///   .visible .entry k(…
///
/// All functions marked `exec.kernel` count, called or not.
std::unique_ptr<mlir::Pass> createPrintPtxPass(llvm::raw_ostream &os);

} // namespace minigptc::cuda

#endif // MINIGPTC_COMPILER_TARGET_CUDA_PRINTPTX_H
