//===- EmulatedLoops.h - loops that must end --------------------*- C++ -*-===//
//
// Gives every loop of a kernel that is made for the emulator a count of its turns, so that one
// without an end is a finding, and no test hangs:
//
//   countTurns(kernel);   // at the end of every turn: if (--thread->turnsLeft == 0) endless(site)
//
// Every cycle of the control flow is counted, nested as it may be. How many turns a thread has
// says the launch (`LaunchOptions::maxTurns`).
//
//===----------------------------------------------------------------------===//
#ifndef MINIGPTC_COMPILER_TARGET_CUDA_EMULATEDLOOPS_H
#define MINIGPTC_COMPILER_TARGET_CUDA_EMULATEDLOOPS_H

#include "compiler/target/cuda/EmulatedKernel.h"

namespace minigptc::cuda::emulation {

/// After `checkAccesses`: what it adds are accesses of the emulator's own.
void countTurns(EmulatedKernel &kernel);

} // namespace minigptc::cuda::emulation

#endif // MINIGPTC_COMPILER_TARGET_CUDA_EMULATEDLOOPS_H
