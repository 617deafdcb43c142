//===- CudaTarget.h - PTX and machine code of GPUs --------------*- C++ -*-===//
//
// What Kernels.h makes of a module, for an artifact. For the test device there is code for the
// emulator besides.
//
//   std::unique_ptr<target::Target> target = cuda::makeTarget(archs, /*emulate=*/false, options);
//
//===----------------------------------------------------------------------===//
#ifndef MINIGPTC_COMPILER_TARGET_CUDA_CUDATARGET_H
#define MINIGPTC_COMPILER_TARGET_CUDA_CUDATARGET_H

#include "compiler/target/artifact/TargetCode.h"
#include "compiler/target/cuda/Arch.h"

namespace minigptc::cuda {

/// The options outlive the target.
std::unique_ptr<target::Target> makeTarget(std::vector<Arch> archs, bool emulate,
                                           const CompileOptions &options);

} // namespace minigptc::cuda

#endif // MINIGPTC_COMPILER_TARGET_CUDA_CUDATARGET_H
