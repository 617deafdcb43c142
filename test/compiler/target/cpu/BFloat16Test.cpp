//===- BFloat16Test.cpp - kernels on bf16, against the interpreter --------===//
//
// A kernel rounds where the interpreter does: exactly so where f32 computes what is
// rounded exactly enough, else to one place of bf16.
//
//===----------------------------------------------------------------------===//
#include "test/compiler/target/cpu/KernelHarness.h"
#include <catch2/catch.hpp>

#include <cmath>

using namespace mlir;
using namespace minigptc;

static constexpr double kOnePlace = 1.0 / 128;

static std::string kernel(const std::string &parameters, const std::string &results,
                          const std::string &body) {
  return "func.func private @k(" + parameters + ") -> (" + results +
         ") attributes {exec.kernel} {\n" + body + "\n}";
}

static std::string unary(const std::string &op) {
  return kernel("%a: tensor<3x37xbf16>", "tensor<3x37xbf16>",
                "%0 = graph." + op + " %a : tensor<3x37xbf16>\nreturn %0 : tensor<3x37xbf16>");
}

static std::string binary(const std::string &op) {
  return kernel("%a: tensor<130xbf16>, %b: tensor<130xbf16>", "tensor<130xbf16>",
                "%0 = graph." + op + " %a, %b : tensor<130xbf16>\nreturn %0 : tensor<130xbf16>");
}

TEST_CASE("bf16: arithmetic is rounded as the interpreter rounds it, exactly") {
  KernelHarness harness;
  harness.tolerance = 0;
  for (int round = 0; round < 4; ++round) {
    for (const char *op : {"add", "subtract", "multiply", "divide", "maximum", "minimum"})
      harness.check(binary(op));
    for (const char *op : {"abs", "negate", "sign", "floor", "ceil", "round_nearest_even"})
      harness.check(unary(op));
    // Values inside a kernel are rounded as if they were stored.
    harness.check(kernel("%a: tensor<130xbf16>, %b: tensor<130xbf16>", "tensor<130xbf16>",
                         "%0 = graph.multiply %a, %b : tensor<130xbf16>\n"
                         "%1 = graph.add %0, %b : tensor<130xbf16>\n"
                         "%2 = graph.subtract %1, %0 : tensor<130xbf16>\n"
                         "return %2 : tensor<130xbf16>"));
  }
  harness.low = 0;
  harness.check(unary("sqrt"));
}

TEST_CASE("bf16: functions are right to one place") {
  KernelHarness harness;
  harness.tolerance = kOnePlace;
  for (const char *op : {"cbrt", "cosine", "erf", "exponential", "exponential_minus_one",
                         "logistic", "sine", "tanh"})
    harness.check(unary(op));
  harness.low = 1e-2;
  for (const char *op : {"log", "log_plus_one", "rsqrt"})
    harness.check(unary(op));
  harness.check(binary("power"));
}

TEST_CASE("bf16: special values") {
  KernelHarness harness;
  harness.tolerance = 0;
  const double values[] = {0.0,  -0.0,  INFINITY, -INFINITY, NAN, 3.3895313892515355e38,
                           1e38, 1e-40, -9e-41,   1.0078125, 256, 257};
  interpreter::Tensor a(RankedTensorType::get({12}, BFloat16Type::get(&harness.context))), b = a;
  for (int i = 0; i < 12; ++i) {
    a.setFloat(i, values[i]);
    b.setFloat(i, values[(i + 5) % 12]);
  }
  for (std::string op : {"add", "multiply", "divide", "maximum"})
    harness.check(
        kernel("%a: tensor<12xbf16>, %b: tensor<12xbf16>", "tensor<12xbf16>",
               "%0 = graph." + op + " %a, %b : tensor<12xbf16>\nreturn %0 : tensor<12xbf16>"),
        {a, b});
}

TEST_CASE("bf16: conversions are rounded once") {
  KernelHarness harness;
  harness.tolerance = 0;
  harness.low = -3e9;
  harness.high = 5e9;
  for (int round = 0; round < 2; ++round, harness.low = -300, harness.high = 300)
    for (std::string other : {"f64", "f32", "i64", "i32", "i8", "i1", "ui64", "ui32"})
      for (bool back : {false, true}) {
        std::string a = "tensor<90xbf16>", b = "tensor<90x" + other + ">";
        if (back)
          std::swap(a, b);
        harness.check(kernel("%a: " + a, b,
                             "%0 = graph.convert %a : (" + a + ") -> " + b + "\nreturn %0 : " + b));
      }
  // Through f32 (or f64) these would be ties.
  interpreter::Tensor x(RankedTensorType::get({4}, Float64Type::get(&harness.context)));
  for (auto [i, value] : llvm::enumerate(
           std::vector<double>{1 + 0x1p-8 + 0x1p-40, 1 + 0x1p-8, -1 - 3 * 0x1p-8 + 0x1p-40, 1e300}))
    x.setFloat(int64_t(i), value);
  harness.check(kernel("%a: tensor<4xf64>", "tensor<4xbf16>",
                       "%0 = graph.convert %a : (tensor<4xf64>) -> tensor<4xbf16>\n"
                       "return %0 : tensor<4xbf16>"),
                {x});
  interpreter::Tensor n(RankedTensorType::get({4}, IntegerType::get(&harness.context, 64)));
  int64_t tie = (int64_t(1) << 62) + (int64_t(1) << 54);
  for (auto [i, value] : llvm::enumerate(std::vector<int64_t>{tie, tie + 1, -tie - 1, -tie}))
    n.setInt(int64_t(i), value);
  harness.check(kernel("%a: tensor<4xi64>", "tensor<4xbf16>",
                       "%0 = graph.convert %a : (tensor<4xi64>) -> tensor<4xbf16>\n"
                       "return %0 : tensor<4xbf16>"),
                {n});
}

