//===- EmitArtifact.cpp - code and tables, in steps that are timed --------===//
#include "compiler/target/artifact/ArtifactBuilder.h"
#include "compiler/target/artifact/TargetCode.h"

#include <chrono>

using namespace mlir;
using namespace minigptc;

LogicalResult minigptc::target::emitArtifact(ModuleOp module, Target &target,
                                             const CompileOptions &options,
                                             CompiledProgram &program) {
  CompileStats &stats = program.stats;
  auto last = std::chrono::steady_clock::now();
  auto step = [&](const char *name) {
    auto now = std::chrono::steady_clock::now();
    if (options.timing)
      stats.parts.push_back(
          {"step", name, std::chrono::duration<double>(now - last).count(), 1, {}});
    last = now;
  };
  if (failed(target.verify(module)))
    return failure();
  ArtifactBuilder builder(module);
  if (failed(builder.collect()))
    return failure();
  step("reading the blocks");
  FailureOr<TargetCode> code = target.finish(module, builder.getKernels(), stats);
  if (failed(code))
    return failure();
  step("kernels: waiting for the last, linking");
  program.artifact = builder.finish(*code);
  program.listings = std::move(code->listings);
  step("writing the artifact");
  return success();
}
