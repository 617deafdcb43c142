//===- GroupedTest.cpp - launches over groups, and rows in every layout ---===//
#include "compiler/interpreter/Interpreter.h"
#include "compiler/target/cuda/KernelPlan.h"
#include "test/compiler/target/cpu/KernelHarness.h"
#include "test/compiler/target/cuda/CudaKernels.h"
#include <catch2/catch.hpp>

#include <cmath>
#include <cstring>

using namespace mlir;
using namespace minigptc;
using Tensor = KernelHarness::Tensor;

/// Three groups in one launch give what three launches would.
static void checkGroups(const std::string &text) {
  INFO(text);
  KernelHarness harness;
  OwningOpRef<ModuleOp> module = harness.parse(text);
  auto kernel = *module->getOps<func::FuncOp>().begin();
  std::vector<std::vector<Tensor>> groups(3);
  for (std::vector<Tensor> &inputs : groups)
    for (Type type : kernel.getArgumentTypes())
      inputs.push_back(harness.random(cast<RankedTensorType>(type)));
  auto together = runEmulated(kernel, groups, {.seed = 3});
  REQUIRE(together.size() == groups.size());
  for (size_t group = 0; group < groups.size(); ++group) {
    auto alone = runEmulated(kernel, {groups[group]}, {});
    for (size_t i = 0; i < alone.front().size(); ++i) {
      INFO("group " << group << ", result " << i);
      compareBits(together[group][i], alone.front()[i]);
    }
  }
}

TEST_CASE("one launch over groups of buffers gives the bits of single launches") {
  // An update in place of nobody: parameter, gradient and moment, flat with a rest.
  checkGroups(R"(
  func.func private @k(%p: tensor<33x31xf32>, %g: tensor<33x31xf32>, %rate: tensor<f32>)
      -> (tensor<33x31xf32>, tensor<33x31xf32>) attributes {exec.kernel} {
    %r = graph.broadcast_in_dim %rate, dims = [] : (tensor<f32>) -> tensor<33x31xf32>
    %u = graph.multiply %g, %r : tensor<33x31xf32>
    %q = graph.subtract %p, %u : tensor<33x31xf32>
    return %q, %u : tensor<33x31xf32>, tensor<33x31xf32>
  })");
  // A norm of a gradient.
  checkGroups(R"(
  func.func private @k(%g: tensor<5000xf32>) -> tensor<f32> attributes {exec.kernel} {
    %q = graph.multiply %g, %g : tensor<5000xf32>
    %s = graph.reduce sum, %q, dims = [0] : (tensor<5000xf32>) -> tensor<f32>
    return %s : tensor<f32>
  })");
  checkGroups(R"(
  func.func private @k(%x: tensor<37x70xf32>) -> tensor<70x37xf32> attributes {exec.kernel} {
    %t = graph.transpose %x, dims = [1, 0] : (tensor<37x70xf32>) -> tensor<70x37xf32>
    return %t : tensor<70x37xf32>
  })");
}

/// Softmax, and the sums down the columns of chunks of rows.
static std::string rows(int64_t chunks, int64_t perChunk, int64_t columns,
                        const std::string &element) {
  std::string c = std::to_string(columns),
              r = std::to_string(chunks) + "x" + std::to_string(perChunk);
  std::string full = "tensor<" + r + "x" + c + "xf32>", row = "tensor<" + r + "xf32>";
  std::string given = "tensor<" + r + "x" + c + "x" + element + ">";
  std::string column = "tensor<" + std::to_string(chunks) + "x" + c + "xf32>";
  return "func.func private @k(%g: " + given + ") -> (" + given + ", " + column + ", " + row +
         ") attributes {exec.kernel} {\n%x = graph.convert %g : (" + given + ") -> " + full +
         "\n%m = graph.reduce max, %x, dims = [2] : (" + full + ") -> " + row +
         "\n%mb = graph.broadcast_in_dim %m, dims = [0, 1] : (" + row + ") -> " + full +
         "\n%d = graph.subtract %x, %mb : " + full + "\n%e = graph.exponential %d : " + full +
         "\n%s = graph.reduce sum, %e, dims = [2] : (" + full + ") -> " + row +
         "\n%sb = graph.broadcast_in_dim %s, dims = [0, 1] : (" + row + ") -> " + full +
         "\n%y = graph.divide %e, %sb : " + full + "\n%c = graph.reduce sum, %y, dims = [1] : (" +
         full + ") -> " + column + "\n%o = graph.convert %y : (" + full + ") -> " + given +
         "\nreturn %o, %c, %s : " + given + ", " + column + ", " + row + "\n}";
}

