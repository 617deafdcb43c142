//===- CpuTarget.cpp ------------------------------------------------------===//
#include "compiler/target/cpu/CpuTarget.h"
#include "compiler/target/cpu/ArtifactBuilder.h"
#include "compiler/target/cpu/Linker.h"

#include <chrono>

using namespace mlir;
using namespace minigptc;

FailureOr<std::vector<std::byte>> minigptc::cpu::emitArtifact(ModuleOp module, const Isa &isa,
                                                              KernelCompiler &kernels,
                                                              const CompileOptions &options,
                                                              CompileStats &stats) {
  auto last = std::chrono::steady_clock::now();
  auto step = [&](const char *name) {
    auto now = std::chrono::steady_clock::now();
    if (options.timing)
      stats.parts.push_back(
          {"step", name, std::chrono::duration<double>(now - last).count(), 1, {}});
    last = now;
  };
  ArtifactBuilder builder(module, isa);
  if (failed(builder.collect()))
    return failure();
  step("reading the blocks");
  FailureOr<std::vector<std::string>> objects = kernels.finish(builder.getKernels(), stats);
  if (failed(objects))
    return failure();
  step("kernels: waiting for the last");
  std::vector<std::byte> code;
  if (!objects->empty()) {
    std::string error;
    FailureOr<std::vector<std::byte>> linked = linkSharedObject(*objects, error);
    if (failed(linked))
      return module.emitError("cannot link the kernels: ") << error;
    code = std::move(*linked);
  }
  step("linking");
  std::vector<std::byte> artifact = builder.finish(code);
  step("writing the artifact");
  return artifact;
}
