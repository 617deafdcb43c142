//===- LlvmPipeline.h - LLVM's passes and its code --------------*- C++ -*-===//
//
//   target::optimise(module, *machine, tuning, llvm::OptimizationLevel::O3);
//   std::optional<std::string> code = target::emitCode(module, *machine, AssemblyFile);
//
//===----------------------------------------------------------------------===//
#ifndef MINIGPTC_COMPILER_TARGET_COMMON_LLVMPIPELINE_H
#define MINIGPTC_COMPILER_TARGET_COMMON_LLVMPIPELINE_H

#include "llvm/IR/Module.h"
#include "llvm/Passes/PassBuilder.h"
#include "llvm/Target/TargetMachine.h"

#include <memory>
#include <optional>
#include <string>

namespace minigptc::target {

/// LLVM's code generator for a processor; null if this LLVM has none for the triple, whose target
/// has been initialised. Products and sums are fused only where the code says so: else a value's
/// bits would depend on what it was fused with, and a value computed again would differ.
std::unique_ptr<llvm::TargetMachine>
createTargetMachine(const llvm::Triple &triple, llvm::StringRef processor,
                    std::optional<llvm::Reloc::Model> relocation,
                    std::optional<llvm::CodeModel::Model> codeModel, llvm::CodeGenOptLevel level);

/// LLVM's pipeline of the level. The module has the machine's triple and layout.
void optimise(llvm::Module &module, llvm::TargetMachine &machine,
              const llvm::PipelineTuningOptions &tuning, llvm::OptimizationLevel level);

/// The module as text or as an object; nothing if this LLVM cannot write that.
std::optional<std::string> emitCode(llvm::Module &module, llvm::TargetMachine &machine,
                                    llvm::CodeGenFileType type);

} // namespace minigptc::target

#endif // MINIGPTC_COMPILER_TARGET_COMMON_LLVMPIPELINE_H
