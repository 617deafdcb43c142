//===- Kernels.cpp --------------------------------------------------------===//
#include "compiler/target/cuda/Kernels.h"
#include "compiler/target/common/KernelText.h"
#include "compiler/target/cuda/Emulation.h"
#include "compiler/target/cuda/NvJitLink.h"
#include "compiler/target/cuda/PtxCompiler.h"
#include "dialects/exec/IR/Exec.h"

#include <atomic>
#include <thread>

using namespace mlir;
using namespace minigptc;
using namespace minigptc::cuda;

/// The kernels of launches with groups.
static DenseSet<StringAttr> findGrouped(ModuleOp module) {
  DenseSet<StringAttr> grouped;
  module.walk([&](exec::LaunchOp launch) {
    if (launch.getGroups() > 1)
      grouped.insert(launch.getKernelAttr().getAttr());
  });
  return grouped;
}

namespace {
struct Job {
  std::string text, error;
  PtxCompiler::Options options;
  PtxCompiler::Code code;
};
} // namespace

/// Takes the next job until there is none, with a generator of this thread.
static void work(std::vector<Job> &jobs, std::atomic<size_t> &next) {
  std::optional<PtxCompiler> generator;
  for (size_t i; (i = next++) < jobs.size();) {
    if (!generator)
      generator.emplace();
    FailureOr<PtxCompiler::Code> code = generator->compile(jobs[i].text, jobs[i].options);
    if (succeeded(code))
      jobs[i].code = std::move(*code);
    else
      jobs[i].error = generator->error();
  }
}

static void runJobs(std::vector<Job> &jobs, int threads) {
  std::atomic<size_t> next{0};
  size_t count = threads > 0 ? threads : std::max(1u, std::thread::hardware_concurrency());
  std::vector<std::thread> helpers;
  for (size_t i = 1; i < std::min(count, jobs.size()); ++i)
    helpers.emplace_back([&] { work(jobs, next); });
  work(jobs, next);
  for (std::thread &helper : helpers)
    helper.join();
}

FailureOr<ModuleCode> minigptc::cuda::compileKernels(ModuleOp module, ArrayRef<Arch> archs,
                                                     const KernelOptions &options) {
  llvm::SetVector<func::FuncOp> kernels = target::findKernels(module);
  DenseSet<StringAttr> grouped = findGrouped(module);
  ModuleCode result;
  std::vector<Job> jobs;
  for (func::FuncOp kernel : kernels) {
    if (failed(verifyKernel(kernel)))
      return failure();
    KernelPlan plan = planKernel(kernel);
    bool isGrouped = grouped.contains(kernel.getSymNameAttr());
    result.kernels.push_back({kernel.getSymName().str(), isGrouped, plan.grid, plan.block,
                              plan.sharedBytes, plan.kind().str(), {}});
    jobs.push_back({target::printKernel(kernel, options.lines), {}, {isGrouped, options.lines, options.emulate}, {}});
  }
  runJobs(jobs, options.threads);
  std::vector<std::string> modules, objects;
  for (auto [kernel, code, job] : llvm::zip_equal(kernels, result.kernels, jobs)) {
    if (!job.error.empty())
      return kernel->emitError("cannot generate CUDA code for this kernel: ") << job.error;
    modules.push_back(code.ptx = std::move(job.code.ptx));
    objects.push_back(std::move(job.code.object));
  }
  std::string error;
  if (options.emulate) { // Also where a program has no kernels: the artifact says so.
    auto emulated = emulation::link(objects, error);
    if (failed(emulated))
      return module.emitError("cannot link kernels for the emulator: ") << error;
    result.emulated = std::move(*emulated);
  }
  for (const Arch &arch : archs) {
    FailureOr<std::string> cubin = linkPtx(modules, arch, error);
    if (failed(cubin))
      return module.emitError(error);
    result.cubins.push_back({arch, std::move(*cubin)});
  }
  return result;
}
