//===- Kernels.cpp --------------------------------------------------------===//
#include "compiler/target/cpu/Kernels.h"
#include "compiler/target/common/KernelText.h"
#include "compiler/target/cpu/CodegenId.inc"
#include "compiler/target/cpu/KernelEmitter.h"
#include "compiler/target/cpu/MachineCode.h"

#include <chrono>

using namespace mlir;
using namespace minigptc;
using namespace minigptc::cpu;

/// A kernel on its way to object code.
struct KernelCompiler::Job {
  std::string text, key, object, error;
  size_t weight = 0; ///< the more, the longer it takes, as a rule
  double seconds = 0;
  KernelPhases phases;
  bool done = false;
};

/// Kernels with loops of their own are few ops and much code.
static size_t weigh(func::FuncOp kernel, size_t textSize) {
  bool isWhole =
      kernel.walk([](graph::WholeKernelOp) { return WalkResult::interrupt(); }).wasInterrupted();
  return textSize + (isWhole ? size_t(1) << 20 : 0);
}

/// The module's kernels, each one that there is code for.
static FailureOr<llvm::SetVector<func::FuncOp>> findKernels(ModuleOp module) {
  llvm::SetVector<func::FuncOp> kernels = target::findKernels(module);
  for (func::FuncOp kernel : kernels)
    if (failed(verifyKernel(kernel)))
      return failure();
  return kernels;
}

std::string cpu::objectKeyOf(StringRef text, const Isa &isa) {
  return target::ObjectCache::keyOf({kCodegenId, Isa::triple, isa.cpu, text});
}

KernelCompiler::KernelCompiler(const Isa &isa, const CompileOptions &options)
    : isa(isa), options(options), cache(target::ObjectCache::directoryOf(options)) {}

KernelCompiler::~KernelCompiler() {
  next = missing.size();
  stop();
}

void KernelCompiler::stop() {
  for (std::thread &thread : threads)
    thread.join();
  threads.clear();
}

LogicalResult KernelCompiler::start(ModuleOp module) {
  auto kernels = findKernels(module);
  if (failed(kernels))
    return failure();
  for (func::FuncOp kernel : *kernels) {
    Job &job = *jobs.emplace_back(std::make_unique<Job>());
    jobOf[kernel] = &job;
    job.text = target::printKernel(kernel);
    job.key = objectKeyOf(job.text, isa);
    if (auto object = cache.lookup(job.key)) {
      job.object = std::move(*object);
      job.done = true;
    } else {
      job.weight = weigh(kernel, job.text.size());
      missing.push_back(&job);
    }
  }
  llvm::sort(missing, [](Job *a, Job *b) {
    return a->weight != b->weight ? a->weight > b->weight : a->key < b->key;
  });
  int count =
      options.threads > 0 ? options.threads : std::max(1u, std::thread::hardware_concurrency());
  for (int i = 1; i < std::min<int>(count, missing.size()); ++i)
    threads.emplace_back([this] { work(); });
  return success();
}

/// Takes the next job until there is none, with a generator of this thread.
void KernelCompiler::work() {
  std::optional<MachineCode> generator;
  for (size_t i; (i = next++) < missing.size();) {
    if (!generator)
      generator.emplace(isa);
    auto start = std::chrono::steady_clock::now();
    Job &job = *missing[i];
    FailureOr<std::string> object = generator->compile(job.text);
    job.done = succeeded(object);
    if (job.done)
      job.object = std::move(*object);
    else
      job.error = generator->error();
    job.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
    job.phases = generator->phases();
    if (job.done)
      cache.store(job.key, job.object);
  }
}

void KernelCompiler::recordTimes(ArrayRef<func::FuncOp> kernels, CompileStats &stats) {
  KernelPhases sum;
  for (func::FuncOp kernel : kernels) {
    const Job &job = *jobOf.lookup(kernel);
    stats.parts.push_back(
        {"kernel", kernel.getSymName().str(), job.seconds, 1, job.seconds == 0 ? "cached" : ""});
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

FailureOr<std::vector<std::string>> KernelCompiler::finish(ArrayRef<func::FuncOp> kernels,
                                                           CompileStats &stats) {
  work();
  stop();
  stats.kernels = jobs.size();
  stats.kernelsCompiled = missing.size();
  if (options.timing)
    recordTimes(kernels, stats);
  if (!missing.empty())
    cache.trim();
  std::vector<std::string> objects;
  for (func::FuncOp kernel : kernels) {
    Job &job = *jobOf.lookup(kernel);
    if (!job.done)
      return kernel.emitError("cannot generate code for this kernel: ") << job.error;
    objects.push_back(std::move(job.object));
  }
  return objects;
}
