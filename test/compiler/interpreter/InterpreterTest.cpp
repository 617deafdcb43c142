// Calling functions, and what is reported when that is not possible.
#include "compiler/interpreter/Element.h"
#include "test/support/Compare.h"
#include "test/support/ModuleRunner.h"

#include <catch2/catch.hpp>

using namespace minigptc::test;
using namespace minigptc::interpreter;
using Catch::Contains;

TEST_CASE("Functions, calls, fusions and host calls run") {
  ModuleRunner runner;
  constexpr const char *text = R"(
    func.func @main(%x: tensor<2xf32>, %n: tensor<i64>) -> (tensor<2xf32>, tensor<f32>) {
      %a, %b = call @both(%x) : (tensor<2xf32>) -> (tensor<2xf32>, tensor<2xf32>)
      %s = graph.fusion(%a, %b) : (tensor<2xf32>, tensor<2xf32>) -> tensor<2xf32> {
      ^bb0(%p: tensor<2xf32>, %q: tensor<2xf32>):
        %r = graph.multiply %p, %q : tensor<2xf32>
        graph.yield %r : tensor<2xf32>
      }
      %h = graph.host_call @half(%n) : (tensor<i64>) -> tensor<f32>
      return %s, %h : tensor<2xf32>, tensor<f32>
    }
    func.func private @both(%x: tensor<2xf32>) -> (tensor<2xf32>, tensor<2xf32>) {
      %0 = graph.add %x, %x : tensor<2xf32>
      %1 = graph.negate %x : tensor<2xf32>
      return %0, %1 : tensor<2xf32>, tensor<2xf32>
    }
    func.func private @half(%n: tensor<f64>) -> tensor<f64> attributes {graph.host} {
      %two = graph.constant dense<2.0> : tensor<f64>
      %0 = graph.divide %n, %two : tensor<f64>
      return %0 : tensor<f64>
    })";
  auto results =
      runner.run(text, "main", {runner.tensor("2xf32", {3, -1}), runner.tensor("i64", {5})});
  REQUIRE(results.size() == 2);
  CHECK(difference(results[0], runner.tensor("2xf32", {-18, -2})) == "");
  CHECK(difference(results[1], runner.tensor("f32", {2.5})) == "");
}

TEST_CASE("Errors name the op and what to do") {
  ModuleRunner runner;
  auto failure = [&](const char *text, llvm::ArrayRef<Tensor> arguments = {}) -> std::string {
    try {
      runner.run(text, "main", arguments);
    } catch (const std::runtime_error &error) {
      return error.what();
    }
    return "";
  };
  CHECK_THAT(failure("func.func @other() { return }"), Contains("no function @main"));
  CHECK_THAT(failure("func.func @main(%x: tensor<2xf32>) { return }"),
             Contains("called with 0 arguments, takes 1"));
  CHECK_THAT(
      failure("func.func @main(%x: tensor<2xf32>) { return }", {runner.tensor("3xf32", {1})}),
      Contains("called with 'tensor<3xf32>' as argument 0, takes 'tensor<2xf32>'"));
  CHECK_THAT(failure("func.func private @f() func.func @main() { call @f() : () -> () return }"),
             Contains("calls a function without a body"));
  CHECK_THAT(failure("func.func @main() { call @main() : () -> () return }"),
             Contains("a recursive function?"));
  CHECK_THAT(failure(R"(
    func.func private @f(%x: tensor<f32>) -> tensor<f32> { return %x : tensor<f32> }
    func.func @main() {
      %x = graph.constant dense<1.0> : tensor<f32>
      %y, %dx = graph.vjp @f(%x) cotangents(%x) wrt [0] : (tensor<f32>), (tensor<f32>) -> (tensor<f32>, tensor<f32>)
      return
    })"),
             Contains("run --graph-autodiff first"));
  CHECK_THAT(failure(R"(
    func.func @main() {
      %t = graph.constant dense<1.0> : tensor<3x2xf32>
      %i = graph.constant dense<[0, 3]> : tensor<2xi32>
      %0 = graph.embedding %t, %i : (tensor<3x2xf32>, tensor<2xi32>) -> tensor<2x2xf32>
      return
    })"),
             Contains("id 3 at position 1 is outside the table of 3 rows"));
}

TEST_CASE("Tensors and attributes convert into each other") {
  ModuleRunner runner;
  for (const char *type : {"3xf64", "3xf32", "3xbf16", "3xf16", "3xi64", "3xi32", "3xi8", "3xi1",
                           "3xui64", "3xui32", "f32", "2x0xf32"}) {
    INFO(type);
    Tensor tensor = runner.random(runner.type(type), 5);
    CHECK(difference(Tensor::fromAttribute(tensor.toAttribute()), tensor) == "");
  }
  auto splat = mlir::DenseElementsAttr::get(runner.type("4xf32"), 2.5f);
  CHECK(difference(Tensor::fromAttribute(splat), runner.tensor("4xf32", {2.5})) == "");
  Tensor resource = runner.run(R"(
    func.func @main() -> tensor<2xf32> {
      %0 = graph.constant dense_resource<pair> : tensor<2xf32>
      return %0 : tensor<2xf32>
    }
    {-# dialect_resources: { builtin: { pair: "0x040000000000803F000000C0" } } #-})",
                               "main")[0];
  CHECK(difference(resource, runner.tensor("2xf32", {1, -2})) == "");
}

TEST_CASE("Copies of a tensor share storage until written") {
  ModuleRunner runner;
  Tensor a = runner.tensor("2xf32", {1, 2});
  Tensor b = a;
  CHECK(a.data() == b.data());
  b.setFloat(0, 7);
  CHECK(a.getFloat(0) == 1);
  CHECK(b.getFloat(0) == 7);
}

TEST_CASE("Long sums of f32 do not lose digits") {
  ModuleRunner runner;
  Tensor sum = runner.run(R"(
    func.func @main() -> (tensor<f32>, tensor<f32>) {
      %x = graph.constant dense<0.1> : tensor<1000000xf32>
      %s = graph.reduce sum, %x, dims = [0] : (tensor<1000000xf32>) -> tensor<f32>
      %d = graph.dot_general %x, %x, batching_dims = [] x [], contracting_dims = [0] x [0]
           : (tensor<1000000xf32>, tensor<1000000xf32>) -> tensor<f32>
      return %s, %d : tensor<f32>, tensor<f32>
    })",
                          "main")[0];
  CHECK(sum.getFloat(0) == Approx(0.1f * 1e6).epsilon(1e-7));
}
