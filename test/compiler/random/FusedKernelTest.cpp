// The kernels that fusion makes of common layers and their gradients, against the
// interpreter, at sizes that fit no vector and no chunk.
#include "dialects/graph/IR/Graph.h"
#include "test/compiler/random/RandomInputs.h"
#include "test/support/Compare.h"
#include "test/support/CompiledModule.h"
#include "test/support/Vjp.h"

#include <catch2/catch.hpp>

using namespace minigptc::test;

namespace {
struct Case {
  std::string name;
  bool gradient;
  mlir::OwningOpRef<mlir::ModuleOp> module;
  std::vector<Tensor> arguments, expected;
};
} // namespace

/// Every `$A`, `$B`, `$C` replaced by a size.
static std::string withSizes(std::string text, std::array<int64_t, 3> sizes) {
  for (size_t at; (at = text.find('$')) != std::string::npos;)
    text.replace(at, 2, std::to_string(sizes[text[at + 1] - 'A']));
  return text;
}

/// The programs: each a function @f.
static const std::pair<const char *, const char *> kPrograms[] = {
    {"rms_norm", R"(
func.func @f(%x: tensor<$Ax$Bx$Cxf32>, %s: tensor<$Cxf32>) -> tensor<$Ax$Bx$Cxf32> {
  %y = graph.rms_norm %x, %s epsilon = 1.0e-3 : tensor<$Ax$Bx$Cxf32>, tensor<$Cxf32>
  return %y : tensor<$Ax$Bx$Cxf32>
})"},
    {"residual and layer_norm", R"(
func.func @f(%x: tensor<$Ax$Bx$Cxf32>, %r: tensor<$Ax$Bx$Cxf32>, %s: tensor<$Cxf32>, %b: tensor<$Cxf32>) -> (tensor<$Ax$Bx$Cxf32>, tensor<$Ax$Bx$Cxf32>) {
  %x1 = graph.add %x, %r : tensor<$Ax$Bx$Cxf32>
  %y = graph.layer_norm %x1, %s, %b epsilon = 1.0e-2 : tensor<$Ax$Bx$Cxf32>, tensor<$Cxf32>, tensor<$Cxf32>
  return %x1, %y : tensor<$Ax$Bx$Cxf32>, tensor<$Ax$Bx$Cxf32>
})"},
    {"softmax", R"(
func.func @f(%x: tensor<$Ax$Bx$Cxf32>) -> tensor<$Ax$Bx$Cxf32> {
  %y = graph.softmax %x, dim = 2 : tensor<$Ax$Bx$Cxf32>
  return %y : tensor<$Ax$Bx$Cxf32>
})"},
    {"softmax of another dimension", R"(
func.func @f(%x: tensor<$Ax$Bx$Cxf32>) -> tensor<$Ax$Bx$Cxf32> {
  %y = graph.softmax %x, dim = 1 : tensor<$Ax$Bx$Cxf32>
  return %y : tensor<$Ax$Bx$Cxf32>
})"},
    {"cross-entropy", R"(
func.func @f(%x: tensor<$Ax$Bx$Cxf32>, %t: tensor<$Ax$Bxi32>) -> tensor<$Ax$Bxf32> {
  %y = graph.softmax_cross_entropy %x, %t ignore 2 : (tensor<$Ax$Bx$Cxf32>, tensor<$Ax$Bxi32>) -> tensor<$Ax$Bxf32>
  return %y : tensor<$Ax$Bxf32>
})"},
    {"SwiGLU", R"(
func.func @f(%x: tensor<$Ax$Bx$Cxf32>, %g: tensor<$Ax$Bx$Cxf32>) -> tensor<$Ax$Bx$Cxf32> {
  %s = graph.silu %x : tensor<$Ax$Bx$Cxf32>
  %y = graph.multiply %s, %g : tensor<$Ax$Bx$Cxf32>
  return %y : tensor<$Ax$Bx$Cxf32>
})"},
    {"bias, activation, dropout, norm", R"(
func.func @f(%x: tensor<$Ax$Bx$Cxf32>, %b: tensor<$Cxf32>, %s: tensor<$Cxf32>, %key: tensor<2xui32>) -> tensor<$Ax$Bx$Cxf32> {
  %bias = graph.broadcast_in_dim %b, dims = [2] : (tensor<$Cxf32>) -> tensor<$Ax$Bx$Cxf32>
  %x1 = graph.add %x, %bias : tensor<$Ax$Bx$Cxf32>
  %x2 = graph.gelu %x1 : tensor<$Ax$Bx$Cxf32>
  %x3 = graph.dropout %x2, %key rate = 0.3 : tensor<$Ax$Bx$Cxf32>
  %x4 = graph.add %x, %x3 : tensor<$Ax$Bx$Cxf32>
  %y = graph.rms_norm %x4, %s epsilon = 1.0e-2 : tensor<$Ax$Bx$Cxf32>, tensor<$Cxf32>
  return %y : tensor<$Ax$Bx$Cxf32>
})"},
    {"a table that is the head as well", R"(
func.func @f(%w: tensor<$Cx8xf32>, %ids: tensor<$Ax$Bxi32>) -> tensor<$Ax$Bx$Cxf32> {
  %x = graph.embedding %w, %ids : (tensor<$Cx8xf32>, tensor<$Ax$Bxi32>) -> tensor<$Ax$Bx8xf32>
  %y = graph.dot_general %x, %w, batching_dims = [] x [], contracting_dims = [2] x [1] : (tensor<$Ax$Bx8xf32>, tensor<$Cx8xf32>) -> tensor<$Ax$Bx$Cxf32>
  return %y : tensor<$Ax$Bx$Cxf32>
})"},
    {"one row without dimensions", R"(
func.func @f(%x: tensor<$Cxf32>, %s: tensor<$Cxf32>) -> (tensor<$Cxf32>, tensor<$Cxf32>) {
  %y = graph.softmax %x, dim = 0 : tensor<$Cxf32>
  %z = graph.rms_norm %y, %s epsilon = 1.0e-2 : tensor<$Cxf32>, tensor<$Cxf32>
  return %y, %z : tensor<$Cxf32>, tensor<$Cxf32>
})"},
    {"rows by columns of a square", R"(
func.func @f(%x: tensor<$Cx$Cxf32>) -> tensor<$Cx$Cxf32> {
  %s = graph.reduce sum, %x, dims = [1] : (tensor<$Cx$Cxf32>) -> tensor<$Cxf32>
  %rows = graph.broadcast_in_dim %s, dims = [0] : (tensor<$Cxf32>) -> tensor<$Cx$Cxf32>
  %columns = graph.broadcast_in_dim %s, dims = [1] : (tensor<$Cxf32>) -> tensor<$Cx$Cxf32>
  %0 = graph.multiply %x, %rows : tensor<$Cx$Cxf32>
  %1 = graph.add %0, %columns : tensor<$Cx$Cxf32>
  return %1 : tensor<$Cx$Cxf32>
})"},
};

