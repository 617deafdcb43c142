// Random programs on random meshes, compiled, on threads as devices, against the interpreter on
// one device: what the proof in the interpreter leaves out, the communicator and the kernels.
#include "test/compiler/random/RandomInputs.h"
#include "test/compiler/sharding/RandomShardings.h"
#include "test/compiler/sharding/ShardedRun.h"
#include "test/support/CompiledModule.h"
#include "test/support/RandomProgram.h"
#include "test/support/Shrink.h"

#include <catch2/catch.hpp>

using namespace minigptc;
using namespace minigptc::test;

static std::string wrongCompiled(ModuleRunner &runner, mlir::ModuleOp module, uint64_t seed,
                                 bool gradient) {
  try {
    ShardedRun run(runner, module, seed, gradient);
    mlir::OwningOpRef<mlir::ModuleOp> whole(run.getModule().clone());
    runner.runPasses(*whole, "minigptc-to-step");
    std::vector<Tensor> expected = runner.run(*whole, run.getEntry(), run.getInputs());
    CompiledModule compiled(run.getModule());
    if (compiled.devices() != dist::findMesh(module).getMesh().getNumDevices())
      return "it is compiled for " + std::to_string(compiled.devices()) + " devices";
    return compareAll(compiled.run(run.getEntry(), run.getInputs()), expected, 2e-4);
  } catch (const std::exception &error) {
    return error.what();
  }
}

TEST_CASE("Compiled programs on many devices compute what one does") {
  ModuleRunner runner;
  runner.context().printOpOnDiagnostic(false);
  for (uint64_t seed = 0; seed < 120; ++seed) {
    bool gradient = seed % 2 == 1;
    auto module = generateProgram(
        runner.context(), seed + 500,
        {.floatType = "f32", .steps = gradient ? 4 : 6, .differentiable = gradient});
    annotate(*module, seed + 500, {.even = seed % 4 < 2});
    std::string wrong = wrongCompiled(runner, *module, seed, gradient);
    INFO("seed " << seed << "\n" << (wrong.empty() ? "" : printModule(*module)));
    CHECK(wrong == "");
  }
}
