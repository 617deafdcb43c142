//===- PtxCompiler.cpp ----------------------------------------------------===//
#include "compiler/target/cuda/PtxCompiler.h"
#include "compiler/target/common/LlvmPipeline.h"
#include "compiler/target/cuda/Arch.h"
#include "compiler/target/cuda/Emulation.h"
#include "compiler/target/cuda/KernelEmitter.h"
#include "compiler/target/cuda/Lowering.h"
#include "mlir/Parser/Parser.h"
#include "mlir/Target/LLVMIR/Export.h"
#include "llvm/Support/TargetSelect.h"
#include "llvm/TargetParser/Triple.h"
#include "llvm/Transforms/Utils/Cloning.h"

using namespace mlir;
using namespace minigptc;
using namespace minigptc::cuda;

static DialectRegistry makeRegistry() {
  DialectRegistry registry;
  registerKernelDialects(registry);
  return registry;
}

static std::unique_ptr<llvm::TargetMachine> makeMachine() {
  static const bool initialised = [] {
    LLVMInitializeNVPTXTargetInfo();
    LLVMInitializeNVPTXTarget();
    LLVMInitializeNVPTXTargetMC();
    LLVMInitializeNVPTXAsmPrinter();
    return true;
  }();
  (void)initialised;
  return target::createTargetMachine(llvm::Triple("nvptx64-nvidia-cuda"), Arch::kBaseline,
                                     std::nullopt, std::nullopt, llvm::CodeGenOptLevel::Aggressive);
}

PtxCompiler::PtxCompiler()
    : context(makeRegistry(), MLIRContext::Threading::DISABLED), machine(makeMachine()) {
  context.loadAllAvailableDialects();
}

PtxCompiler::~PtxCompiler() = default;

std::unique_ptr<llvm::Module> PtxCompiler::generate(const std::string &text,
                                                    const Options &options,
                                                    llvm::LLVMContext &llvmContext) {
  message.clear();
  if (!machine) {
    message = "this LLVM has no code generator for NVPTX";
    return nullptr;
  }
  ScopedDiagnosticHandler handler(&context, [&](Diagnostic &diagnostic) {
    message += (message.empty() ? "" : "; ") + diagnostic.str();
    return success();
  });
  OwningOpRef<ModuleOp> source = parseSourceString<ModuleOp>(text, &context);
  if (!source)
    return nullptr;
  auto kernel = *source->getOps<func::FuncOp>().begin();
  OwningOpRef<ModuleOp> code = emitKernel(kernel, options.grouped);
  if (failed(lowerToNvvm(*code, {hasWidePositions(kernel), options.lines})))
    return nullptr;
  std::unique_ptr<llvm::Module> module = translateModuleToLLVMIR(*code, llvmContext, "kernel");
  if (!module)
    return nullptr;
  for (llvm::Function &function : *module) {
    // Else ptxas may spill for the sake of many blocks at a time, where divisions keep much alive.
    if (function.hasFnAttribute("nvvm.maxntid") || function.hasFnAttribute("nvvm.reqntid"))
      function.addFnAttr("nvvm.minctasm", "1");
  }
  module->setTargetTriple(machine->getTargetTriple());
  module->setDataLayout(machine->createDataLayout());
  optimise(*module);
  return module;
}

llvm::FailureOr<PtxCompiler::Code> PtxCompiler::compile(const std::string &text, Options options) {
  llvm::LLVMContext llvmContext;
  std::unique_ptr<llvm::Module> module = generate(text, options, llvmContext);
  if (!module)
    return failure();
  Code result;
  if (options.emulate) {
    auto object = emulation::compileObject(llvm::CloneModule(*module), message);
    if (failed(object))
      return failure();
    result.object = std::move(*object);
  }
  FailureOr<std::string> ptx = writePtx(*module);
  if (failed(ptx))
    return failure();
  result.ptx = std::move(*ptx);
  return result;
}

void PtxCompiler::optimise(llvm::Module &module) {
  llvm::PipelineTuningOptions tuning;
  // Threads are the vectors; accesses side by side are joined by the target's own pass.
  tuning.LoopVectorization = tuning.SLPVectorization = false;
  target::optimise(module, *machine, tuning, llvm::OptimizationLevel::O3);
}

llvm::FailureOr<std::string> PtxCompiler::writePtx(llvm::Module &module) {
  auto text = target::emitCode(module, *machine, llvm::CodeGenFileType::AssemblyFile);
  if (text)
    return std::move(*text);
  message = "this LLVM cannot write PTX";
  return failure();
}