TEST_CASE("rows by warps and by blocks, in registers and in loops") {
  KernelHarness harness;
  harness.tolerance = 1e-5;
  struct Case {
    int64_t chunks, perChunk, columns;
    std::string element;
    int64_t group;
    bool unrolled;
  };
  for (const Case &c : std::vector<Case>{{3, 5, 33, "f32", 32, true},
                                         {2, 9, 256, "f32", 32, true},
                                         {2, 3, 1000, "f32", 32, true},
                                         {1, 2, 1100, "f32", 128, true},
                                         {2, 2, 4097, "f32", 256, true},
                                         {1, 3, 9000, "f32", 512, false}}) {
    std::string text = rows(c.chunks, c.perChunk, c.columns, c.element);
    OwningOpRef<ModuleOp> module = harness.parse(text);
    cuda::KernelPlan plan = cuda::planKernel(*module->getOps<func::FuncOp>().begin());
    INFO(c.columns);
    REQUIRE(plan.rows);
    CHECK(plan.rowLayout.group == c.group);
    CHECK(plan.rowLayout.unrolled == c.unrolled);
    harness.check(text);
  }
  harness.tolerance = 1.0 / 64;
  for (int64_t columns : {40, 256, 1101})
    harness.check(rows(2, 3, columns, "bf16"));
}

TEST_CASE("a result in the memory of the input that it is made of") {
  KernelHarness harness;
  harness.tolerance = 1e-5;
  harness.inPlace = 0;
  harness.check(R"(
  func.func private @k(%x: tensor<9x300xf32>) -> tensor<9x300xf32> attributes {exec.kernel} {
    %s = graph.reduce sum, %x, dims = [1] : (tensor<9x300xf32>) -> tensor<9xf32>
    %b = graph.broadcast_in_dim %s, dims = [0] : (tensor<9xf32>) -> tensor<9x300xf32>
    %y = graph.subtract %x, %b : tensor<9x300xf32>
    return %y : tensor<9x300xf32>
  })");
  // The rows of one sequence, whose first dimension has one element: a row's sum is made once, by
  // its warp, and not by every thread from memory that others write.
  harness.check(R"(
  func.func private @k(%x: tensor<1x9x40xf32>, %r: tensor<1x9x40xf32>) -> (tensor<1x9x40xf32>, tensor<1x9x40xf32>) attributes {exec.kernel} {
    %h = graph.add %x, %r : tensor<1x9x40xf32>
    %s = graph.reduce sum, %h, dims = [2] : (tensor<1x9x40xf32>) -> tensor<1x9xf32>
    %b = graph.broadcast_in_dim %s, dims = [0, 1] : (tensor<1x9xf32>) -> tensor<1x9x40xf32>
    %y = graph.subtract %h, %b : tensor<1x9x40xf32>
    return %h, %y : tensor<1x9x40xf32>, tensor<1x9x40xf32>
  })");
  harness.check(R"(
  func.func private @k(%x: tensor<1003xf32>, %y: tensor<1003xf32>) -> tensor<1003xf32> attributes {exec.kernel} {
    %z = graph.add %x, %y : tensor<1003xf32>
    return %z : tensor<1003xf32>
  })");
  harness.low = -2, harness.high = 12;
  for (int64_t columns : {40, 128, 1500}) {
    std::string t = "tensor<9x" + std::to_string(columns) + "xf32>";
    std::string u = "tensor<50x" + std::to_string(columns) + "xf32>";
    harness.check("func.func private @k(%t: " + t + ", %i: tensor<50x1xi32>, %u: " + u + ") -> " +
                  t +
                  " attributes {exec.kernel} {\n%0 = graph.scatter add, %t[%i], %u dims = [0] : (" +
                  t + ", tensor<50x1xi32>, " + u + ") -> " + t + "\nreturn %0 : " + t + "\n}");
  }
}
