//===- Kernels.cpp --------------------------------------------------------===//
#include "compiler/target/cuda/Kernels.h"
#include "compiler/target/common/KernelText.h"
#include "compiler/target/common/ObjectCache.h"
#include "compiler/target/cuda/CodegenId.inc"
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
/// A kernel on its way to PTX, and to the emulator's code if that is asked for.
struct Job {
  Job(std::string text, PtxCompiler::Options options)
      : text(std::move(text)), options(options) {}

  std::string keyOf(StringRef what) const {
    return target::ObjectCache::keyOf(
        {kCodegenId, what, options.grouped ? "grouped" : "", options.lines ? "lines" : "", text});
  }
  bool lookup(const target::ObjectCache &cache) {
    auto ptx = cache.lookup(keyOf("ptx"));
    auto object = options.emulate ? cache.lookup(keyOf("emulated")) : std::string();
    if (!ptx || !object)
      return false;
    code = {std::move(*ptx), std::move(*object)};
    return true;
  }
  void store(const target::ObjectCache &cache) const {
    cache.store(keyOf("ptx"), code.ptx);
    if (options.emulate)
      cache.store(keyOf("emulated"), code.object);
  }

  std::string text, error;
  PtxCompiler::Options options;
  PtxCompiler::Code code;
};
} // namespace

/// Takes the next job until there is none, with a generator of this thread.
static void work(ArrayRef<Job *> jobs, std::atomic<size_t> &next,
                 const target::ObjectCache &cache) {
  std::optional<PtxCompiler> generator;
  for (size_t i; (i = next++) < jobs.size();) {
    if (!generator)
      generator.emplace();
    Job &job = *jobs[i];
    FailureOr<PtxCompiler::Code> code = generator->compile(job.text, job.options);
    if (failed(code)) {
      job.error = generator->error();
      continue;
    }
    job.code = std::move(*code);
    job.store(cache);
  }
}

static void runJobs(ArrayRef<Job *> jobs, int threads, const target::ObjectCache &cache) {
  std::atomic<size_t> next{0};
  size_t count = threads > 0 ? threads : std::max(1u, std::thread::hardware_concurrency());
  std::vector<std::thread> helpers;
  for (size_t i = 1; i < std::min(count, jobs.size()); ++i)
    helpers.emplace_back([&] { work(jobs, next, cache); });
  work(jobs, next, cache);
  for (std::thread &helper : helpers)
    helper.join();
}

/// Machine code of these modules, from the cache if it is there.
static FailureOr<std::string> makeCubin(ArrayRef<std::string> modules, const Arch &arch,
                                        const target::ObjectCache &cache, std::string &error) {
  if (!hasNvJitLink(error))
    return failure();
  std::string name = arch.name(), version = nvJitLinkVersion();
  SmallVector<StringRef> parts{kCodegenId, "cubin", name, version};
  parts.append(modules.begin(), modules.end());
  std::string key = target::ObjectCache::keyOf(parts);
  if (auto cubin = cache.lookup(key))
    return std::move(*cubin);
  FailureOr<std::string> cubin = linkPtx(modules, arch, error);
  if (succeeded(cubin))
    cache.store(key, *cubin);
  return cubin;
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
    jobs.emplace_back(target::printKernel(kernel, options.lines),
                      PtxCompiler::Options{isGrouped, options.lines, options.emulate});
  }
  target::ObjectCache cache(options.cacheDir);
  std::vector<Job *> missing;
  for (Job &job : jobs)
    if (!job.lookup(cache))
      missing.push_back(&job);
  result.compiled = missing.size();
  runJobs(missing, options.threads, cache);
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
    FailureOr<std::string> cubin = makeCubin(modules, arch, cache, error);
    if (failed(cubin))
      return module.emitError(error);
    result.cubins.push_back({arch, std::move(*cubin)});
  }
  if (!missing.empty())
    cache.trim();
  return result;
}
