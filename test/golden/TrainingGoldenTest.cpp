// What training does besides the model: schedule, clipping, AdamW.
#include "test/golden/GoldenFunction.h"

#include <catch2/catch.hpp>

using namespace minigptc::test;

TEST_CASE("golden: learning-rate schedule") {
  // t < 7: t/7; 7 ≤ t ≤ 21: 0.1 + (1 + cos(π (t-7)/14))/2 · 0.9; then 0.1.
  constexpr const char *kSchedule = R"(
    func.func @f(%t: tensor<f64>) -> tensor<f64> {
      %zero = graph.constant dense<7.0> : tensor<f64>
      %one = graph.constant dense<1.0> : tensor<f64>
      %two = graph.constant dense<2.0> : tensor<f64>
      %last = graph.constant dense<21.0> : tensor<f64>
      %length = graph.constant dense<14.0> : tensor<f64>
      %min = graph.constant dense<0.1> : tensor<f64>
      %range = graph.constant dense<0.9> : tensor<f64>
      %pi = graph.constant dense<3.14159265358979323846> : tensor<f64>
      %rising = graph.divide %t, %zero : tensor<f64>
      %since = graph.subtract %t, %zero : tensor<f64>
      %turn = graph.multiply %pi, %since : tensor<f64>
      %angle = graph.divide %turn, %length : tensor<f64>
      %cosine = graph.cosine %angle : tensor<f64>
      %sum = graph.add %one, %cosine : tensor<f64>
      %half = graph.divide %sum, %two : tensor<f64>
      %part = graph.multiply %half, %range : tensor<f64>
      %falling = graph.add %min, %part : tensor<f64>
      %warm = graph.compare LT, %t, %zero : (tensor<f64>, tensor<f64>) -> tensor<i1>
      %done = graph.compare GT, %t, %last : (tensor<f64>, tensor<f64>) -> tensor<i1>
      %a = graph.select %done, %min, %falling : tensor<i1>, tensor<f64>
      %b = graph.select %warm, %rising, %a : tensor<i1>, tensor<f64>
      return %b : tensor<f64>
    })";
  ModuleRunner runner;
  GoldenCase golden = loadGolden(runner.context(), "orig/lr_schedule");
  auto module = runner.parse(kSchedule);
  Tensor rates(golden.at("expected").getType());
  for (int64_t t = 0; t < 25; ++t)
    rates.setFloat(t, runner.run(*module, "f", {runner.tensor("f64", {double(t)})})[0].getFloat(0));
  CHECK(difference(rates, golden.at("expected"), {.relative = 2e-15}) == "");
}

/// Three gradients, the global norm, and the factor they are scaled by.
static std::string clipping(const std::string &factor) {
  return R"(
    func.func private @square(%a: tensor<4x7xf32>, %b: tensor<16xf32>, %c: tensor<3x5x2xf32>) -> tensor<f32> {
      %a2 = graph.multiply %a, %a : tensor<4x7xf32>
      %b2 = graph.multiply %b, %b : tensor<16xf32>
      %c2 = graph.multiply %c, %c : tensor<3x5x2xf32>
      %as = graph.reduce sum, %a2, dims = [0, 1] : (tensor<4x7xf32>) -> tensor<f32>
      %bs = graph.reduce sum, %b2, dims = [0] : (tensor<16xf32>) -> tensor<f32>
      %cs = graph.reduce sum, %c2, dims = [0, 1, 2] : (tensor<3x5x2xf32>) -> tensor<f32>
      %ab = graph.add %as, %bs : tensor<f32>
      %abc = graph.add %ab, %cs : tensor<f32>
      return %abc : tensor<f32>
    }
    func.func @f(%a: tensor<4x7xf32>, %b: tensor<16xf32>, %c: tensor<3x5x2xf32>, %max: tensor<f32>)
        -> (tensor<4x7xf32>, tensor<16xf32>, tensor<3x5x2xf32>, tensor<f32>) {
      %square = call @square(%a, %b, %c) : (tensor<4x7xf32>, tensor<16xf32>, tensor<3x5x2xf32>) -> tensor<f32>
      %norm = graph.sqrt %square : tensor<f32>
      %one = graph.constant dense<1.0> : tensor<f32>
      %epsilon = graph.constant dense<1.0e-6> : tensor<f32>
      )" +
         factor + R"(
      %fa = graph.broadcast_in_dim %factor, dims = [] : (tensor<f32>) -> tensor<4x7xf32>
      %fb = graph.broadcast_in_dim %factor, dims = [] : (tensor<f32>) -> tensor<16xf32>
      %fc = graph.broadcast_in_dim %factor, dims = [] : (tensor<f32>) -> tensor<3x5x2xf32>
      %ra = graph.multiply %a, %fa : tensor<4x7xf32>
      %rb = graph.multiply %b, %fb : tensor<16xf32>
      %rc = graph.multiply %c, %fc : tensor<3x5x2xf32>
      return %ra, %rb, %rc, %norm : tensor<4x7xf32>, tensor<16xf32>, tensor<3x5x2xf32>, tensor<f32>
    })";
}

