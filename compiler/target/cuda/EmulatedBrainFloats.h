//===- EmulatedBrainFloats.h - bf16 arithmetic in terms of f32 --*- C++ -*-===//
//
// LLVM computes with bf16 on x86-64 by calls of functions that not every machine has. Here
// arithmetic widens to f32, and roundings to bf16 are integer operations, to nearest even.
//
//===----------------------------------------------------------------------===//
#ifndef MINIGPTC_COMPILER_TARGET_CUDA_EMULATEDBRAINFLOATS_H
#define MINIGPTC_COMPILER_TARGET_CUDA_EMULATEDBRAINFLOATS_H

#include "llvm/IR/IRBuilder.h"

#include <string>

namespace minigptc::cuda::emulation {

/// False, with `error`, for an operation on bf16 that is not known.
bool widenBrainFloats(llvm::Function &function, std::string &error);

/// f32 or a vector of it, rounded to bf16: to nearest even, or toward zero.
llvm::Value *roundToBrainFloat(llvm::IRBuilder<> &builder, llvm::Value *wide,
                               bool towardZero = false);

} // namespace minigptc::cuda::emulation

#endif // MINIGPTC_COMPILER_TARGET_CUDA_EMULATEDBRAINFLOATS_H
