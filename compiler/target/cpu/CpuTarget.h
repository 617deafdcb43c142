//===- CpuTarget.h - machine code for the CPU -------------------*- C++ -*-===//
//
// The way of a kernel: compiler/target/cpu/Kernels.h looks for its object code in
// the cache (ObjectCache.h); if it is not there, KernelEmitter.h writes loops,
// KernelLowering.h brings them to LLVM, MachineCode.h compiles. Linker.h makes one
// shared object of all.
//
//   std::unique_ptr<target::Target> target = cpu::makeTarget(isa, options);
//
//===----------------------------------------------------------------------===//
#ifndef MINIGPTC_COMPILER_TARGET_CPU_CPUTARGET_H
#define MINIGPTC_COMPILER_TARGET_CPU_CPUTARGET_H

#include "compiler/target/artifact/TargetCode.h"
#include "compiler/target/cpu/Isa.h"

namespace minigptc::cpu {

/// Both outlive the target.
std::unique_ptr<target::Target> makeTarget(const Isa &isa, const CompileOptions &options);

} // namespace minigptc::cpu

#endif // MINIGPTC_COMPILER_TARGET_CPU_CPUTARGET_H
