//===- TransposedTest.cpp - nests that read down the columns --------------===//
#include "compiler/target/cpu/KernelPlan.h"
#include "test/compiler/target/cpu/KernelHarness.h"
#include <catch2/catch.hpp>

using namespace mlir;
using namespace minigptc;

using Shape = std::vector<int64_t>;

static std::string tensor(const Shape &shape, const std::string &element) {
  std::string type = "tensor<";
  for (int64_t size : shape)
    type += std::to_string(size) + "x";
  return type + element + ">";
}

static std::string list(const Shape &values) {
  std::string text;
  for (int64_t value : values)
    text += (text.empty() ? "" : ", ") + std::to_string(value);
  return "[" + text + "]";
}

static std::string transpose(const Shape &from, const Shape &permutation,
                             const std::string &element) {
  Shape to;
  for (int64_t dim : permutation)
    to.push_back(from[size_t(dim)]);
  std::string x = tensor(from, element), y = tensor(to, element);
  return "func.func private @k(%x: " + x + ") -> " + y + " attributes {exec.kernel} {\n" +
         "%y = graph.transpose %x, dims = " + list(permutation) + " : (" + x + ") -> " + y +
         "\nreturn %y : " + y + "\n}";
}

static cpu::NestPlan nestOf(KernelHarness &harness, const std::string &text) {
  OwningOpRef<ModuleOp> module = harness.parse(text);
  cpu::KernelPlan plan = cpu::planKernel(*module->getOps<func::FuncOp>().begin());
  REQUIRE(plan.nests.size() == 1);
  return plan.nests.front();
}

TEST_CASE("transposes in tiles, with edges") {
  KernelHarness harness;
  auto check = [&](const Shape &shape, const std::string &element) {
    std::string text = transpose(shape, {1, 0}, element);
    CHECK(nestOf(harness, text).turned == 0);
    harness.check(text);
  };
  for (const Shape &shape : {Shape{64, 64}, {8, 130}, {129, 70}, {16, 9}})
    check(shape, "f32");
  for (const char *element : {"bf16", "f64", "i8", "i1", "ui32"})
    check({37, 70}, element);
}

TEST_CASE("transposes of more dimensions") {
  KernelHarness harness;
  for (const Shape &permutation :
       {Shape{2, 0, 1}, {2, 1, 0}, {0, 2, 1}, {1, 2, 0}, {1, 0, 2}, {0, 1, 2}})
    for (const Shape &shape : {Shape{9, 70, 33}, {66, 1, 20}, {17, 66, 1}}) {
      std::string text = transpose(shape, permutation, "f32");
      INFO(text);
      harness.check(text);
    }
  CHECK(nestOf(harness, transpose({9, 70, 33}, {2, 0, 1}, "f32")).turned == 0);
  CHECK(nestOf(harness, transpose({9, 70, 33}, {0, 2, 1}, "f32")).turned == 1);
  // Rows stay rows, and short ones are read as they lie.
  CHECK(nestOf(harness, transpose({9, 70, 33}, {1, 0, 2}, "f32")).turned == -1);
  CHECK(nestOf(harness, transpose({300, 3}, {1, 0}, "f32")).turned == -1);
  CHECK(nestOf(harness, transpose({66, 1, 20}, {0, 2, 1}, "f32")).turned == -1);
}

TEST_CASE("what is computed before and after a transpose") {
  KernelHarness().check(R"(
  func.func private @k(%a: tensor<70x37xf32>, %b: tensor<37x70xf32>, %c: tensor<70xbf16>,
                       %d: tensor<70x37xbf16>) -> (tensor<37x70xf32>, tensor<37x70xbf16>)
      attributes {exec.kernel} {
    %e = graph.exponential %a : tensor<70x37xf32>
    %t = graph.transpose %e, dims = [1, 0] : (tensor<70x37xf32>) -> tensor<37x70xf32>
    %u = graph.transpose %d, dims = [1, 0] : (tensor<70x37xbf16>) -> tensor<37x70xbf16>
    %v = graph.broadcast_in_dim %c, dims = [1] : (tensor<70xbf16>) -> tensor<37x70xbf16>
    %w = graph.multiply %u, %v : tensor<37x70xbf16>
    %x = graph.convert %w : (tensor<37x70xbf16>) -> tensor<37x70xf32>
    %y = graph.multiply %t, %b : tensor<37x70xf32>
    %z = graph.add %x, %y : tensor<37x70xf32>
    return %z, %w : tensor<37x70xf32>, tensor<37x70xbf16>
  })");
}

TEST_CASE("transposes that turn different dimensions") {
  KernelHarness().check(R"(
  func.func private @k(%a: tensor<20x18x33xf32>, %b: tensor<18x33x20xf32>) -> tensor<33x20x18xf32>
      attributes {exec.kernel} {
    %t = graph.transpose %a, dims = [2, 0, 1] : (tensor<20x18x33xf32>) -> tensor<33x20x18xf32>
    %u = graph.transpose %b, dims = [1, 2, 0] : (tensor<18x33x20xf32>) -> tensor<33x20x18xf32>
    %z = graph.subtract %t, %u : tensor<33x20x18xf32>
    return %z : tensor<33x20x18xf32>
  })");
}
