//===- TargetMachine.h - LLVM's code generator for x86-64 -------*- C++ -*-===//
#ifndef MINIGPTC_COMPILER_TARGET_CPU_TARGETMACHINE_H
#define MINIGPTC_COMPILER_TARGET_CPU_TARGETMACHINE_H

#include "compiler/target/cpu/Isa.h"
#include "llvm/Target/TargetMachine.h"

#include <memory>

namespace minigptc::cpu {

/// For position-independent code of the level; null if this LLVM has no x86-64. See
/// target::createTargetMachine.
std::unique_ptr<llvm::TargetMachine> createTargetMachine(const Isa &isa);

} // namespace minigptc::cpu

#endif // MINIGPTC_COMPILER_TARGET_CPU_TARGETMACHINE_H
