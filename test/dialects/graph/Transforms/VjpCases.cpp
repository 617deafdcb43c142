//===- VjpCases.cpp - one small function per differentiable op ------------===//
#include "test/dialects/graph/Transforms/VjpCases.h"

using minigptc::test::VjpCase;

namespace {

VjpCase unary(const char *op, bool isPositive = false) {
  return {op,
          {"4xf64"},
          {"4xf64"},
          std::string("%r0 = graph.") + op + " %a0 : tensor<4xf64>",
          isPositive};
}

VjpCase binary(const char *op, bool isPositive = false) {
  return {op,
          {"4xf64", "4xf64"},
          {"4xf64"},
          std::string("%r0 = graph.") + op + " %a0, %a1 : tensor<4xf64>",
          isPositive};
}

VjpCase reduce(const char *kind) {
  return {std::string("reduce ") + kind,
          {"2x3x2xf64"},
          {"3xf64"},
          std::string("%r0 = graph.reduce ") + kind +
              ", %a0, dims = [0, 2] : (tensor<2x3x2xf64>) -> tensor<3xf64>"};
}

VjpCase attention(const char *what, const char *before, const char *tail) {
  return {std::string("attention ") + what,
          {"1x3x4x2xf64", "1x4x2x2xf64", "1x4x2x3xf64"},
          {"1x3x4x3xf64", "1x4x3xacc"},
          std::string(before) + "%r0, %r1 = graph.attention %a0, %a1, %a2 " + tail +
              " : tensor<1x3x4x2xf64>, tensor<1x4x2x2xf64>, tensor<1x4x2x3xf64>"
              " -> tensor<1x3x4x3xf64>, tensor<1x4x3xacc>"};
}

std::vector<VjpCase> elementwise() {
  const bool positive = true;
  return {
      unary("cbrt"),
      unary("ceil"),
      unary("cosine"),
      unary("erf"),
      unary("exponential"),
      unary("exponential_minus_one"),
      unary("floor"),
      unary("log", positive),
      unary("log_plus_one", positive),
      unary("logistic"),
      unary("round_nearest_even"),
      unary("rsqrt", positive),
      unary("sine"),
      unary("sqrt", positive),
      unary("tanh"),
      unary("abs"),
      unary("negate"),
      unary("sign"),
      unary("relu"),
      unary("silu"),
      unary("gelu"),
      {"gelu approximate",
       {"4xf64"},
       {"4xf64"},
       "%r0 = graph.gelu %a0 {approximate = true} : tensor<4xf64>"},
      binary("add"),
      binary("subtract"),
      binary("multiply"),
      binary("divide", positive),
      binary("maximum"),
      binary("minimum"),
      binary("power", positive),
      binary("remainder", positive),
      {"select",
       {"3xf64", "3xf64"},
       {"3xf64"},
       "%p = graph.constant dense<[true, false, true]> : tensor<3xi1>\n"
       "%r0 = graph.select %p, %a0, %a1 : tensor<3xi1>, tensor<3xf64>"},
      {"select scalar",
       {"3xf64", "3xf64"},
       {"3xf64"},
       "%p = graph.constant dense<false> : tensor<i1>\n"
       "%r0 = graph.select %p, %a0, %a1 : tensor<i1>, tensor<3xf64>"},
      {"clamp",
       {"6xf64", "6xf64", "6xf64"},
       {"6xf64"},
       "%r0 = graph.clamp %a0, %a1, %a2 : tensor<6xf64>"},
      {"convert",
       {"3xf64"},
       {"3xf64"},
       "%0 = graph.convert %a0 : (tensor<3xf64>) -> tensor<3xi32>\n"
       "%1 = graph.convert %0 : (tensor<3xi32>) -> tensor<3xf64>\n"
       "%r0 = graph.multiply %1, %a0 : tensor<3xf64>"},
  };
}

std::vector<VjpCase> shapes() {
  return {
      {"broadcast_in_dim",
       {"3x1xf64"},
       {"2x3x2xf64"},
       "%r0 = graph.broadcast_in_dim %a0, dims = [1, 2] : (tensor<3x1xf64>) -> tensor<2x3x2xf64>"},
      {"reshape",
       {"2x3xf64"},
       {"6x1xf64"},
       "%r0 = graph.reshape %a0 : (tensor<2x3xf64>) -> tensor<6x1xf64>"},
      {"transpose",
       {"2x3x2xf64"},
       {"3x2x2xf64"},
       "%r0 = graph.transpose %a0, dims = [1, 2, 0] : (tensor<2x3x2xf64>) -> tensor<3x2x2xf64>"},
      {"slice",
       {"7x2xf64"},
       {"2x1xf64"},
       "%r0 = graph.slice %a0 [1, 1] : [6, 2] : [3, 1] : (tensor<7x2xf64>) -> tensor<2x1xf64>"},
      // The start lies outside and is clamped.
      {"dynamic_slice",
       {"5x2xf64"},
       {"2x2xf64"},
       "%s = graph.constant dense<9> : tensor<i32>\n%z = graph.constant dense<0> : tensor<i32>\n"
       "%r0 = graph.dynamic_slice %a0[%s, %z] sizes = [2, 2] : (tensor<5x2xf64>, tensor<i32>, "
       "tensor<i32>) -> tensor<2x2xf64>"},
      {"dynamic_update_slice",
       {"5xf64", "2xf64"},
       {"5xf64"},
       "%s = graph.constant dense<1> : tensor<i64>\n"
       "%r0 = graph.dynamic_update_slice %a0, %a1[%s] : (tensor<5xf64>, tensor<2xf64>, "
       "tensor<i64>) -> tensor<5xf64>"},
      {"concatenate",
       {"2x1xf64", "2x3xf64", "2x2xf64"},
       {"2x6xf64"},
       "%r0 = graph.concatenate %a0, %a1, %a2 dim = 1 : (tensor<2x1xf64>, tensor<2x3xf64>, "
       "tensor<2x2xf64>) -> tensor<2x6xf64>"},
      {"pad",
       {"3x2xf64", "f64"},
       {"6x1xf64"},
       "%r0 = graph.pad %a0, %a1, low = [2, -1], high = [-1, 0], interior = [1, 0] : "
       "(tensor<3x2xf64>, tensor<f64>) -> tensor<6x1xf64>"},
  };
}

std::vector<VjpCase> contractions() {
  return {
      reduce("sum"),
      reduce("max"),
      reduce("min"),
      reduce("prod"),
      {"dot_general",
       {"2x3xf64", "3x2xf64"},
       {"2x2xf64"},
       "%r0 = graph.dot_general %a0, %a1, batching_dims = [] x [], contracting_dims = [1] x [0] : "
       "(tensor<2x3xf64>, tensor<3x2xf64>) -> tensor<2x2xf64>"},
      // Everything out of order: batch 2, contracted 3 and 4, free 5 and 6 besides 1.
      {"dot_general shuffled",
       {"3x5x2x4xf64", "4x2x6x3x1xf64"},
       {"2x5x6x1xf64"},
       "%r0 = graph.dot_general %a0, %a1, batching_dims = [2] x [1], contracting_dims = [0, 3] x "
       "[3, 0] : (tensor<3x5x2x4xf64>, tensor<4x2x6x3x1xf64>) -> tensor<2x5x6x1xf64>"},
      {"dot_general square",
       {"2x2xf64"},
       {"2x2xf64"},
       "%r0 = graph.dot_general %a0, %a0, batching_dims = [] x [], contracting_dims = [0] x [1] : "
       "(tensor<2x2xf64>, tensor<2x2xf64>) -> tensor<2x2xf64>"},
      // Repeated, and outside: clamped.
      {"gather",
       {"4x2xf64"},
       {"3x2xf64"},
       "%i = graph.constant dense<[[1], [7], [1]]> : tensor<3x1xi32>\n"
       "%r0 = graph.gather %a0[%i] dims = [0] : (tensor<4x2xf64>, tensor<3x1xi32>) -> "
       "tensor<3x2xf64>"},
      {"gather two",
       {"3x2x4xf64"},
       {"2x2xf64"},
       "%i = graph.constant dense<[[3, 0], [1, 2]]> : tensor<2x2xi64>\n"
       "%r0 = graph.gather %a0[%i] dims = [2, 0] : (tensor<3x2x4xf64>, tensor<2x2xi64>) -> "
       "tensor<2x2xf64>"},
      // Repeated, and outside: dropped.
      {"scatter add",
       {"4x2xf64", "3x2xf64"},
       {"4x2xf64"},
       "%i = graph.constant dense<[[1], [7], [1]]> : tensor<3x1xi32>\n"
       "%r0 = graph.scatter add, %a0[%i], %a1 dims = [0] : (tensor<4x2xf64>, tensor<3x1xi32>, "
       "tensor<3x2xf64>) -> tensor<4x2xf64>"},
      {"scatter update",
       {"3x4xf64", "4xf64"},
       {"3x4xf64"},
       "%i = graph.constant dense<[[3, 1], [0, 0], [3, 1], [4, 0]]> : tensor<4x2xi32>\n"
       "%r0 = graph.scatter update, %a0[%i], %a1 dims = [1, 0] : (tensor<3x4xf64>, "
       "tensor<4x2xi32>, tensor<4xf64>) -> tensor<3x4xf64>"},
  };
}

std::vector<VjpCase> composites() {
  return {
      {"softmax", {"2x3xf64"}, {"2x3xf64"}, "%r0 = graph.softmax %a0, dim = 0 : tensor<2x3xf64>"},
      {"layer_norm",
       {"2x4xf64", "4xf64", "4xf64"},
       {"2x4xf64"},
       "%r0 = graph.layer_norm %a0, %a1, %a2 epsilon = 1.0e-3 : tensor<2x4xf64>, tensor<4xf64>, "
       "tensor<4xf64>"},
      {"rms_norm",
       {"2x4xf64", "4xf64"},
       {"2x4xf64"},
       "%r0 = graph.rms_norm %a0, %a1 epsilon = 1.0e-3 : tensor<2x4xf64>, tensor<4xf64>"},
      {"rope",
       {"1x2x1x4xf64"},
       {"1x2x1x4xf64"},
       "%p = graph.constant dense<[3, 7]> : tensor<2xi32>\n"
       "%r0 = graph.rope %a0, %p theta = 100.0 : tensor<1x2x1x4xf64>, tensor<2xi32>"},
      {"rope inverse",
       {"1x2x1x4xf64"},
       {"1x2x1x4xf64"},
       "%p = graph.constant dense<[3, 7]> : tensor<2xi32>\n"
       "%r0 = graph.rope %a0, %p theta = 100.0 inverse : tensor<1x2x1x4xf64>, tensor<2xi32>"},
      {"dropout",
       {"8xf64"},
       {"8xf64"},
       "%k = graph.constant dense<[5, 6]> : tensor<2xui32>\n"
       "%r0 = graph.dropout %a0, %k rate = 0.5 : tensor<8xf64>"},
      {"embedding",
       {"4x2xf64"},
       {"2x2x2xf64"},
       "%i = graph.constant dense<[[1, 3], [1, 0]]> : tensor<2x2xi32>\n"
       "%r0 = graph.embedding %a0, %i : (tensor<4x2xf64>, tensor<2x2xi32>) -> tensor<2x2x2xf64>"},
      {"softmax_cross_entropy",
       {"2x2x3xf64"},
       {"2x2xacc"},
       "%t = graph.constant dense<[[1, 0], [2, 2]]> : tensor<2x2xi32>\n"
       "%r0 = graph.softmax_cross_entropy %a0, %t : (tensor<2x2x3xf64>, tensor<2x2xi32>) -> "
       "tensor<2x2xacc>"},
      {"softmax_cross_entropy ignore",
       {"3x3xf64"},
       {"3xacc"},
       "%t = graph.constant dense<[1, -100, 2]> : tensor<3xi64>\n"
       "%r0 = graph.softmax_cross_entropy %a0, %t ignore -100 : (tensor<3x3xf64>, tensor<3xi64>) "
       "-> tensor<3xacc>"},
      {"linear_cross_entropy",
       {"2x2x3xf64", "3x4xf64"},
       {"acc", "2x2x3xf64", "3x4xf64"},
       "%t = graph.constant dense<[[1, 0], [3, 3]]> : tensor<2x2xi32>\n"
       "%r0, %r1, %r2 = graph.linear_cross_entropy %a0, %a1, %t : (tensor<2x2x3xf64>, "
       "tensor<3x4xf64>, tensor<2x2xi32>) -> (tensor<acc>, tensor<2x2x3xf64>, tensor<3x4xf64>)"},
      {"linear_cross_entropy bias ignore transposed",
       {"3x2xf64", "4x2xf64", "4xf64"},
       {"acc", "4xf64"},
       "%t = graph.constant dense<[2, -1, 0]> : tensor<3xi64>\n"
       "%r0, %x, %y, %r1 = graph.linear_cross_entropy %a0, %a1, %t bias %a2 ignore -1 transposed : "
       "(tensor<3x2xf64>, tensor<4x2xf64>, tensor<3xi64>, tensor<4xf64>) -> (tensor<acc>, "
       "tensor<3x2xf64>, tensor<4x2xf64>, tensor<4xf64>)"},
      attention("none", "", "scale = 0.7 kind = none"),
      attention("causal offset", "%o = graph.constant dense<1> : tensor<i32>\n",
                "offset(%o : tensor<i32>) scale = 0.7 kind = causal"),
      attention("sliding_window", "", "window = 2 scale = 0.7 kind = sliding_window"),
      attention(
          "mask segments",
          "%m = graph.constant dense<[[[[true, true, false, true], [true, false, true, true], "
          "[true, true, true, true]]]]> : tensor<1x1x3x4xi1>\n"
          "%q = graph.constant dense<[[0, 0, 1]]> : tensor<1x3xi32>\n"
          "%k = graph.constant dense<[[0, 0, 0, 1]]> : tensor<1x4xi32>\n",
          "mask(%m : tensor<1x1x3x4xi1>) segments(%q, %k : tensor<1x3xi32>, tensor<1x4xi32>) "
          "scale = 0.7 kind = none"),
  };
}

} // namespace

const std::vector<VjpCase> &minigptc::test::vjpCases() {
  static const std::vector<VjpCase> cases = [] {
    std::vector<VjpCase> all;
    for (auto family : {elementwise, shapes, contractions, composites})
      for (VjpCase &one : family())
        all.push_back(std::move(one));
    return all;
  }();
  return cases;
}
