#include "test/golden/GoldenFunction.h"
#include "dialects/graph/IR/Graph.h"
#include "mlir/IR/Builders.h"

#include <catch2/catch.hpp>

using namespace mlir;
using namespace minigptc;
using namespace minigptc::test;

Tensor test::evaluateFunction(ModuleRunner &runner, StringRef text, ArrayRef<Tensor> inputs) {
  return runner.run(text, "f", inputs).at(0);
}

/// Adds @gradient(inputs…, cotangent), which gives what @f's vjp does.
static void addGradient(ModuleOp module, const Tensor &cotangent, ArrayRef<int64_t> wrt) {
  auto primal = module.lookupSymbol<func::FuncOp>("f");
  OpBuilder builder = OpBuilder::atBlockEnd(module.getBody());
  Location loc = primal.getLoc();
  SmallVector<Type> inputs(primal.getArgumentTypes()), results(primal.getResultTypes());
  for (int64_t number : wrt)
    results.push_back(inputs[number]);
  inputs.push_back(cotangent.getType());
  auto gradient =
      func::FuncOp::create(builder, loc, "gradient", builder.getFunctionType(inputs, results));
  Block *body = gradient.addEntryBlock();
  builder.setInsertionPointToStart(body);
  auto vjp = graph::VjpOp::create(builder, loc, results, "f", body->getArguments().drop_back(),
                                  body->getArguments().take_back(), wrt);
  func::ReturnOp::create(builder, loc, vjp.getResults());
}

std::vector<Tensor> test::gradientOf(ModuleRunner &runner, StringRef text, ArrayRef<Tensor> inputs,
                                     const Tensor &cotangent, ArrayRef<int64_t> wrt) {
  OwningOpRef<ModuleOp> module = runner.parse(text);
  addGradient(*module, cotangent, wrt);
  runner.runPasses(*module, "graph-autodiff");
  SmallVector<Tensor> arguments(inputs);
  arguments.push_back(cotangent);
  std::vector<Tensor> results = runner.run(*module, "gradient", arguments);
  return {results.end() - wrt.size(), results.end()};
}

static void checkGradients(ModuleRunner &runner, const GoldenCase &golden,
                           ArrayRef<std::string> inputNames, StringRef text,
                           ArrayRef<Tensor> inputs) {
  std::vector<int64_t> wrt;
  std::vector<Tensor> expected;
  for (auto [number, name] : llvm::enumerate(inputNames))
    if (golden.tensors.count("grad." + name)) {
      wrt.push_back(int64_t(number));
      expected.push_back(golden.at("grad." + name));
    }
  if (wrt.empty())
    return;
  Tensor cotangent = golden.tensors.count("ct") ? golden.at("ct")
                                                : runner.filled(golden.at("expected").getType(), 1);
  std::vector<Tensor> gradients = gradientOf(runner, text, inputs, cotangent, wrt);
  double normOfAll = normOf(expected);
  for (size_t i = 0; i < wrt.size(); ++i) {
    INFO("gradient of " << inputNames[wrt[i]]);
    CHECK(gradientDifference(gradients[i], expected[i], normOfAll) == "");
    CHECK(difference(gradients[i], expected[i], {.relative = 1e-3, .absolute = 1e-5}) == "");
  }
}

void test::checkGolden(StringRef name, ArrayRef<std::string> inputNames, StringRef text) {
  INFO("golden case " << name.str());
  ModuleRunner runner;
  GoldenCase golden = loadGolden(runner.context(), name.str());
  std::vector<Tensor> inputs;
  for (const std::string &input : inputNames)
    inputs.push_back(golden.at(input));
  CHECK(difference(evaluateFunction(runner, text, inputs), golden.at("expected"),
                   golden.tolerance) == "");
  checkGradients(runner, golden, inputNames, text, inputs);
}
