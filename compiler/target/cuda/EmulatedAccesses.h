//===- EmulatedAccesses.h - every access is checked before it happens -*- C++ -*-===//
//
//   if (!checkAccesses(kernel, error))
//     … // error: what has no check
//
//===----------------------------------------------------------------------===//
#ifndef MINIGPTC_COMPILER_TARGET_CUDA_EMULATEDACCESSES_H
#define MINIGPTC_COMPILER_TARGET_CUDA_EMULATEDACCESSES_H

#include "compiler/target/cuda/EmulatedKernel.h"

namespace minigptc::cuda::emulation {

/// Puts a call before every load, store, atomic operation, and copy or filling of memory. An
/// access of a variable of the thread's own or of a constant that provably lies within needs
/// none. False, with `error`, for instructions that access memory in other ways.
bool checkAccesses(EmulatedKernel &kernel, std::string &error);

/// An instruction in LLVM's words, for errors.
std::string textOf(const llvm::Instruction &instruction);

} // namespace minigptc::cuda::emulation

#endif // MINIGPTC_COMPILER_TARGET_CUDA_EMULATEDACCESSES_H