// min(1, c / (n + 1e-6)).
static const std::string kWithEpsilon = R"(
  %sum = graph.add %norm, %epsilon : tensor<f32>
  %ratio = graph.divide %max, %sum : tensor<f32>
  %factor = graph.minimum %one, %ratio : tensor<f32>)";
// n < c leaves the gradients, else c / n.
static const std::string kOfTheStep = R"(
  %below = graph.compare LT, %norm, %max : (tensor<f32>, tensor<f32>) -> tensor<i1>
  %ratio = graph.divide %max, %norm : tensor<f32>
  %factor = graph.select %below, %one, %ratio : tensor<i1>, tensor<f32>)";

TEST_CASE("golden: gradient clipping") {
  ModuleRunner runner;
  GoldenCase golden = loadGolden(runner.context(), "synth/gradient_clipping");
  for (auto [prefix, factor] : {std::pair("eps_max", &kWithEpsilon), {"optax_max", &kOfTheStep}})
    for (int max : {1, 100}) {
      std::vector<Tensor> results = runner.run(
          clipping(*factor), "f",
          {golden.at("g0"), golden.at("g1"), golden.at("g2"), runner.tensor("f32", {double(max)})});
      for (int i = 0; i < 3; ++i) {
        std::string name = prefix + std::to_string(max) + ".g" + std::to_string(i);
        INFO(name);
        CHECK(difference(results[i], golden.at(name), golden.tolerance) == "");
      }
      CHECK(results[3].getFloat(0) == Approx(golden.at("global_norm").getFloat(0)).epsilon(1e-5));
    }
}

TEST_CASE("golden: gradient clipping of ones") {
  ModuleRunner runner;
  GoldenCase golden = loadGolden(runner.context(), "orig/gradient_clipping_ones");
  // Norm √125 with all five gradients; the function clips each by the same factor.
  std::vector<Tensor> gradients;
  for (int i = 0; i < 5; ++i)
    gradients.push_back(golden.at("grad" + std::to_string(i)));
  std::string arguments, squares, sum = "%zero";
  for (int i = 0; i < 5; ++i) {
    std::string n = std::to_string(i);
    arguments += (i ? ", %g" : "%g") + n + ": tensor<5x5xf32>";
    squares += "%q" + n + " = graph.multiply %g" + n + ", %g" + n + " : tensor<5x5xf32>\n" + "%s" +
               n + " = graph.reduce sum, %q" + n +
               ", dims = [0, 1] : (tensor<5x5xf32>) -> tensor<f32>\n" + "%t" + n + " = graph.add " +
               sum + ", %s" + n + " : tensor<f32>\n";
    sum = "%t" + n;
  }
  std::string text = "func.func @f(" + arguments + R"() -> tensor<5x5xf32> {
    %zero = graph.constant dense<0.0> : tensor<f32>
    %one = graph.constant dense<1.0> : tensor<f32>
    %max = graph.constant dense<0.01> : tensor<f32>
    %epsilon = graph.constant dense<1.0e-6> : tensor<f32>
    )" + squares + "%norm = graph.sqrt " +
                     sum + " : tensor<f32>\n" + kWithEpsilon + R"(
    %f = graph.broadcast_in_dim %factor, dims = [] : (tensor<f32>) -> tensor<5x5xf32>
    %r = graph.multiply %g0, %f : tensor<5x5xf32>
    return %r : tensor<5x5xf32>
  })";
  CHECK(difference(evaluateFunction(runner, text, gradients), golden.at("expected_each"),
                   golden.tolerance) == "");
}

