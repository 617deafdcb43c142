//===- CpuTarget.cpp ------------------------------------------------------===//
#include "compiler/target/cpu/CpuTarget.h"
#include "compiler/target/cpu/ArtifactBuilder.h"
#include "compiler/target/cpu/Kernels.h"
#include "compiler/target/cpu/Linker.h"

#include <chrono>

using namespace mlir;
using namespace minigptc;

FailureOr<std::vector<std::byte>>
minigptc::cpu::emitArtifact(ModuleOp module, const CompileOptions &options, CompileStats &stats) {
  auto start = std::chrono::steady_clock::now();
  const Isa *isa = Isa::named(options.cpu);
  if (!isa)
    return module.emitError("there is no code for cpu '")
           << options.cpu << "'; it is native or baseline";
  ArtifactBuilder builder(module, *isa);
  if (failed(builder.collect()))
    return failure();
  FailureOr<std::vector<std::string>> objects =
      compileKernels(builder.getKernels(), *isa, options, stats);
  if (failed(objects))
    return failure();
  std::vector<std::byte> code;
  if (!objects->empty()) {
    std::string error;
    FailureOr<std::vector<std::byte>> linked = linkSharedObject(*objects, error);
    if (failed(linked))
      return module.emitError("cannot link the kernels: ") << error;
    code = std::move(*linked);
  }
  std::vector<std::byte> artifact = builder.finish(code);
  stats.codegenSeconds =
      std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  return artifact;
}
