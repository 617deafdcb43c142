// Random programs on random meshes, compiled, on threads as devices, against the interpreter on
// one device: what the proof in the interpreter leaves out, the communicator and the kernels.
#include "test/compiler/random/RandomInputs.h"
#include "test/compiler/sharding/RandomShardings.h"
#include "test/compiler/sharding/ShardedRun.h"
#include "test/compiler/sharding/Stability.h"
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
    std::string difference = compareAll(compiled.run(run.getEntry(), run.getInputs()), expected,
                                        2 * toleranceOf(*whole));
    return difference.empty() || isUnstable(runner, *whole, run.getEntry(), run.getInputs())
               ? ""
               : difference;
  } catch (const std::exception &error) {
    return error.what();
  }
}

TEST_CASE("Compiled programs on many devices compute what one does") {
  ModuleRunner runner;
  runner.context().printOpOnDiagnostic(false);
  for (uint64_t seed = 0; seed < 120; ++seed) {
    bool gradient = seed % 2 == 1, narrow = seed % 5 == 4;
    auto module = generateProgram(runner.context(), seed + 500,
                                  {.floatType = narrow ? "bf16" : "f32",
                                   .steps = gradient ? 4 : 6,
                                   .differentiable = gradient,
                                   .callTwice = true});
    annotate(*module, seed + 500, {.even = seed % 4 < 2, .differentiable = gradient});
    std::string wrong = wrongCompiled(runner, *module, seed, gradient);
    INFO("seed " << seed << "\n" << (wrong.empty() ? "" : printModule(*module)));
    CHECK(wrong == "");
  }
}

// 256 + 1 is 256 in bf16: one device adds in f32, and gets 2. So must two, of each way to sum
// over devices: a reduction, a product, two that are added first, and one that is scattered.
static const char *kSums = R"mlir(
#cut = #dist.sharding<@mesh, [{"d"}]>
dist.mesh @mesh = <["d"=2]>
func.func private @product(%a: tensor<4xbf16>, %w: tensor<4x2xbf16>) -> tensor<2xbf16> {
  %p = graph.dot_general %a, %w, batching_dims = [] x [], contracting_dims = [0] x [0]
      : (tensor<4xbf16>, tensor<4x2xbf16>) -> tensor<2xbf16>
  return %p : tensor<2xbf16>
}
func.func @f(%a: tensor<4xbf16> {graph.name = "a", dist.sharding = #cut}, %w: tensor<4x2xbf16> {graph.name = "w"})
    -> (tensor<bf16> {graph.name = "sum"}, tensor<2xbf16> {graph.name = "product"},
        tensor<2xbf16> {graph.name = "both"}, tensor<2xbf16> {graph.name = "part", dist.sharding = #cut})
    attributes {graph.entry} {
  %sum = graph.reduce sum, %a, dims = [0] : (tensor<4xbf16>) -> tensor<bf16>
  %product = call @product(%a, %w) : (tensor<4xbf16>, tensor<4x2xbf16>) -> tensor<2xbf16>
  %x = call @product(%a, %w) : (tensor<4xbf16>, tensor<4x2xbf16>) -> tensor<2xbf16>
  %twice = graph.add %a, %a : tensor<4xbf16>
  %y = call @product(%twice, %w) : (tensor<4xbf16>, tensor<4x2xbf16>) -> tensor<2xbf16>
  %both = graph.add %x, %y : tensor<2xbf16>
  %part = graph.dot_general %twice, %w, batching_dims = [] x [], contracting_dims = [0] x [0]
      : (tensor<4xbf16>, tensor<4x2xbf16>) -> tensor<2xbf16>
  return %sum, %product, %both, %part : tensor<bf16>, tensor<2xbf16>, tensor<2xbf16>, tensor<2xbf16>
}
)mlir";

TEST_CASE("Sums of bf16 over devices are rounded once") {
  ModuleRunner runner;
  auto module = runner.parse(kSums);
  CompiledModule compiled(*module);
  CHECK(compiled.devices() == 2);
  std::vector<Tensor> inputs = {runner.tensor("4xbf16", {256, 1, -256, 1}),
                                runner.tensor("4x2xbf16", {1})};
  std::vector<Tensor> results = compiled.run("f", inputs);
  const double expected[] = {2, 2, 6, 4};
  for (size_t i = 0; i < 4; ++i)
    for (int64_t at = 0; at < results[i].getNumElements(); ++at)
      CHECK(results[i].getFloat(at) == expected[i]);
}

// Ids that a program computes may be anything; one device clamps them into the table.
TEST_CASE("Ids that are computed are clamped, whoever has the row") {
  ModuleRunner runner;
  auto module = runner.parse(R"mlir(
dist.mesh @mesh = <["d"=2]>
func.func @f(%t: tensor<5x1xf32> {graph.name = "t", dist.sharding = #dist.sharding<@mesh, [{"d"}, {}]>},
             %x: tensor<4xf32> {graph.name = "x"}) -> (tensor<4x1xf32> {graph.name = "y"})
    attributes {graph.entry} {
  %ids = graph.convert %x : (tensor<4xf32>) -> tensor<4xi32>
  %y = graph.embedding %t, %ids : (tensor<5x1xf32>, tensor<4xi32>) -> tensor<4x1xf32>
  return %y : tensor<4x1xf32>
}
)mlir");
  CompiledModule compiled(*module);
  std::vector<Tensor> inputs = {runner.tensor("5x1xf32", {10, 11, 12, 13, 14}),
                                runner.tensor("4xf32", {-1, 3, 5, 1000000000})};
  std::vector<Tensor> results = compiled.run("f", inputs);
  const double expected[] = {10, 13, 14, 14};
  for (int64_t at = 0; at < 4; ++at)
    CHECK(results[0].getFloat(at) == expected[at]);
}