/// Random values; integers are classes of so many, each in turn.
static std::vector<Tensor> makeInputs(ModuleRunner &runner, mlir::ModuleOp module, uint64_t seed,
                                      int64_t classes) {
  std::vector<Tensor> inputs = randomInputs(runner, module, seed);
  for (Tensor &input : inputs) {
    mlir::RankedTensorType type = input.getType();
    if (!type.getElementType().isSignlessInteger(32))
      continue;
    std::vector<double> values(type.getNumElements());
    for (size_t i = 0; i < values.size(); ++i)
      values[i] = double(int64_t(i) % classes);
    std::string text;
    for (int64_t size : type.getShape())
      text += std::to_string(size) + "x";
    input = runner.tensor(text + "i32", values);
  }
  return inputs;
}

static Case makeCase(ModuleRunner &runner, const std::string &name, const std::string &text,
                     bool gradient, uint64_t seed, int64_t classes) {
  Case result{name + (gradient ? ", gradient" : ""), gradient, runner.parse(text), {}, {}};
  mlir::ModuleOp module = *result.module;
  result.arguments = makeInputs(runner, module, seed, classes);
  if (gradient) {
    for (Tensor &cotangent : randomCotangents(runner, module, seed))
      result.arguments.push_back(cotangent);
    addGradientFunction(module, floatArguments(module));
  }
  mlir::OwningOpRef<mlir::ModuleOp> interpreted(module.clone());
  if (gradient)
    runner.runPasses(*interpreted, "graph-autodiff");
  result.expected = runner.run(*interpreted, gradient ? "gradient" : "f", result.arguments);
  return result;
}

static void checkResults(const Case &c, llvm::ArrayRef<Tensor> actual) {
  INFO(c.name);
  double norm = normOf(c.expected);
  REQUIRE(actual.size() == c.expected.size());
  for (size_t i = 0; i < actual.size(); ++i) {
    INFO("result " << i);
    CHECK(gradientDifference(actual[i], c.expected[i], norm, 2e-5) == "");
  }
}

TEST_CASE("Layers and their gradients are what the interpreter computes") {
  // Few rows; fewer columns than lanes; prime sizes; sums over chunks of rows.
  const std::array<int64_t, 3> sizes[] = {{1, 1, 1},   {1, 1, 40},   {3, 5, 7},   {2, 9, 17},
                                          {4, 24, 33}, {16, 9, 250}, {7, 37, 131}};
  ModuleRunner runner;
  std::vector<Case> cases;
  mlir::OwningOpRef<mlir::ModuleOp> batch =
      mlir::ModuleOp::create(mlir::UnknownLoc::get(&runner.context()));
  for (auto [a, b, c] : sizes)
    for (auto [name, text] : kPrograms)
      for (bool gradient : {false, true}) {
        std::string size = withSizes(" $Ax$Bx$C", {a, b, c});
        cases.push_back(
            makeCase(runner, name + size, withSizes(text, {a, b, c}), gradient, cases.size(), c));
        moveFunctions(*cases.back().module, *batch, "_" + std::to_string(cases.size() - 1));
      }
  CompiledModule compiled(*batch);
  for (auto [number, c] : llvm::enumerate(cases))
    checkResults(
        c, compiled.run((c.gradient ? "gradient_" : "f_") + std::to_string(number), c.arguments));
}
