// What is saved for the backward pass, by policy and by depth.
#include "dialects/graph/IR/Graph.h"
#include "test/support/Compare.h"
#include "test/support/ModuleRunner.h"

#include <catch2/catch.hpp>

using namespace minigptc::test;

namespace {

constexpr const char *kX = "tensor<2x4x8xf32>";
constexpr const char *kW = "tensor<8x8xf32>";

/// `depth` calls of a block of a norm, two products with an activation and
/// dropout between them, one in a function of its own, and a residual.
std::string program(const std::string &policy, int depth) {
  auto replaced = [](std::string text) {
    for (auto [from, to] : {std::pair("$X", kX), std::pair("$W", kW)})
      for (size_t at; (at = text.find(from)) != std::string::npos;)
        text.replace(at, 2, to);
    return text;
  };
  std::string text = R"(
    func.func private @up(%x: $X, %w: $W) -> $X {
      %0 = graph.dot_general %x, %w, batching_dims = [] x [], contracting_dims = [2] x [0] : ($X, $W) -> $X
      %1 = graph.gelu %0 : $X
      return %1 : $X
    }
    func.func private @block(%x: $X, %w: $W, %v: $W, %s: tensor<8xf32>, %k: tensor<2xui32>) -> $X POLICY {
      %0 = graph.layer_norm %x, %s, %s epsilon = 1.0e-6 : $X, tensor<8xf32>, tensor<8xf32>
      %1 = call @up(%0, %w) : ($X, $W) -> $X
      %2 = graph.dropout %1, %k rate = 0.25 : $X
      %3 = graph.dot_general %2, %v, batching_dims = [] x [], contracting_dims = [2] x [0] : ($X, $W) -> $X
      %4 = graph.tanh %3 : $X
      %5 = graph.add %4, %x : $X
      return %5 : $X
    }
    func.func private @loss(%x: $X, %w: $W, %v: $W, %s: tensor<8xf32>, %k: tensor<2xui32>) -> tensor<f32> {
)";
  std::string value = "%x";
  for (int i = 0; i < depth; ++i) {
    std::string n = std::to_string(i), next = "%x" + n;
    text += "%i" + n + " = graph.constant dense<" + n + "> : tensor<i32>\n%k" + n +
            " = graph.fold_in %k, %i" + n + " : tensor<i32>\n" + next + " = call @block(" + value +
            ", %w, %v, %s, %k" + n + ") : ($X, $W, $W, tensor<8xf32>, tensor<2xui32>) -> $X\n";
    value = next;
  }
  text += "%l = graph.reduce sum, " + value + R"(, dims = [0, 1, 2] : ($X) -> tensor<f32>
      return %l : tensor<f32>
    }
    func.func @main(%x: $X, %w: $W, %v: $W, %s: tensor<8xf32>, %k: tensor<2xui32>)
        -> (tensor<f32>, $X, $W, $W, tensor<8xf32>) {
      %one = graph.constant dense<1.0> : tensor<f32>
      %0:5 = graph.vjp @loss(%x, %w, %v, %s, %k) cotangents(%one) wrt [0, 1, 2, 3]
          : ($X, $W, $W, tensor<8xf32>, tensor<2xui32>), (tensor<f32>) -> (tensor<f32>, $X, $W, $W, tensor<8xf32>)
      return %0#0, %0#1, %0#2, %0#3, %0#4 : tensor<f32>, $X, $W, $W, tensor<8xf32>
    })";
  text.replace(text.find("POLICY"), 6,
               policy.empty() ? "" : "attributes {graph.remat = #graph.remat<" + policy + ">}");
  return replaced(text);
}

/// Bytes that the block's forward function gives besides its result.
double savedBytes(mlir::ModuleOp module) {
  auto forward = module.lookupSymbol<mlir::func::FuncOp>("block.fwd");
  return minigptc::graph::detail::bytesOf(forward.getResultTypes().drop_front());
}

struct Outcome {
  double saved;
  std::vector<Tensor> results;
};

/// Without inlining, half of the block is in a function of its own.
Outcome differentiate(ModuleRunner &runner, const std::string &policy, bool isInlined = true) {
  auto module = runner.parse(program(policy, 3));
  runner.runPasses(*module, isInlined ? "graph-inline,graph-autodiff" : "graph-autodiff");
  double saved = savedBytes(*module);
  runner.runPasses(*module, "canonicalize,cse,graph-simplify-functions");
  std::vector<Tensor> arguments;
  for (const char *type : {"2x4x8xf32", "8x8xf32", "8x8xf32", "8xf32"})
    arguments.push_back(runner.random(runner.type(type), arguments.size()));
  arguments.push_back(runner.tensor("2xui32", {1, 2}));
  return {saved, runner.run(*module, "main", arguments)};
}

} // namespace

TEST_CASE("Checkpoint policies save less, and give the same bits") {
  ModuleRunner runner;
  Outcome byDefault = differentiate(runner, ""), everything = differentiate(runner, "everything");
  Outcome dots = differentiate(runner, "dots"), nothing = differentiate(runner, "nothing");
  const double activation = 2 * 4 * 8 * 4;
  CHECK(nothing.saved == 0);
  CHECK(dots.saved == 2 * activation);       // products before gelu and tanh
  CHECK(byDefault.saved == 3 * activation);  // and the norm
  CHECK(everything.saved == 4 * activation); // and what dropout gives
  Outcome nestedDots = differentiate(runner, "dots", false);
  Outcome nestedNothing = differentiate(runner, "nothing", false);
  CHECK(nestedDots.saved == 3 * activation); // and the function's result
  CHECK(nestedNothing.saved == 0);
  for (const Outcome *other : {&everything, &dots, &nothing, &nestedDots, &nestedNothing}) {
    REQUIRE(other->results.size() == byDefault.results.size());
    for (size_t i = 0; i < other->results.size(); ++i)
      CHECK(difference(other->results[i], byDefault.results[i]) == "");
  }
}

TEST_CASE("The number of functions does not depend on the depth") {
  ModuleRunner runner;
  auto count = [&](int depth) {
    auto module = runner.parse(program("", depth));
    runner.runPasses(*module, "graph-inline,graph-simplify-functions,graph-autodiff");
    CHECK(module->lookupSymbol("block.fwd"));
    CHECK(module->lookupSymbol("block.bwd"));
    CHECK(!module->lookupSymbol("block.bwd.1"));
    auto functions = module->getOps<mlir::func::FuncOp>();
    return std::distance(functions.begin(), functions.end());
  };
  CHECK(count(3) == count(12));
}
