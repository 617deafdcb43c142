//===- KernelTest.cpp - the kernels of every op, against the interpreter --===//
#include "dialects/graph/IR/Graph.h"
#include "test/compiler/target/cpu/KernelHarness.h"
#include <catch2/catch.hpp>

#include <cmath>
#include <random>

using namespace mlir;
using namespace minigptc;

/// A kernel with the given parameters, results and body; @T stands for `type`.
static std::string kernel(const std::string &parameters, const std::string &results,
                          const std::string &body) {
  return "func.func private @k(" + parameters + ") -> (" + results +
         ") attributes {exec.kernel} {\n" + body + "\n}";
}

/// One op on tensors of one type.
static std::string unary(const std::string &op, const std::string &type) {
  return kernel("%a: " + type, type,
                "%0 = graph." + op + " %a : " + type + "\nreturn %0 : " + type);
}
static std::string binary(const std::string &op, const std::string &type) {
  return kernel("%a: " + type + ", %b: " + type, type,
                "%0 = graph." + op + " %a, %b : " + type + "\nreturn %0 : " + type);
}

TEST_CASE("every op that has no decomposition has a kernel") {
  KernelHarness harness;
  // What holds or calls other ops is gone before kernels are made, or stays between them;
  // so does a product that adds to memory, or has an epilogue.
  const std::set<std::string> structure = {
      "graph.vjp",           "graph.host_call",      "graph.fusion",   "graph.yield",
      "graph.scan",          "graph.cond",           "graph.while",    "graph.gather_examples",
      "graph.example_index", "graph.dot_accumulate", "graph.dot_bias", "graph.dot_sums",
      "graph.print"};
  int count = 0;
  for (RegisteredOperationName name : harness.context.getRegisteredOperationsByDialect("graph")) {
    if (structure.count(name.getStringRef().str()) || name.hasInterface<graph::DecomposableOp>())
      continue;
    INFO(name.getStringRef().str());
    CHECK(name.hasInterface<graph::KernelOp>());
    ++count;
  }
  CHECK(count > 50);
}

