//===- MachineCode.cpp ----------------------------------------------------===//
#include "compiler/target/cpu/MachineCode.h"
#include "compiler/target/common/LlvmPipeline.h"
#include "compiler/target/cpu/KernelEmitter.h"
#include "compiler/target/cpu/KernelLowering.h"
#include "compiler/target/cpu/TargetMachine.h"
#include "compiler/target/cpu/VectorLoops.h"
#include "mlir/Parser/Parser.h"
#include "mlir/Target/LLVMIR/Dialect/Builtin/BuiltinToLLVMIRTranslation.h"
#include "mlir/Target/LLVMIR/Dialect/LLVMIR/LLVMToLLVMIRTranslation.h"
#include "mlir/Target/LLVMIR/Export.h"

#include <chrono>

using namespace mlir;
using namespace minigptc;
using namespace minigptc::cpu;

namespace {
class Stopwatch {
public:
  double seconds() const {
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  }

private:
  std::chrono::steady_clock::time_point start = std::chrono::steady_clock::now();
};
} // namespace

static DialectRegistry makeRegistry() {
  DialectRegistry registry;
  registerKernelDialects(registry);
  registerBuiltinDialectTranslation(registry);
  registerLLVMDialectTranslation(registry);
  return registry;
}

MachineCode::MachineCode(const Isa &isa)
    : isa(isa), context(makeRegistry(), MLIRContext::Threading::DISABLED),
      machine(createTargetMachine(isa)) {
  context.loadAllAvailableDialects();
}

MachineCode::~MachineCode() = default;

llvm::FailureOr<std::string> MachineCode::compile(const std::string &text) {
  message.clear();
  if (!machine) {
    message = "this LLVM has no code generator for x86-64";
    return failure();
  }
  ScopedDiagnosticHandler handler(&context, [&](Diagnostic &diagnostic) {
    message += (message.empty() ? "" : "; ") + diagnostic.str();
    return success();
  });
  Stopwatch watch;
  OwningOpRef<ModuleOp> source = parseSourceString<ModuleOp>(text, &context);
  if (!source)
    return failure();
  auto kernel = *source->getOps<func::FuncOp>().begin();
  OwningOpRef<ModuleOp> loops = emitKernel(kernel, isa);
  if (failed(expandMath(*loops)))
    return failure();
  vectoriseLoops(*loops);
  double looped = watch.seconds();
  if (failed(lowerToLLVM(*loops)))
    return failure();
  llvm::LLVMContext llvmContext;
  std::unique_ptr<llvm::Module> module = translateModuleToLLVMIR(*loops, llvmContext, "kernel");
  if (!module)
    return failure();
  double lowered = watch.seconds();
  FailureOr<std::string> object = generate(*module);
  times = {looped, lowered - looped, watch.seconds() - lowered};
  return object;
}

void MachineCode::optimise(llvm::Module &module) {
  llvm::PipelineTuningOptions tuning;
  // Loops are vectors already; what is left over is short.
  tuning.LoopVectorization = tuning.SLPVectorization = false;
  tuning.LoopInterleaving = tuning.LoopUnrolling = false;
  target::optimise(module, *machine, tuning, llvm::OptimizationLevel::O1);
}

llvm::FailureOr<std::string> MachineCode::generate(llvm::Module &module) {
  module.setTargetTriple(machine->getTargetTriple());
  module.setDataLayout(machine->createDataLayout());
  for (llvm::Function &function : module) {
    function.setDoesNotThrow(); // no unwind tables
    function.addFnAttr("prefer-vector-width", std::to_string(isa.vectorBits));
    function.addFnAttr("min-legal-vector-width", std::to_string(isa.vectorBits));
  }
  optimise(module);
  auto object = target::emitCode(module, *machine, llvm::CodeGenFileType::ObjectFile);
  if (object)
    return std::move(*object);
  message = "this LLVM cannot write object files";
  return failure();
}
