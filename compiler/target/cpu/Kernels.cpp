//===- Kernels.cpp --------------------------------------------------------===//
#include "compiler/target/cpu/Kernels.h"
#include "compiler/target/cpu/KernelEmitter.h"
#include "compiler/target/cpu/MachineCode.h"
#include "compiler/target/cpu/ObjectCache.h"

#include <atomic>
#include <chrono>
#include <thread>

using namespace mlir;
using namespace minigptc;
using namespace minigptc::cpu;

namespace {
/// A kernel on its way to object code.
struct Job {
  std::string text, key, object, error;
  double seconds = 0;
  KernelPhases phases;
  bool done = false;
};
} // namespace

/// The kernel without source locations: equal kernels of different places in a
/// model are one entry of the cache.
static std::string printKernel(func::FuncOp kernel) {
  std::string text;
  llvm::raw_string_ostream stream(text);
  kernel->print(stream, OpPrintingFlags().enableDebugInfo(false).useLocalScope().assumeVerified());
  return text;
}

static double secondsSince(std::chrono::steady_clock::time_point start) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

static void compileJob(MachineCode &generator, Job &job) {
  auto start = std::chrono::steady_clock::now();
  FailureOr<std::string> object = generator.compile(job.text);
  if (succeeded(object))
    job.object = std::move(*object);
  else
    job.error = generator.error();
  job.done = succeeded(object);
  job.seconds = secondsSince(start);
  job.phases = generator.phases();
}

/// Threads take the next job until there is none; each has a generator.
static void compileJobs(ArrayRef<Job *> jobs, const Isa &isa, int threads) {
  if (threads <= 0)
    threads = std::max(1u, std::thread::hardware_concurrency());
  threads = std::min<int>(threads, jobs.size());
  std::atomic<size_t> next{0};
  auto work = [&] {
    MachineCode generator(isa);
    for (size_t i; (i = next++) < jobs.size();)
      compileJob(generator, *jobs[i]);
  };
  std::vector<std::thread> others;
  for (int i = 1; i < threads; ++i)
    others.emplace_back(work);
  if (!jobs.empty())
    work();
  for (std::thread &thread : others)
    thread.join();
}

static void recordTimes(ArrayRef<func::FuncOp> kernels, ArrayRef<Job> jobs, CompileStats &stats) {
  KernelPhases sum;
  for (auto [kernel, job] : llvm::zip_equal(kernels, jobs)) {
    func::FuncOp function = kernel;
    stats.parts.push_back(
        {"kernel", function.getSymName().str(), job.seconds, 1, job.seconds == 0 ? "cached" : ""});
    sum.loops += job.phases.loops;
    sum.lowering += job.phases.lowering;
    sum.llvm += job.phases.llvm;
  }
  if (stats.kernelsCompiled == 0)
    return;
  for (auto [name, seconds] : {std::pair("parsing, loops and vectors", sum.loops),
                               std::pair("lowering to LLVM IR", sum.lowering),
                               std::pair("LLVM: optimisation and code", sum.llvm)})
    stats.parts.push_back({"phase", name, seconds, stats.kernelsCompiled, {}});
}

FailureOr<std::vector<std::string>> minigptc::cpu::compileKernels(ArrayRef<func::FuncOp> kernels,
                                                                  const Isa &isa,
                                                                  const CompileOptions &options,
                                                                  CompileStats &stats) {
  std::string directory =
      options.cacheDir.empty() ? ObjectCache::defaultDirectory() : options.cacheDir;
  ObjectCache cache(options.useCache ? directory : "");
  std::vector<Job> jobs(kernels.size());
  std::vector<Job *> missing;
  for (auto [kernel, job] : llvm::zip_equal(kernels, jobs)) {
    if (failed(verifyKernel(kernel)))
      return failure();
    job.text = printKernel(kernel);
    job.key = ObjectCache::keyOf(job.text, isa);
    if (auto object = cache.lookup(job.key)) {
      job.object = std::move(*object);
      job.done = true;
    } else {
      missing.push_back(&job);
    }
  }
  compileJobs(missing, isa, options.threads);
  stats.kernels = jobs.size();
  stats.kernelsCompiled = missing.size();
  if (options.timing)
    recordTimes(kernels, jobs, stats);
  for (Job *job : missing)
    if (job->done)
      cache.store(job->key, job->object);
  if (!missing.empty())
    cache.trim();
  std::vector<std::string> objects;
  for (size_t i = 0; i < jobs.size(); ++i) {
    func::FuncOp kernel = kernels[i];
    if (!jobs[i].done)
      return kernel.emitError("cannot generate code for this kernel: ") << jobs[i].error;
    objects.push_back(std::move(jobs[i].object));
  }
  return objects;
}
