// Loops of blocks, accumulating products, and losses in chunks: compiled against
// interpreted, and through the instructions of stage exec.
#include "test/support/Compare.h"
#include "test/support/CompiledModule.h"
#include "test/support/ModuleRunner.h"

#include <catch2/catch.hpp>

using namespace minigptc::test;

namespace {
/// Carried values that start as an argument, as a constant and as something computed;
/// a loop in a loop; a carried product; a value that is carried and read besides.
constexpr const char *kLoops = R"(
func.func private @inner(%s: tensor<16x16xf32> {graph.donate = 0 : i64}, %x: tensor<16x16xf32>) -> (tensor<16x16xf32>, tensor<16x16xf32>) {
  %0 = graph.dot_general %x, %x, batching_dims = [] x [], contracting_dims = [1] x [1] : (tensor<16x16xf32>, tensor<16x16xf32>) -> tensor<16x16xf32>
  %1 = graph.add %s, %0 : tensor<16x16xf32>
  %2 = graph.tanh %1 : tensor<16x16xf32>
  return %1, %2 : tensor<16x16xf32>, tensor<16x16xf32>
}
func.func private @outer(%w: tensor<16x16xf32>, %s: tensor<16x16xf32> {graph.donate = 0 : i64}, %n: tensor<f32> {graph.donate = 1 : i64}, %x: tensor<48x16xf32>) -> (tensor<16x16xf32>, tensor<f32>, tensor<48x16xf32>) {
  %0:2 = graph.scan @inner() carried(%w) cut(%x) count = 3 : (tensor<16x16xf32>, tensor<48x16xf32>) -> (tensor<16x16xf32>, tensor<48x16xf32>)
  %1 = graph.subtract %0#0, %s : tensor<16x16xf32>
  %2 = graph.reduce sum, %s, dims = [0, 1] : (tensor<16x16xf32>) -> tensor<f32>
  %3 = graph.add %n, %2 : tensor<f32>
  return %1, %3, %0#1 : tensor<16x16xf32>, tensor<f32>, tensor<48x16xf32>
}
func.func @loops(%w: tensor<16x16xf32>, %x: tensor<96x16xf32>) -> (tensor<16x16xf32>, tensor<f32>, tensor<96x16xf32>, tensor<16x16xf32>, tensor<16x16xf32>) {
  %zero = graph.constant dense<0.0> : tensor<f32>
  %v = graph.dot_general %w, %w, batching_dims = [] x [], contracting_dims = [1] x [0] : (tensor<16x16xf32>, tensor<16x16xf32>) -> tensor<16x16xf32>
  %0:3 = graph.scan @outer(%w) carried(%w, %zero) cut(%x) count = 2 : (tensor<16x16xf32>, tensor<16x16xf32>, tensor<f32>, tensor<96x16xf32>) -> (tensor<16x16xf32>, tensor<f32>, tensor<96x16xf32>)
  %1:3 = graph.scan @outer(%v) carried(%v, %0#1) cut(%0#2) count = 2 : (tensor<16x16xf32>, tensor<16x16xf32>, tensor<f32>, tensor<96x16xf32>) -> (tensor<16x16xf32>, tensor<f32>, tensor<96x16xf32>)
  %2 = graph.dot_general %0#0, %v, batching_dims = [] x [], contracting_dims = [0] x [0] : (tensor<16x16xf32>, tensor<16x16xf32>) -> tensor<16x16xf32>
  %3 = graph.add %2, %1#0 : tensor<16x16xf32>
  return %0#0, %1#1, %1#2, %3, %v : tensor<16x16xf32>, tensor<f32>, tensor<96x16xf32>, tensor<16x16xf32>, tensor<16x16xf32>
})";

/// 8209 classes and 600 rows: two chunks of 256 rows, 88 rows left over.
constexpr const char *kLoss = R"(
func.func @loss(%h: tensor<3x200x8xf32>, %w: tensor<8x8209xf32>, %b: tensor<8209xf32>, %t: tensor<3x200xi32>) -> (tensor<f32>, tensor<3x200x8xf32>, tensor<8x8209xf32>, tensor<8209xf32>) {
  %loss, %dh, %dw, %db = graph.linear_cross_entropy %h, %w, %t bias %b ignore 7 : (tensor<3x200x8xf32>, tensor<8x8209xf32>, tensor<3x200xi32>, tensor<8209xf32>) -> (tensor<f32>, tensor<3x200x8xf32>, tensor<8x8209xf32>, tensor<8209xf32>)
  return %loss, %dh, %dw, %db : tensor<f32>, tensor<3x200x8xf32>, tensor<8x8209xf32>, tensor<8209xf32>
}
func.func @tied(%h: tensor<512x8xf32>, %w: tensor<8209x8xf32>, %t: tensor<512xi64>) -> (tensor<f32>, tensor<8209x8xf32>) {
  %loss, %dh, %dw = graph.linear_cross_entropy %h, %w, %t transposed : (tensor<512x8xf32>, tensor<8209x8xf32>, tensor<512xi64>) -> (tensor<f32>, tensor<512x8xf32>, tensor<8209x8xf32>)
  %c = graph.constant dense<-0.125> : tensor<8209x8xf32>
  %0 = graph.multiply %dw, %c : tensor<8209x8xf32>
  return %loss, %0 : tensor<f32>, tensor<8209x8xf32>
})";

/// Small numbers of either sign; classes are not negative.
std::vector<Tensor> inputsOf(ModuleRunner &runner, mlir::ModuleOp module, const char *name) {
  std::vector<Tensor> inputs;
  for (mlir::Type type : module.lookupSymbol<mlir::func::FuncOp>(name).getArgumentTypes()) {
    Tensor x = runner.random(mlir::cast<mlir::RankedTensorType>(type), inputs.size() + 7);
    for (int64_t i = 0; i < x.getNumElements(); ++i)
      if (mlir::isa<mlir::FloatType>(x.getType().getElementType()))
        x.setFloat(i, x.getFloat(i) * 0.25);
      else
        x.setInt(i, std::abs(x.getInt(i) * 7));
    inputs.push_back(x);
  }
  return inputs;
}

void compare(const std::vector<Tensor> &actual, const std::vector<Tensor> &expected) {
  REQUIRE(actual.size() == expected.size());
  for (size_t i = 0; i < actual.size(); ++i) {
    CAPTURE(i);
    CHECK(gradientDifference(actual[i], expected[i], 0) == "");
  }
}
} // namespace

TEST_CASE("loops of blocks compute what their functions compute") {
  ModuleRunner runner;
  auto module = runner.parse(kLoops);
  std::vector<Tensor> inputs = inputsOf(runner, *module, "loops");
  std::vector<Tensor> expected = runner.run(*module, "loops", inputs);
  compare(CompiledModule(*module).run("loops", inputs), expected);
  runner.runPasses(*module, "minigptc-to-schedule");
  compare(runner.run(*module, "loops", inputs), expected);
}

TEST_CASE("a loss in chunks is the loss of all rows, and so are its gradients") {
  ModuleRunner runner;
  for (const char *name : {"loss", "tied"}) {
    auto module = runner.parse(kLoss);
    std::vector<Tensor> inputs = inputsOf(runner, *module, name);
    std::vector<Tensor> expected = runner.run(*module, name, inputs);
    compare(CompiledModule(*module).run(name, inputs), expected);
  }
}
