//===- CpuTarget.cpp ------------------------------------------------------===//
#include "compiler/target/cpu/CpuTarget.h"
#include "compiler/target/cpu/KernelPlan.h"
#include "compiler/target/cpu/Kernels.h"
#include "compiler/target/cpu/Linker.h"
#include "compiler/target/cpu/QueueMemory.h"
#include "dialects/graph/IR/Graph.h"

using namespace mlir;
using namespace minigptc;
using namespace minigptc::cpu;

namespace {
class CpuTarget final : public target::Target {
public:
  CpuTarget(const Isa &isa, const CompileOptions &options) : isa(isa), compiler(isa, options) {}

  void tune(ModuleOp module) const override {
    module->removeAttr(graph::attr::kProductEpilogues); // of IR that was printed for another target
  }
  uint64_t memoryBeside(ModuleOp module, StringRef entry, int threads) const override {
    return queueMemory(module, entry, threads);
  }
  LogicalResult start(ModuleOp module) override { return compiler.start(module); }
  LogicalResult verify(ModuleOp) override { return success(); }

  FailureOr<target::TargetCode> finish(ModuleOp module, ArrayRef<func::FuncOp> kernels,
                                       CompileStats &stats) override {
    FailureOr<std::vector<std::string>> objects = compiler.finish(kernels, stats);
    if (failed(objects))
      return failure();
    target::TargetCode code{
        fb::TargetKind::cpu, Isa::artifactTriple, isa.features, {}, {}, {}, {}, {}};
    for (func::FuncOp kernel : kernels) {
      KernelPlan plan = planKernel(kernel);
      code.kernels.push_back(
          {int64_t(plan.items), int64_t(plan.grain), int64_t(plan.scratch), {}, plan.kind().str()});
    }
    if (objects->empty())
      return code;
    std::string error;
    FailureOr<std::vector<std::byte>> linked = linkSharedObject(*objects, error);
    if (failed(linked))
      return module.emitError("cannot link the kernels: ") << error;
    code.elf = std::move(*linked);
    return code;
  }

private:
  const Isa &isa;
  KernelCompiler compiler;
};
} // namespace

std::unique_ptr<target::Target> cpu::makeTarget(const Isa &isa, const CompileOptions &options) {
  return std::make_unique<CpuTarget>(isa, options);
}
