#include "compiler/target/cpu/TargetMachine.h"
#include "compiler/target/common/LlvmPipeline.h"
#include "llvm/Support/TargetSelect.h"
#include "llvm/TargetParser/Triple.h"

using namespace minigptc;
using namespace minigptc::cpu;

std::unique_ptr<llvm::TargetMachine> minigptc::cpu::createTargetMachine(const Isa &isa) {
  static const bool initialised = [] {
    LLVMInitializeX86TargetInfo();
    LLVMInitializeX86Target();
    LLVMInitializeX86TargetMC();
    LLVMInitializeX86AsmPrinter();
    return true;
  }();
  (void)initialised;
  return target::createTargetMachine(llvm::Triple(Isa::triple), isa.cpu, llvm::Reloc::PIC_,
                                     llvm::CodeModel::Small, llvm::CodeGenOptLevel::Default);
}
