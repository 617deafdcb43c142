#include "test/golden/GoldenFunction.h"
#include "test/support/CompiledModule.h"
#include "test/support/Vjp.h"

#include <catch2/catch.hpp>

using namespace mlir;
using namespace minigptc;
using namespace minigptc::test;

Tensor test::evaluateFunction(ModuleRunner &runner, StringRef text, ArrayRef<Tensor> inputs) {
  return runner.run(text, "f", inputs).at(0);
}

std::vector<Tensor> test::gradientOf(ModuleRunner &runner, StringRef text, ArrayRef<Tensor> inputs,
                                     const Tensor &cotangent, ArrayRef<int64_t> wrt) {
  OwningOpRef<ModuleOp> module = runner.parse(text);
  addGradientFunction(*module, wrt);
  runner.runPasses(*module, "graph-autodiff");
  SmallVector<Tensor> arguments(inputs);
  arguments.push_back(cotangent);
  std::vector<Tensor> results = runner.run(*module, "gradient", arguments);
  return {results.end() - wrt.size(), results.end()};
}

namespace {

/// What a golden case says of gradients.
struct Recorded {
  SmallVector<int64_t> wrt;
  std::vector<Tensor> gradients;
  Tensor cotangent;
};

Recorded recordedGradients(ModuleRunner &runner, const GoldenCase &golden,
                           ArrayRef<std::string> inputNames) {
  Recorded recorded;
  for (auto [number, name] : llvm::enumerate(inputNames))
    if (golden.tensors.count("grad." + name)) {
      recorded.wrt.push_back(int64_t(number));
      recorded.gradients.push_back(golden.at("grad." + name));
    }
  recorded.cotangent = golden.tensors.count("ct")
                           ? golden.at("ct")
                           : runner.filled(golden.at("expected").getType(), 1);
  return recorded;
}

void checkGradients(const Recorded &recorded, ArrayRef<std::string> inputNames,
                    ArrayRef<Tensor> gradients) {
  double normOfAll = normOf(recorded.gradients);
  for (size_t i = 0; i < recorded.wrt.size(); ++i) {
    INFO("gradient of " << inputNames[recorded.wrt[i]]);
    const Tensor &expected = recorded.gradients[i];
    CHECK(gradientDifference(gradients[i], expected, normOfAll) == "");
    CHECK(difference(gradients[i], expected, {.relative = 1e-3, .absolute = 1e-5}) == "");
  }
}

/// @f and its gradient as machine code, against the same values.
void checkCompiled(ModuleRunner &runner, StringRef text, const GoldenCase &golden,
                   const Recorded &recorded, ArrayRef<std::string> inputNames,
                   ArrayRef<Tensor> inputs) {
  OwningOpRef<ModuleOp> module = runner.parse(text);
  if (!recorded.wrt.empty())
    addGradientFunction(*module, recorded.wrt);
  CompiledModule compiled(*module);
  CHECK(difference(compiled.run("f", inputs).at(0), golden.at("expected"), golden.tolerance) == "");
  if (recorded.wrt.empty())
    return;
  SmallVector<Tensor> arguments(inputs);
  arguments.push_back(recorded.cotangent);
  std::vector<Tensor> results = compiled.run("gradient", arguments);
  checkGradients(recorded, inputNames, ArrayRef(results).take_back(recorded.wrt.size()));
}

} // namespace

void test::checkGolden(StringRef name, ArrayRef<std::string> inputNames, StringRef text) {
  INFO("golden case " << name.str());
  ModuleRunner runner;
  GoldenCase golden = loadGolden(runner.context(), name.str());
  std::vector<Tensor> inputs;
  for (const std::string &input : inputNames)
    inputs.push_back(golden.at(input));
  Recorded recorded = recordedGradients(runner, golden, inputNames);
  {
    INFO("interpreted");
    CHECK(difference(evaluateFunction(runner, text, inputs), golden.at("expected"),
                     golden.tolerance) == "");
    if (!recorded.wrt.empty())
      checkGradients(recorded, inputNames,
                     gradientOf(runner, text, inputs, recorded.cotangent, recorded.wrt));
  }
  INFO("compiled");
  checkCompiled(runner, text, golden, recorded, inputNames, inputs);
}
