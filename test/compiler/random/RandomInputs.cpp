//===- RandomInputs.cpp - running random programs -------------------------===//
#include "test/compiler/random/RandomInputs.h"
#include "dialects/graph/IR/Graph.h"
#include "test/support/Compare.h"
#include "test/support/Shrink.h"

#include <catch2/catch.hpp>

using namespace minigptc;
using namespace minigptc::test;

std::vector<Tensor> test::randomInputs(ModuleRunner &runner, mlir::ModuleOp module, uint64_t seed) {
  std::vector<Tensor> inputs;
  for (mlir::Type type : module.lookupSymbol<mlir::func::FuncOp>("f").getArgumentTypes())
    inputs.push_back(
        runner.random(mlir::cast<mlir::RankedTensorType>(type), seed * 16 + inputs.size()));
  return inputs;
}

std::vector<Tensor> test::randomCotangents(ModuleRunner &runner, mlir::ModuleOp module,
                                           uint64_t seed) {
  std::vector<Tensor> cotangents;
  for (mlir::Type type : module.lookupSymbol<mlir::func::FuncOp>("f").getResultTypes())
    cotangents.push_back(runner.random(mlir::cast<mlir::RankedTensorType>(type), seed + 1000003));
  return cotangents;
}

std::vector<int64_t> test::floatArguments(mlir::ModuleOp module) {
  std::vector<int64_t> numbers;
  auto types = module.lookupSymbol<mlir::func::FuncOp>("f").getArgumentTypes();
  for (size_t i = 0; i < types.size(); ++i)
    if (mlir::isa<mlir::FloatType>(mlir::cast<mlir::RankedTensorType>(types[i]).getElementType()))
      numbers.push_back(int64_t(i));
  return numbers;
}

std::string test::compareAll(llvm::ArrayRef<Tensor> actual, llvm::ArrayRef<Tensor> expected,
                             double relative) {
  if (actual.size() != expected.size())
    return "another number of results";
  std::vector<Tensor> floats;
  for (const Tensor &tensor : expected)
    if (mlir::isa<mlir::FloatType>(tensor.getType().getElementType()))
      floats.push_back(tensor);
  double norm = normOf(floats) + 1;
  for (size_t i = 0; i < expected.size(); ++i) {
    bool isFloat = mlir::isa<mlir::FloatType>(expected[i].getType().getElementType());
    std::string wrong = isFloat ? gradientDifference(actual[i], expected[i], 1000 * norm, relative)
                                : difference(actual[i], expected[i]);
    if (!wrong.empty())
      return "result " + std::to_string(i) + ": " + wrong;
  }
  return "";
}

void test::checkProgram(mlir::ModuleOp module, uint64_t seed,
                        llvm::function_ref<std::string(mlir::ModuleOp)> wrong) {
  std::string message = wrong(module);
  if (message.empty())
    return;
  static int shrunk = 0; // shrinking takes many runs: a few are enough to see what is wrong
  if (++shrunk > 5) {
    FAIL_CHECK("seed " << seed << ": " << message);
    return;
  }
  auto smallest = shrinkProgram(module, [&](mlir::ModuleOp m) { return !wrong(m).empty(); });
  FAIL_CHECK("seed " << seed << ": " << wrong(*smallest) << "\nfirst it was: " << message << "\n"
                     << printModule(*smallest));
}