TEST_CASE("indices that run backwards") {
  KernelHarness().check(kernel("%x: tensor<40xi32>", "tensor<40xi32>", R"(
    %i = graph.iota dim = 0 : tensor<40xi32>
    %last = graph.constant dense<39> : tensor<40xi32>
    %three = graph.constant dense<3> : tensor<40xi32>
    %back = graph.subtract %last, %i : tensor<40xi32>
    %times = graph.multiply %back, %three : tensor<40xi32>
    %0 = graph.add %times, %x : tensor<40xi32>
    return %0 : tensor<40xi32>)"));
}

/// A kernel of integer functions of the index, at random: vector loops keep what is linear
/// in the index as a scalar and a stride.
static std::string indexKernel(std::mt19937 &random) {
  auto below = [&](size_t n) { return random() % n; };
  const char *const ops[] = {"add", "subtract", "multiply", "divide", "remainder", "maximum"};
  const int constants[] = {-1, 1, 2, 3, 5, 16, 17, 32, 48, 100};
  const std::string columns = below(2) ? "48" : "53";
  const char *const elements[] = {"i32", "i64", "ui32", "i8"};
  std::string element = elements[below(4)], shape = "3x" + columns + "x";
  std::string type = "tensor<" + shape + element + ">";
  std::string body = "%0 = graph.iota dim = 1 : " + type + "\n%1 = graph.iota dim = 0 : " + type;
  int count = 2;
  auto emit = [&](const std::string &op) {
    body += "\n%" + std::to_string(count++) + " = graph." + op + " : " + type;
  };
  for (int step = 0; step < 6; ++step) {
    int value = constants[below(std::size(constants))];
    emit("constant dense<" + std::to_string(element == "ui32" ? std::abs(value) : value) + ">");
    // Mostly what was last computed, and the constant.
    std::string a = "%" + std::to_string(step > 0 && below(4) ? count - 2 : below(2)),
                b = "%" + std::to_string(below(4) ? count - 1 : below(count));
    if (below(2))
      std::swap(a, b);
    emit(std::string(ops[below(std::size(ops))]) + " " + a + ", " + b);
  }
  body += "\n%p = graph.compare LT, %" + std::to_string(count - 1) + ", %" +
          std::to_string(count - 2) + " : (" + type + ", " + type + ") -> tensor<" + shape +
          "i1>\n%r = graph.select %p, %" + std::to_string(count - 1) + ", %0 : tensor<" + shape +
          "i1>, " + type + "\n%s = graph.add %r, %x : " + type + "\nreturn %s : " + type;
  return kernel("%x: " + type, type, body);
}

TEST_CASE("integer functions of indices") {
  KernelHarness harness;
  std::mt19937 random(5);
  for (int i = 0; i < 60; ++i)
    harness.check(indexKernel(random));
}

TEST_CASE("unary ops") {
  KernelHarness harness;
  const char *floatOps[] = {"cbrt",   "ceil",        "cosine",
                            "erf",    "exponential", "exponential_minus_one",
                            "floor",  "logistic",    "round_nearest_even",
                            "sine",   "tanh",        "abs",
                            "negate", "sign"};
  for (const char *op : floatOps)
    for (const char *type : {"tensor<3x37xf32>", "tensor<5xf64>"})
      harness.check(unary(op, type));
  harness.low = 1e-4;
  harness.high = 50;
  for (const char *op : {"log", "log_plus_one", "rsqrt", "sqrt"})
    for (const char *type : {"tensor<3x37xf32>", "tensor<5xf64>"})
      harness.check(unary(op, type));
  harness.low = -100;
  for (const char *op : {"abs", "negate", "sign", "not"})
    for (const char *type :
         {"tensor<37xi32>", "tensor<3xi64>", "tensor<9xui32>", "tensor<7xi8>", "tensor<7xui64>"})
      harness.check(unary(op, type));
  harness.check(unary("not", "tensor<9xi1>"));
}

TEST_CASE("functions at the ends of their range") {
  KernelHarness harness;
  const double infinity = INFINITY;
  std::vector<double> values = {0.0,  -0.0,  1e-30,    -1e-30,    1e-5,  -1e-5,
                                20.0, -20.0, 90.0,     -90.0,     110.0, -110.0,
                                1e30, -1e30, infinity, -infinity, NAN};
  auto type = RankedTensorType::get({int64_t(values.size())}, Float32Type::get(&harness.context));
  interpreter::Tensor input(type);
  for (size_t i = 0; i < values.size(); ++i)
    input.setFloat(i, values[i]);
  const char *ops[] = {"exponential", "exponential_minus_one",
                       "log",         "log_plus_one",
                       "logistic",    "tanh",
                       "erf",         "sqrt",
                       "rsqrt",       "abs",
                       "sign",        "floor",
                       "ceil",        "round_nearest_even",
                       "cbrt"};
  for (const char *op : ops)
    harness.check(unary(op, "tensor<17xf32>"), {input});
  harness.check(
      kernel(
          "%a: tensor<17xf32>", "tensor<17xi1>",
          "%0 = graph.is_finite %a : (tensor<17xf32>) -> tensor<17xi1>\nreturn %0 : tensor<17xi1>"),
      {input});
}

TEST_CASE("angles of many turns") {
  KernelHarness harness;
  harness.low = -1e5;
  harness.high = 1e5;
  harness.check(unary("sine", "tensor<1000xf32>"));
  harness.check(unary("cosine", "tensor<1000xf32>"));
}

TEST_CASE("binary ops") {
  KernelHarness harness;
  for (const char *op :
       {"add", "subtract", "multiply", "divide", "maximum", "minimum", "remainder"})
    for (const char *type : {"tensor<3x37xf32>", "tensor<5xf64>", "tensor<50xi32>",
                             "tensor<40xui32>", "tensor<9xi64>", "tensor<9xui64>", "tensor<30xi8>"})
      harness.check(binary(op, type));
  for (const char *op : {"and", "or", "xor"})
    for (const char *type : {"tensor<50xi32>", "tensor<40xui32>", "tensor<30xi1>"})
      harness.check(binary(op, type));
  harness.check(binary("maximum", "tensor<30xi1>"));
  harness.check(binary("minimum", "tensor<30xi1>"));
  harness.low = -20;
  harness.high = 40;
  for (const char *op : {"shift_left", "shift_right_logical", "shift_right_arithmetic"})
    for (const char *type :
         {"tensor<50xi32>", "tensor<40xui32>", "tensor<20xi64>", "tensor<64xi8>"})
      harness.check(binary(op, type));
  harness.low = 0.01;
  harness.check(binary("power", "tensor<30xf32>"));
  harness.check(binary("power", "tensor<30xf64>"));
}

TEST_CASE("integer division never traps") {
  KernelHarness harness;
  auto type = RankedTensorType::get({4}, IntegerType::get(&harness.context, 32));
  interpreter::Tensor x(type), y(type);
  int64_t least = std::numeric_limits<int32_t>::min();
  for (auto [i, pair] : llvm::enumerate(
           std::vector<std::pair<int64_t, int64_t>>{{7, 0}, {least, -1}, {-7, 2}, {least, 0}})) {
    x.setInt(i, pair.first);
    y.setInt(i, pair.second);
  }
  harness.check(binary("divide", "tensor<4xi32>"), {x, y});
  harness.check(binary("remainder", "tensor<4xi32>"), {x, y});
}

TEST_CASE("comparison and selection") {
  KernelHarness harness;
  harness.low = -2;
  harness.high = 2;
  for (const char *direction : {"EQ", "NE", "LT", "LE", "GT", "GE"})
    for (const char *type :
         {"tensor<3x37xf32>", "tensor<50xi32>", "tensor<40xui32>", "tensor<30xi1>"}) {
      std::string pred = type;
      pred = pred.substr(0, pred.find_last_of('x')) + "xi1>";
      std::string t = type;
      harness.check(kernel("%a: " + t + ", %b: " + t, pred,
                           "%0 = graph.compare " + std::string(direction) + ", %a, %b : (" + t +
                               ", " + t + ") -> " + pred + "\nreturn %0 : " + pred));
    }
  harness.check(kernel("%p: tensor<4x5xi1>, %a: tensor<4x5xf32>, %b: tensor<4x5xf32>",
                       "tensor<4x5xf32>",
                       "%0 = graph.select %p, %a, %b : tensor<4x5xi1>, tensor<4x5xf32>\nreturn %0 "
                       ": tensor<4x5xf32>"));
  harness.check(kernel(
      "%p: tensor<i1>, %a: tensor<4x5xi1>, %b: tensor<4x5xi1>", "tensor<4x5xi1>",
      "%0 = graph.select %p, %a, %b : tensor<i1>, tensor<4x5xi1>\nreturn %0 : tensor<4x5xi1>"));
  for (const char *type : {"tensor<20xf32>", "tensor<20xi32>", "tensor<20xui32>"}) {
    std::string t = type;
    harness.check(kernel("%l: " + t + ", %a: " + t + ", %h: " + t, t,
                         "%0 = graph.clamp %l, %a, %h : " + t + "\nreturn %0 : " + t));
  }
}

TEST_CASE("conversions between all element types") {
  KernelHarness harness;
  harness.low = -300;
  harness.high = 5e9;
  const char *types[] = {"f64", "f32", "i64", "i32", "i8", "i1", "ui64", "ui32"};
  for (int round = 0; round < 2; ++round, harness.high = 3)
    for (std::string from : types)
      for (std::string to : types) {
        std::string a = "tensor<40x" + from + ">", b = "tensor<40x" + to + ">";
        harness.check(kernel("%a: " + a, b,
                             "%0 = graph.convert %a : (" + a + ") -> " + b + "\nreturn %0 : " + b));
      }
  harness.check(kernel("%a: tensor<9xf32>", "tensor<9xui32>",
                       "%0 = graph.bitcast_convert %a : (tensor<9xf32>) -> tensor<9xui32>\nreturn "
                       "%0 : tensor<9xui32>"));
  harness.check(kernel("%a: tensor<9xi32>", "tensor<9xui32>",
                       "%0 = graph.bitcast_convert %a : (tensor<9xi32>) -> tensor<9xui32>\nreturn "
                       "%0 : tensor<9xui32>"));
}

TEST_CASE("saturating conversions") {
  KernelHarness harness;
  std::vector<double> values = {2147483648.0, -2147483648.0, -2147483904.0, 4294967296.0,
                                -0.5,         -1.0,          1e20,          NAN,
                                INFINITY,     -INFINITY,     127.9,         -128.9};
  auto type = RankedTensorType::get({int64_t(values.size())}, Float32Type::get(&harness.context));
  interpreter::Tensor input(type);
  for (size_t i = 0; i < values.size(); ++i)
    input.setFloat(i, values[i]);
  for (std::string to : {"i64", "i32", "i8", "ui64", "ui32", "i1"}) {
    std::string b = "tensor<12x" + to + ">";
    harness.check(kernel("%a: tensor<12xf32>", b,
                         "%0 = graph.convert %a : (tensor<12xf32>) -> " + b + "\nreturn %0 : " + b),
                  {input});
  }
}

TEST_CASE("constants and data movement") {
  KernelHarness harness;
  auto check = [&](const std::string &parameters, const std::string &result,
                   const std::string &op) {
    harness.check(kernel(parameters, result, "%0 = graph." + op + "\nreturn %0 : " + result));
  };
  check("", "tensor<3x4xf32>", "constant dense<1.5> : tensor<3x4xf32>");
  check("", "tensor<4xf32>", "constant dense<[1.0, 2.0, 3.0, -4.0]> : tensor<4xf32>");
  check("", "tensor<2x2xi1>", "constant dense<[[true, false], [false, true]]> : tensor<2x2xi1>");
  check("", "tensor<3xui32>", "constant dense<[1, 4000000000, 3]> : tensor<3xui32>");
  check("", "tensor<f32>", "constant dense<2.0> : tensor<f32>");
  for (const char *type : {"f32", "f64", "i32", "i64", "i8", "ui32"})
    check("", std::string("tensor<3x5x") + type + ">",
          std::string("iota dim = 1 : tensor<3x5x") + type + ">");
  check("%a: tensor<5x1xf32>", "tensor<3x5x7xf32>",
        "broadcast_in_dim %a, dims = [1, 2] : (tensor<5x1xf32>) -> tensor<3x5x7xf32>");
  check("%a: tensor<f32>", "tensor<3x5xf32>",
        "broadcast_in_dim %a, dims = [] : (tensor<f32>) -> tensor<3x5xf32>");
  check("%a: tensor<6x10xf32>", "tensor<3x2x2x5xf32>",
        "reshape %a : (tensor<6x10xf32>) -> tensor<3x2x2x5xf32>");
  check("%a: tensor<3x4x5xf32>", "tensor<5x12xf32>",
        "reshape %a : (tensor<3x4x5xf32>) -> tensor<5x12xf32>");
  check("%a: tensor<1x4x1xf32>", "tensor<4xf32>",
        "reshape %a : (tensor<1x4x1xf32>) -> tensor<4xf32>");
  check("%a: tensor<1xf32>", "tensor<f32>", "reshape %a : (tensor<1xf32>) -> tensor<f32>");
  check("%a: tensor<3x4x5xf32>", "tensor<5x3x4xf32>",
        "transpose %a, dims = [2, 0, 1] : (tensor<3x4x5xf32>) -> tensor<5x3x4xf32>");
  check("%a: tensor<8x9xf32>", "tensor<3x4xf32>",
        "slice %a [1, 2] : [7, 9] : [2, 2] : (tensor<8x9xf32>) -> tensor<3x4xf32>");
  check("%a: tensor<8x9xf32>, %b: tensor<2x9xf32>, %c: tensor<8x9xf32>", "tensor<18x9xf32>",
        "concatenate %a, %b, %c dim = 0 : (tensor<8x9xf32>, tensor<2x9xf32>, tensor<8x9xf32>) -> "
        "tensor<18x9xf32>");
  check("%a: tensor<3x9xf32>, %b: tensor<3x4xf32>", "tensor<3x13xf32>",
        "concatenate %a, %b dim = 1 : (tensor<3x9xf32>, tensor<3x4xf32>) -> tensor<3x13xf32>");
  check("%a: tensor<3x4xf32>, %v: tensor<f32>", "tensor<6x13xf32>",
        "pad %a, %v, low = [1, -1], high = [2, 4], interior = [0, 2] : (tensor<3x4xf32>, "
        "tensor<f32>) -> tensor<6x13xf32>");
  check("%a: tensor<6x4xf32>, %v: tensor<f32>", "tensor<4x4xf32>",
        "pad %a, %v, low = [-1, 0], high = [-1, 0], interior = [0, 0] : (tensor<6x4xf32>, "
        "tensor<f32>) -> tensor<4x4xf32>");
}

TEST_CASE("slices at computed places are clamped") {
  KernelHarness harness;
  harness.low = -4;
  harness.high = 9;
  for (int round = 0; round < 6; ++round) {
    harness.check(
        kernel("%a: tensor<6x7xf32>, %i: tensor<i32>, %j: tensor<i32>", "tensor<2x3xf32>",
               "%0 = graph.dynamic_slice %a[%i, %j] sizes = [2, 3] : (tensor<6x7xf32>, "
               "tensor<i32>, tensor<i32>) -> tensor<2x3xf32>\nreturn %0 : tensor<2x3xf32>"));
  }
}

TEST_CASE("blocks at computed places, copied and in place") {
  KernelHarness harness;
  harness.low = -4;
  harness.high = 9;
  auto check = [&](const std::string &whole, const std::string &block) {
    std::string starts, indices, types;
    for (int64_t i = 0; i < std::count(whole.begin(), whole.end(), 'x'); ++i) {
      starts += ", %i" + std::to_string(i) + ": tensor<i64>";
      indices += (i ? ", %i" : "%i") + std::to_string(i);
      types += ", tensor<i64>";
    }
    std::string result = "tensor<" + whole + ">", update = "tensor<" + block + ">";
    std::string text =
        kernel("%a: " + result + ", %u: " + update + starts, result,
               "%0 = graph.dynamic_update_slice %a, %u[" + indices + "] : (" + result + ", " +
                   update + types + ") -> " + result + "\nreturn %0 : " + result);
    for (int round = 0; round < 6; ++round) {
      harness.inPlace = -1;
      harness.check(text);
      harness.inPlace = 0;
      harness.check(text);
    }
  };
  check("6x7xf32", "6x3xf32");
  check("6x7xf32", "1x7xf32");
  check("40xi32", "9xi32");
  check("1x50x2x3xf32", "1x1x2x3xf32");
  check("1x50x2x3xf32", "1x20x2x3xf32");
  check("1x1xf64", "1x1xf64");
  // A constant is no buffer: its elements are made.
  harness.inPlace = -1;
  harness.check(kernel(
      "%u: tensor<3xf32>, %i: tensor<i64>", "tensor<8xf32>",
      "%a = graph.constant dense<2.0> : tensor<8xf32>\n%0 = graph.dynamic_update_slice %a, %u[%i] "
      ": "
      "(tensor<8xf32>, tensor<3xf32>, tensor<i64>) -> tensor<8xf32>\nreturn %0 : tensor<8xf32>"));
}

TEST_CASE("reductions, in every loop order") {
  KernelHarness harness;
  harness.tolerance = 1e-5;
  auto check = [&](const std::string &kind, const std::string &from, const std::string &dims,
                   const std::string &to) {
    harness.check(kernel("%a: " + from, to,
                         "%0 = graph.reduce " + kind + ", %a, dims = [" + dims + "] : (" + from +
                             ") -> " + to + "\nreturn %0 : " + to));
  };
  for (const char *kind : {"sum", "max", "min"}) {
    for (const char *type : {"f32", "f64", "i32", "ui32"}) {
      std::string t = type;
      check(kind, "tensor<5x100x" + t + ">", "1", "tensor<5x" + t + ">");
      check(kind, "tensor<40x100x" + t + ">", "0", "tensor<100x" + t + ">");
    }
    check(kind, "tensor<5x7xf32>", "1", "tensor<5xf32>");
    check(kind, "tensor<5x16xf32>", "1", "tensor<5xf32>");
    check(kind, "tensor<7x33xf32>", "0, 1", "tensor<f32>");
    check(kind, "tensor<3x40x70xf32>", "1", "tensor<3x70xf32>");
    check(kind, "tensor<3x40x70xf32>", "0, 1", "tensor<70xf32>");
    check(kind, "tensor<3x40x70xf32>", "0, 2", "tensor<40xf32>");
    check(kind, "tensor<3x40x1xf32>", "1", "tensor<3x1xf32>");
    check(kind, "tensor<4x300xf32>", "", "tensor<4x300xf32>");
  }
  harness.low = 0.5;
  harness.high = 1.5;
  check("prod", "tensor<5x20xf32>", "1", "tensor<5xf32>");
  harness.low = -1;
  harness.high = 30;
  check("any", "tensor<5x20xi1>", "1", "tensor<5xi1>");
  check("all", "tensor<5x20xi1>", "0", "tensor<20xi1>");
  check("sum", "tensor<0x20xf32>", "0", "tensor<20xf32>");
}

TEST_CASE("a contraction as a kernel") {
  KernelHarness harness;
  harness.tolerance = 1e-5;
  for (std::string t : {"f32", "f64", "i32"})
    harness.check(kernel("%a: tensor<2x5x3x" + t + ">, %b: tensor<2x3x4x" + t + ">",
                         "tensor<2x5x4x" + t + ">",
                         "%0 = graph.dot_general %a, %b, batching_dims = [0] x [0], "
                         "contracting_dims = [2] x [1] : (tensor<2x5x3x" +
                             t + ">, tensor<2x3x4x" + t + ">) -> tensor<2x5x4x" + t +
                             ">\nreturn %0 : tensor<2x5x4x" + t + ">"));
}

TEST_CASE("gather clamps, scatter drops") {
  KernelHarness harness;
  harness.low = -3;
  harness.high = 12;
  for (const char *index : {"i32", "i64", "ui32"}) {
    std::string i = index;
    harness.check(kernel("%a: tensor<9x20xf32>, %i: tensor<2x3x1x" + i + ">", "tensor<2x3x20xf32>",
                         "%0 = graph.gather %a[%i] dims = [0] : (tensor<9x20xf32>, tensor<2x3x1x" +
                             i + ">) -> tensor<2x3x20xf32>\nreturn %0 : tensor<2x3x20xf32>"));
  }
  harness.check(kernel("%a: tensor<9x7xf32>, %i: tensor<5x2xi32>", "tensor<5xf32>",
                       "%0 = graph.gather %a[%i] dims = [0, 1] : (tensor<9x7xf32>, "
                       "tensor<5x2xi32>) -> tensor<5xf32>\nreturn %0 : tensor<5xf32>"));
  auto scatter = [&](const std::string &kind, const std::string &operand,
                     const std::string &indices, const std::string &updates,
                     const std::string &dims) {
    harness.check(kernel("%a: " + operand + ", %i: " + indices + ", %u: " + updates, operand,
                         "%0 = graph.scatter " + kind + ", %a[%i], %u dims = [" + dims + "] : (" +
                             operand + ", " + indices + ", " + updates + ") -> " + operand +
                             "\nreturn %0 : " + operand));
  };
  for (const char *kind : {"add", "update"}) {
    scatter(kind, "tensor<9x40xf32>", "tensor<2x15x1xi32>", "tensor<2x15x40xf32>", "0");
    scatter(kind, "tensor<9x7xf32>", "tensor<40x2xi32>", "tensor<40xf32>", "0, 1");
    scatter(kind, "tensor<4x9xf32>", "tensor<12x1xi32>", "tensor<12x4xf32>", "1");
    scatter(kind, "tensor<9xi32>", "tensor<12x1xi32>", "tensor<12xi32>", "0");
  }
}

TEST_CASE("random numbers have the interpreter's bits") {
  KernelHarness harness;
  harness.low = 0;
  harness.high = 4e9;
  for (int round = 0; round < 3; ++round) {
    harness.check(kernel("%k: tensor<2xui32>, %o: tensor<2xi64>", "tensor<5x7xui32>",
                         "%0 = graph.random_bits %k at %o of [100, 70] : tensor<2xi64> -> "
                         "tensor<5x7xui32>\nreturn %0 : tensor<5x7xui32>"));
    for (std::string t : {"i32", "ui32", "i64", "ui64"})
      harness.check(
          kernel("%k: tensor<2xui32>, %d: tensor<" + t + ">", "tensor<2xui32>",
                 "%0 = graph.fold_in %k, %d : tensor<" + t + ">\nreturn %0 : tensor<2xui32>"));
  }
}
