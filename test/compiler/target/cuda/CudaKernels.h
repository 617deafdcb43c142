//===- CudaKernels.h - runs a kernel in the emulator ------------*- C++ -*-===//
//
//   auto results = runEmulated(kernel, {inputs}, {.seed = 7});
//
// fails the test if the emulator finds anything.
//
//===----------------------------------------------------------------------===//
#ifndef MINIGPTC_TEST_COMPILER_TARGET_CUDA_CUDAKERNELS_H
#define MINIGPTC_TEST_COMPILER_TARGET_CUDA_CUDAKERNELS_H

#include "compiler/interpreter/Tensor.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"

struct EmulatedRun {
  int inPlace = -1;  ///< the argument whose memory the first result takes; -1: it has its own
  uint64_t seed = 0; ///< of the order of threads; 0: the natural one
};

/// The results of each group of inputs, in one launch; nothing if the kernel has a function of
/// f64 that GPUs do not have.
std::vector<std::vector<minigptc::interpreter::Tensor>>
runEmulated(mlir::func::FuncOp kernel,
            const std::vector<std::vector<minigptc::interpreter::Tensor>> &groups,
            const EmulatedRun &run);

#endif // MINIGPTC_TEST_COMPILER_TARGET_CUDA_CUDAKERNELS_H