TEST_CASE("bf16: data movement, comparison, selection") {
  KernelHarness harness;
  harness.tolerance = 0;
  auto check = [&](const std::string &parameters, const std::string &result,
                   const std::string &op) {
    harness.check(kernel(parameters, result, "%0 = graph." + op + "\nreturn %0 : " + result));
  };
  check("", "tensor<4xbf16>", "constant dense<[1.0, 2.0, 3.0, -4.0]> : tensor<4xbf16>");
  check("", "tensor<3x5xbf16>", "iota dim = 1 : tensor<3x5xbf16>");
  check("%a: tensor<3x4x5xbf16>", "tensor<5x3x4xbf16>",
        "transpose %a, dims = [2, 0, 1] : (tensor<3x4x5xbf16>) -> tensor<5x3x4xbf16>");
  check("%a: tensor<3x9xbf16>, %b: tensor<3x4xbf16>", "tensor<3x13xbf16>",
        "concatenate %a, %b dim = 1 : (tensor<3x9xbf16>, tensor<3x4xbf16>) -> tensor<3x13xbf16>");
  check("%a: tensor<3x4xbf16>, %v: tensor<bf16>", "tensor<6x13xbf16>",
        "pad %a, %v, low = [1, -1], high = [2, 4], interior = [0, 2] : (tensor<3x4xbf16>, "
        "tensor<bf16>) -> tensor<6x13xbf16>");
  check("%a: tensor<90xbf16>, %b: tensor<90xbf16>", "tensor<90xi1>",
        "compare LT, %a, %b : (tensor<90xbf16>, tensor<90xbf16>) -> tensor<90xi1>");
  check("%p: tensor<45xi1>, %a: tensor<45xbf16>, %b: tensor<45xbf16>", "tensor<45xbf16>",
        "select %p, %a, %b : tensor<45xi1>, tensor<45xbf16>");
  check("%a: tensor<9x20xbf16>, %i: tensor<6x1xi32>", "tensor<6x20xbf16>",
        "gather %a[%i] dims = [0] : (tensor<9x20xbf16>, tensor<6x1xi32>) -> tensor<6x20xbf16>");
}

TEST_CASE("bf16: sums are kept in f32, in every loop order") {
  KernelHarness harness;
  harness.low = 0.5; // A sum in bf16 would stop growing.
  harness.high = 1.5;
  harness.tolerance = kOnePlace;
  auto check = [&](const std::string &from, const std::string &dims, const std::string &to) {
    for (std::string kind : {"sum", "max", "min"})
      harness.check(kernel("%a: " + from, to,
                           "%0 = graph.reduce " + kind + ", %a, dims = [" + dims + "] : (" + from +
                               ") -> " + to + "\nreturn %0 : " + to));
  };
  check("tensor<5x1000xbf16>", "1", "tensor<5xbf16>");
  check("tensor<1000x70xbf16>", "0", "tensor<70xbf16>");
  check("tensor<7x333xbf16>", "0, 1", "tensor<bf16>");
  check("tensor<3x400x20xbf16>", "0, 2", "tensor<400xbf16>");
  // Rows and column sums of one kernel.
  harness.check(kernel(
      "%a: tensor<300x40xbf16>", "tensor<300x40xbf16>, tensor<40xbf16>",
      "%0 = graph.reduce sum, %a, dims = [1] : (tensor<300x40xbf16>) -> tensor<300xbf16>\n"
      "%1 = graph.broadcast_in_dim %0, dims = [0] : (tensor<300xbf16>) -> tensor<300x40xbf16>\n"
      "%2 = graph.divide %a, %1 : tensor<300x40xbf16>\n"
      "%3 = graph.reduce sum, %2, dims = [0] : (tensor<300x40xbf16>) -> tensor<40xbf16>\n"
      "return %2, %3 : tensor<300x40xbf16>, tensor<40xbf16>"));
  harness.check(kernel("%a: tensor<5x300xbf16>, %b: tensor<300x4xbf16>", "tensor<5x4xbf16>",
                       "%0 = graph.dot_general %a, %b, batching_dims = [] x [], contracting_dims = "
                       "[1] x [0] : (tensor<5x300xbf16>, tensor<300x4xbf16>) -> tensor<5x4xbf16>\n"
                       "return %0 : tensor<5x4xbf16>"));
  harness.low = 0;
  harness.high = 4;
  harness.check(kernel(
      "%a: tensor<4x40xbf16>, %i: tensor<900x1xi32>, %u: tensor<900x40xbf16>", "tensor<4x40xbf16>",
      "%0 = graph.scatter add, %a[%i], %u dims = [0] : (tensor<4x40xbf16>, tensor<900x1xi32>, "
      "tensor<900x40xbf16>) -> tensor<4x40xbf16>\nreturn %0 : tensor<4x40xbf16>"));
}
