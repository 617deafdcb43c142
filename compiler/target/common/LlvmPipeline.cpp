//===- LlvmPipeline.cpp ---------------------------------------------------===//
#include "compiler/target/common/LlvmPipeline.h"
#include "llvm/IR/LegacyPassManager.h"
#include "llvm/MC/TargetRegistry.h"

std::unique_ptr<llvm::TargetMachine>
minigptc::target::createTargetMachine(const llvm::Triple &triple, llvm::StringRef processor,
                                      std::optional<llvm::Reloc::Model> relocation,
                                      std::optional<llvm::CodeModel::Model> codeModel,
                                      llvm::CodeGenOptLevel level) {
  std::string error;
  const llvm::Target *target = llvm::TargetRegistry::lookupTarget(triple, error);
  if (!target)
    return nullptr;
  llvm::TargetOptions options;
  options.AllowFPOpFusion = llvm::FPOpFusion::Standard;
  return std::unique_ptr<llvm::TargetMachine>(
      target->createTargetMachine(triple, processor, "", options, relocation, codeModel, level));
}

void minigptc::target::optimise(llvm::Module &module, llvm::TargetMachine &machine,
                                const llvm::PipelineTuningOptions &tuning,
                                llvm::OptimizationLevel level) {
  llvm::PassBuilder builder(&machine, tuning);
  llvm::LoopAnalysisManager loops;
  llvm::FunctionAnalysisManager functions;
  llvm::CGSCCAnalysisManager sccs;
  llvm::ModuleAnalysisManager modules;
  builder.registerModuleAnalyses(modules);
  builder.registerCGSCCAnalyses(sccs);
  builder.registerFunctionAnalyses(functions);
  builder.registerLoopAnalyses(loops);
  builder.crossRegisterProxies(loops, functions, sccs, modules);
  builder.buildPerModuleDefaultPipeline(level).run(module, modules);
}

std::optional<std::string> minigptc::target::emitCode(llvm::Module &module,
                                                      llvm::TargetMachine &machine,
                                                      llvm::CodeGenFileType type) {
  llvm::SmallVector<char, 0> code;
  llvm::raw_svector_ostream stream(code);
  llvm::legacy::PassManager passes;
  if (machine.addPassesToEmitFile(passes, stream, nullptr, type))
    return std::nullopt;
  passes.run(module);
  return std::string(code.begin(), code.end());
}
