#include "compiler/target/cuda/Emulation.h"
#include "compiler/target/cpu/Isa.h"
#include "compiler/target/cpu/Linker.h"
#include "compiler/target/cpu/TargetMachine.h"
#include "compiler/target/cuda/EmulatedAccesses.h"
#include "compiler/target/cuda/EmulatedBrainFloats.h"
#include "compiler/target/cuda/EmulatedIntrinsics.h"
#include "compiler/target/cuda/EmulatedKernel.h"
#include "compiler/target/cuda/EmulatedLoops.h"
#include "llvm/IR/InstIterator.h"
#include "llvm/IR/LegacyPassManager.h"
#include "llvm/IR/ReplaceConstant.h"
#include "llvm/IR/Verifier.h"
#include "llvm/Passes/PassBuilder.h"
#include "llvm/Transforms/IPO/AlwaysInliner.h"

using namespace llvm;
using namespace minigptc::cuda;
using namespace minigptc::cuda::emulation;

static bool isKernel(const Function &function) {
  return function.getCallingConv() == CallingConv::PTX_Kernel;
}

/// Kernels are whole functions, so that everything knows which kernel it belongs to.
static void inlineCalls(Module &module) {
  for (Function &function : module) {
    function.removeFnAttr(Attribute::NoInline);
    function.removeFnAttr(Attribute::OptimizeNone);
    if (!isKernel(function) && !function.isDeclaration()) {
      function.setLinkage(GlobalValue::InternalLinkage);
      function.addFnAttr(Attribute::AlwaysInline);
    }
  }
  LoopAnalysisManager loops;
  FunctionAnalysisManager functions;
  CGSCCAnalysisManager sccs;
  ModuleAnalysisManager modules;
  PassBuilder builder;
  builder.registerModuleAnalyses(modules);
  builder.registerCGSCCAnalyses(sccs);
  builder.registerFunctionAnalyses(functions);
  builder.registerLoopAnalyses(loops);
  builder.crossRegisterProxies(loops, functions, sccs, modules);
  AlwaysInlinerPass().run(module, modules);
}

/// Facts that hold on a GPU, where nothing is checked, and by which accesses could move across
/// their checks.
static void dropPromises(EmulatedKernel &kernel) {
  for (Instruction &instruction : instructions(kernel.function())) {
    if (kernel.isOwn(instruction))
      continue;
    for (unsigned kind :
         {unsigned(LLVMContext::MD_invariant_load), unsigned(LLVMContext::MD_noalias),
          unsigned(LLVMContext::MD_alias_scope), unsigned(LLVMContext::MD_tbaa),
          unsigned(LLVMContext::MD_invariant_group), unsigned(LLVMContext::MD_range),
          unsigned(LLVMContext::MD_dereferenceable)})
      instruction.setMetadata(kind, nullptr);
    if (auto *call = dyn_cast<CallInst>(&instruction))
      call->setTailCallKind(CallInst::TCK_None);
  }
}

/// Addresses of shared variables appear in instructions only.
static bool exposeSharedVariables(Module &module, std::string &error) {
  SmallVector<Constant *> variables;
  for (GlobalVariable &global : module.globals())
    if (global.getAddressSpace() == 3)
      variables.push_back(&global);
  convertUsersOfConstantsToInstructions(variables);
  for (Constant *variable : variables) {
    variable->removeDeadConstantUsers();
    if (any_of(variable->users(), [](User *user) { return !isa<Instruction>(user); })) {
      error = "the address of shared variable '" + variable->getName().str() +
              "' is stored in a constant, which the emulator does not know";
      return false;
    }
  }
  return true;
}

static bool rewriteKernel(Function &old, StringPool &strings, std::string &error) {
  EmulatedKernel kernel(old);
  if (!widenBrainFloats(kernel.function(), error) || !checkAccesses(kernel, error))
    return false;
  dropPromises(kernel);
  countTurns(kernel);
  if (!lowerIntrinsics(kernel, error))
    return false;
  kernel.placeShared();
  kernel.writeRecord(strings);
  return true;
}

static bool rewrite(Module &module, std::string &error) {
  inlineCalls(module);
  SmallVector<Function *> kernels;
  for (Function &function : module)
    if (isKernel(function) && !function.isDeclaration())
      kernels.push_back(&function);
  if (kernels.empty()) {
    error = "the module has no kernel";
    return false;
  }
  if (!exposeSharedVariables(module, error))
    return false;
  StringPool strings(module);
  for (Function *kernel : kernels) {
    std::string name(kernel->getName());
    if (!rewriteKernel(*kernel, strings, error)) {
      error = "kernel '" + name + "': " + error;
      return false;
    }
    kernel->eraseFromParent();
  }
  for (Function &function : make_early_inc_range(module))
    if (function.isDeclaration() && function.use_empty())
      function.eraseFromParent();
  for (GlobalVariable &global : make_early_inc_range(module.globals()))
    if (global.getAddressSpace() == 3 && global.use_empty())
      global.eraseFromParent();
  raw_string_ostream stream(error);
  return !verifyModule(module, &stream);
}

/// Makes the module one of x86-64, by `change`, and an object of that.
static FailureOr<std::string>
emitObject(Module &module, function_ref<bool(Module &, std::string &)> change, std::string &error) {
  std::unique_ptr<TargetMachine> machine =
      minigptc::cpu::createTargetMachine(minigptc::cpu::Isa::baseline());
  if (!machine) {
    error = "this LLVM has no code generator for x86-64, for which the emulator needs code";
    return failure();
  }
  module.setTargetTriple(machine->getTargetTriple());
  module.setDataLayout(machine->createDataLayout());
  if (!change(module, error))
    return failure();
  SmallVector<char, 0> object;
  raw_svector_ostream stream(object);
  legacy::PassManager passes;
  if (machine->addPassesToEmitFile(passes, stream, nullptr, CodeGenFileType::ObjectFile)) {
    error = "this LLVM cannot write object files";
    return failure();
  }
  passes.run(module);
  return std::string(object.begin(), object.end());
}

FailureOr<std::string> emulation::compileObject(std::unique_ptr<Module> module,
                                                std::string &error) {
  return emitObject(*module, rewrite, error);
}

FailureOr<std::vector<std::byte>> emulation::link(ArrayRef<std::string> objects,
                                                  std::string &error) {
  if (!objects.empty())
    return cpu::linkSharedObject(objects, error);
  LLVMContext context;
  Module empty("no kernels", context);
  FailureOr<std::string> object =
      emitObject(empty, [](Module &, std::string &) { return true; }, error);
  if (failed(object))
    return failure();
  return cpu::linkSharedObject({*object}, error);
}

FailureOr<std::vector<std::byte>> emulation::compile(std::unique_ptr<Module> module,
                                                     std::string &error) {
  FailureOr<std::string> object = compileObject(std::move(module), error);
  if (failed(object))
    return failure();
  return link({*object}, error);
}