TEST_CASE("golden: a thousand steps of AdamW") {
  // The loss is |w x - y|² with y = (x0 + x1, -x2): its gradient is 2 (w x - y) xᵀ.
  constexpr const char *kStep = R"(
    func.func private @corrections(%t: tensor<f64>) -> (tensor<f64>, tensor<f64>) attributes {graph.host} {
      %one = graph.constant dense<1.0> : tensor<f64>
      %beta1 = graph.constant dense<0.9> : tensor<f64>
      %beta2 = graph.constant dense<0.999> : tensor<f64>
      %p1 = graph.power %beta1, %t : tensor<f64>
      %p2 = graph.power %beta2, %t : tensor<f64>
      %c1 = graph.subtract %one, %p1 : tensor<f64>
      %c2 = graph.subtract %one, %p2 : tensor<f64>
      return %c1, %c2 : tensor<f64>, tensor<f64>
    }
    func.func @f(%w: tensor<2x3xf32>, %m: tensor<2x3xf32>, %v: tensor<2x3xf32>, %x: tensor<3xf32>, %t: tensor<i64>)
        -> (tensor<2x3xf32>, tensor<2x3xf32>, tensor<2x3xf32>) {
      %truth = graph.constant dense<[[1.0, 1.0, 0.0], [0.0, 0.0, -1.0]]> : tensor<2x3xf32>
      %two = graph.constant dense<2.0> : tensor<2xf32>
      %off = graph.subtract %w, %truth : tensor<2x3xf32>
      %error = graph.dot_general %off, %x, batching_dims = [] x [], contracting_dims = [1] x [0]
        : (tensor<2x3xf32>, tensor<3xf32>) -> tensor<2xf32>
      %double = graph.multiply %two, %error : tensor<2xf32>
      %g = graph.dot_general %double, %x, batching_dims = [] x [], contracting_dims = [] x []
        : (tensor<2xf32>, tensor<3xf32>) -> tensor<2x3xf32>
      %lr = graph.constant dense<0.001> : tensor<f32>
      %c:2 = graph.host_call @corrections(%t) : (tensor<i64>) -> (tensor<f32>, tensor<f32>)
      %r:3 = graph.adamw_update %w, %g, %m, %v, %lr, %c#0, %c#1
        {beta1 = 0.9 : f64, beta2 = 0.999 : f64, epsilon = 1.0e-8 : f64, weightDecay = 0.01 : f64}
        : (tensor<2x3xf32>, tensor<2x3xf32>, tensor<2x3xf32>, tensor<2x3xf32>, tensor<f32>, tensor<f32>, tensor<f32>)
        -> (tensor<2x3xf32>, tensor<2x3xf32>, tensor<2x3xf32>)
      return %r#0, %r#1, %r#2 : tensor<2x3xf32>, tensor<2x3xf32>, tensor<2x3xf32>
    })";
  ModuleRunner runner;
  GoldenCase golden = loadGolden(runner.context(), "orig/adamw");
  auto module = runner.parse(kStep);
  Tensor zero = runner.tensor("2x3xf32", {0});
  std::vector<Tensor> state{golden.at("w0"), zero, zero};
  const Tensor &inputs = golden.at("xs");
  for (int64_t step = 0; step < 1000; ++step) {
    Tensor x = runner.tensor("3xf32", {inputs.getFloat(3 * step), inputs.getFloat(3 * step + 1),
                                       inputs.getFloat(3 * step + 2)});
    Tensor count = runner.tensor("i64", {double(step + 1)});
    state = runner.run(*module, "f", {state[0], state[1], state[2], x, count});
  }
  CHECK(difference(state[0], golden.at("expected"), golden.tolerance) == "");
}
