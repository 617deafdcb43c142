//===- EmulatedIntrinsics.h - instructions of a GPU only --------*- C++ -*-===//
//
//   if (!lowerIntrinsics(kernel, error))
//     … // error: the one that is not known
//
//===----------------------------------------------------------------------===//
#ifndef MINIGPTC_COMPILER_TARGET_CUDA_EMULATEDINTRINSICS_H
#define MINIGPTC_COMPILER_TARGET_CUDA_EMULATEDINTRINSICS_H

#include "compiler/target/cuda/EmulatedKernel.h"

namespace minigptc::cuda::emulation {

/// Replaces every call of the kernel but those of LLVM's own that x86-64 has code for. False,
/// with `error`, for one that is not known.
bool lowerIntrinsics(EmulatedKernel &kernel, std::string &error);

/// Arithmetic: `name` without "llvm.nvvm." (or a PTX instruction's). The value that replaces
/// the call, or null if the name is not known.
llvm::Value *lowerArithmetic(EmulatedKernel &kernel, llvm::IRBuilder<> &builder,
                             llvm::StringRef name, llvm::CallInst &call);

/// What lanes of a warp do together. Null if the name is not known.
llvm::Value *lowerWarpOperation(EmulatedKernel &kernel, llvm::IRBuilder<> &builder,
                                llvm::StringRef name, llvm::CallInst &call);

} // namespace minigptc::cuda::emulation

#endif // MINIGPTC_COMPILER_TARGET_CUDA_EMULATEDINTRINSICS_H
