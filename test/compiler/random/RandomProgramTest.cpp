// Random programs: passes keep their meaning, gradients are those of finite
// differences. A failure prints the seed and the smallest program that still fails.
#include "test/support/RandomProgram.h"
#include "dialects/graph/IR/Graph.h"
#include "mlir/IR/Verifier.h"
#include "test/compiler/random/RandomInputs.h"
#include "test/support/Compare.h"
#include "test/support/ModuleRunner.h"
#include "test/support/Shrink.h"
#include "test/support/Vjp.h"

#include <catch2/catch.hpp>
#include <cmath>
#include <iostream>
#include <set>

using namespace minigptc;
using namespace minigptc::test;

/// What is wrong with the program after the passes; empty if nothing is.
static std::string wrongAfter(ModuleRunner &runner, mlir::ModuleOp module,
                              const std::string &passes, uint64_t seed, double relative) {
  try {
    std::vector<Tensor> inputs = randomInputs(runner, module, seed);
    std::vector<Tensor> expected = runner.run(module, "f", inputs);
    mlir::OwningOpRef<mlir::ModuleOp> transformed(module.clone());
    runner.runPasses(*transformed, passes);
    return compareAll(runner.run(*transformed, "f", inputs), expected, relative);
  } catch (const std::runtime_error &error) {
    return error.what();
  }
}

static const std::string kDots = "graph-decompose,canonicalize,cse,func.func("
                                 "graph-canonicalize-dots,graph-split-reductions)";
static const std::string kPipelines[] = {
    "graph-decompose",
    "canonicalize,cse",
    "graph-inline,graph-simplify-functions",
    kDots,
    "graph-chunk-losses,func.func(graph-decompose,canonicalize)",
    kDots + ",func.func(graph-accumulate-dots,graph-fuse),graph-outline-kernels,func.func(graph-"
            "schedule)"};

/// Ops that hold or call others, products with more than the product, and parts of a head, are
/// made by passes or by tests of their own.
static bool isStructural(llvm::StringRef op) {
  static const std::set<llvm::StringRef> ops = {"graph.vjp",
                                                "graph.host_call",
                                                "graph.fusion",
                                                "graph.print",
                                                "graph.yield",
                                                "graph.scan",
                                                "graph.cond",
                                                "graph.while",
                                                "graph.gather_examples",
                                                "graph.example_index",
                                                "graph.dot_accumulate",
                                                "graph.dot_bias",
                                                "graph.dot_sums",
                                                "graph.linear_log_sum_exp",
                                                "graph.linear_cross_entropy_grad"};
  return ops.count(op);
}

static void checkEveryOpOccurs(const Coverage &coverage) {
  ModuleRunner runner;
  for (mlir::RegisteredOperationName op : runner.context().getRegisteredOperations()) {
    INFO(op.getStringRef().str());
    if (op.getDialectNamespace() == "graph" && !isStructural(op.getStringRef()))
      CHECK(coverage.count(op.getStringRef().str()) > 0);
  }
}

TEST_CASE("Passes keep the meaning of random programs") {
  Coverage coverage;
  for (const char *floatType : {"f64", "f32"}) {
    ModuleRunner runner;
    double relative = floatType == std::string("f64") ? 1e-9 : 2e-4;
    for (uint64_t seed = 0; seed < 200; ++seed) {
      auto module = generateProgram(runner.context(), seed, {.floatType = floatType});
      REQUIRE(mlir::succeeded(mlir::verify(*module)));
      coverage.add(*module);
      for (const std::string &passes : kPipelines) {
        INFO(passes);
        checkProgram(*module, seed, [&](mlir::ModuleOp m) {
          return wrongAfter(runner, m, passes, seed, relative);
        });
      }
    }
  }
  std::cout << coverage.toString();
  checkEveryOpOccurs(coverage);
}

namespace {
/// A program with its inputs, the cotangents of its results, and a direction to
/// move the float inputs in.
struct GradientCheck {
  GradientCheck(ModuleRunner &runner, mlir::ModuleOp module, uint64_t seed) : runner(runner) {
    inputs = randomInputs(runner, module, seed);
    auto function = module.lookupSymbol<mlir::func::FuncOp>("f");
    for (mlir::Type type : function.getResultTypes())
      cotangents.push_back(runner.random(mlir::cast<mlir::RankedTensorType>(type), seed + 1000003));
    for (size_t i = 0; i < inputs.size(); ++i)
      if (mlir::isa<mlir::FloatType>(inputs[i].getType().getElementType())) {
        wrt.push_back(int64_t(i));
        direction.push_back(runner.random(inputs[i].getType(), seed + 2000003 + i));
      }
  }

  /// Σ cotangent · result at inputs + step · direction.
  double valueAt(mlir::ModuleOp module, double step) {
    std::vector<Tensor> moved = inputs;
    for (size_t i = 0; i < wrt.size(); ++i) {
      Tensor &input = moved[wrt[i]];
      for (int64_t e = 0; e < input.getNumElements(); ++e)
        input.setFloat(e, input.getFloat(e) + step * direction[i].getFloat(e));
    }
    return dot(runner.run(module, "f", moved), cotangents);
  }

  static double dot(llvm::ArrayRef<Tensor> a, llvm::ArrayRef<Tensor> b) {
    double sum = 0;
    for (size_t i = 0; i < a.size(); ++i)
      for (int64_t e = 0; e < a[i].getNumElements(); ++e)
        sum += a[i].getFloat(e) * b[i].getFloat(e);
    return sum;
  }

  ModuleRunner &runner;
  std::vector<Tensor> inputs, cotangents, direction;
  std::vector<int64_t> wrt;
};
} // namespace

/// Compares the gradient, after --graph-autodiff and more passes, with central
/// differences. A step may cross a kink (of `abs`, say), so one of three must agree.
static std::string wrongGradient(ModuleRunner &runner, mlir::ModuleOp module, uint64_t seed,
                                 const std::string &passes) {
  try {
    GradientCheck check(runner, module, seed);
    mlir::OwningOpRef<mlir::ModuleOp> differentiated(module.clone());
    addGradientFunction(*differentiated, check.wrt);
    runner.runPasses(*differentiated, passes);
    std::vector<Tensor> arguments = check.inputs;
    arguments.insert(arguments.end(), check.cotangents.begin(), check.cotangents.end());
    std::vector<Tensor> results = runner.run(*differentiated, "gradient", arguments);
    std::vector<Tensor> gradients(results.end() - check.wrt.size(), results.end());
    double slope = GradientCheck::dot(gradients, check.direction);
    double scale = std::sqrt(normOf(gradients) * normOf(check.direction)) + 1;
    std::string message;
    for (double step : {1e-5, 1e-6, 1e-4}) {
      double difference = (check.valueAt(module, step) - check.valueAt(module, -step)) / (2 * step);
      if (std::fabs(difference - slope) <= 1e-6 * std::max(scale, std::fabs(slope)))
        return "";
      message += " " + std::to_string(difference);
    }
    return "slope " + std::to_string(slope) + " but differences" + message;
  } catch (const std::runtime_error &error) {
    return error.what();
  }
}

TEST_CASE("Gradients of random programs are those of finite differences") {
  ModuleRunner runner;
  for (uint64_t seed = 0; seed < 1000; ++seed) {
    auto module = generateProgram(runner.context(), seed,
                                  {.floatType = "f64", .steps = 6, .differentiable = true});
    REQUIRE(mlir::succeeded(mlir::verify(*module)));
    checkProgram(*module, seed, [&](mlir::ModuleOp m) {
      return wrongGradient(runner, m, seed, "graph-autodiff");
    });
  }
}
