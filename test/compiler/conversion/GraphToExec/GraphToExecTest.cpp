//===- GraphToExecTest.cpp - planned memory computes the same -------------===//
#include "compiler/conversion/GraphToExec/MemoryReport.h"
#include "test/compiler/conversion/GraphToExec/ExecRunner.h"
#include "test/support/Compare.h"
#include "test/support/ModuleRunner.h"

#include <catch2/catch.hpp>

using namespace minigptc;
using namespace minigptc::test;

namespace {
/// Layers called twice, attention, an update with donated state, host scalars,
/// products of every kind, values that are returned twice or exchanged.
constexpr const char *kProgram = R"(
module attributes {minigptc.stage = "step"} {
func.func private @layer(%x: tensor<2x8x16xf32>, %w: tensor<16x32xf32>, %w2: tensor<32x16xf32>, %s: tensor<16xf32>) -> (tensor<2x8x16xf32>, tensor<2x8x16xf32>) {
  %n = graph.rms_norm %x, %s epsilon = 1.0e-5 : tensor<2x8x16xf32>, tensor<16xf32>
  %h = graph.dot_general %n, %w, batching_dims = [] x [], contracting_dims = [2] x [0] : (tensor<2x8x16xf32>, tensor<16x32xf32>) -> tensor<2x8x32xf32>
  %g = graph.silu %h : tensor<2x8x32xf32>
  %o = graph.dot_general %g, %w2, batching_dims = [] x [], contracting_dims = [2] x [0] : (tensor<2x8x32xf32>, tensor<32x16xf32>) -> tensor<2x8x16xf32>
  %q = graph.reshape %o : (tensor<2x8x16xf32>) -> tensor<2x8x2x8xf32>
  %a, %lse = graph.attention %q, %q, %q scale = 0.35 kind = causal : tensor<2x8x2x8xf32>, tensor<2x8x2x8xf32>, tensor<2x8x2x8xf32> -> tensor<2x8x2x8xf32>, tensor<2x2x8xf32>
  %ar = graph.reshape %a : (tensor<2x8x2x8xf32>) -> tensor<2x8x16xf32>
  %y = graph.add %x, %ar : tensor<2x8x16xf32>
  return %y, %n : tensor<2x8x16xf32>, tensor<2x8x16xf32>
}
func.func private @schedule(%c: tensor<f64>) -> (tensor<f64>, tensor<f64>) attributes {graph.host} {
  %one = graph.constant dense<1.0> : tensor<f64>
  %0 = graph.add %c, %one : tensor<f64>
  %1 = graph.divide %one, %0 : tensor<f64>
  return %1, %0 : tensor<f64>, tensor<f64>
}
func.func @step(%ids: tensor<2x8xi32>, %table: tensor<40x16xf32> {graph.donate = 1 : i64}, %w: tensor<16x32xf32> {graph.donate = 0 : i64},
    %w2: tensor<32x16xf32> {graph.donate = 4 : i64}, %m: tensor<16x32xf32> {graph.donate = 2 : i64}, %count: tensor<i64> {graph.donate = 6 : i64},
    %other: tensor<32x16xf32> {graph.donate = 5 : i64})
    -> (tensor<16x32xf32>, tensor<40x16xf32>, tensor<16x32xf32>, tensor<f32>, tensor<32x16xf32>, tensor<32x16xf32>, tensor<i64>, tensor<256xf32>, tensor<f32>) attributes {graph.entry} {
  %s = graph.constant dense<[1.0, 2.0, 3.0, 4.0, 1.0, 2.0, 3.0, 4.0, 1.0, 2.0, 3.0, 4.0, 1.0, 2.0, 3.0, 4.0]> : tensor<16xf32>
  %x = graph.embedding %table, %ids : (tensor<40x16xf32>, tensor<2x8xi32>) -> tensor<2x8x16xf32>
  %y:2 = call @layer(%x, %w, %w2, %s) : (tensor<2x8x16xf32>, tensor<16x32xf32>, tensor<32x16xf32>, tensor<16xf32>) -> (tensor<2x8x16xf32>, tensor<2x8x16xf32>)
  %z:2 = call @layer(%y#0, %w, %w2, %s) : (tensor<2x8x16xf32>, tensor<16x32xf32>, tensor<32x16xf32>, tensor<16xf32>) -> (tensor<2x8x16xf32>, tensor<2x8x16xf32>)
  %g = graph.dot_general %z#0, %y#1, batching_dims = [] x [], contracting_dims = [0, 1] x [0, 1] : (tensor<2x8x16xf32>, tensor<2x8x16xf32>) -> tensor<16x16xf32>
  %gg = graph.concatenate %g, %g dim = 1 : (tensor<16x16xf32>, tensor<16x16xf32>) -> tensor<16x32xf32>
  %sq = graph.multiply %gg, %gg : tensor<16x32xf32>
  %norm = graph.reduce sum, %sq, dims = [0, 1] : (tensor<16x32xf32>) -> tensor<f32>
  %lr, %c1 = graph.host_call @schedule(%count) : (tensor<i64>) -> (tensor<f32>, tensor<f32>)
  %p, %m1, %v = graph.adamw_update %w, %gg, %m, %m, %lr, %c1, %c1 {beta1 = 0.9 : f64, beta2 = 0.95 : f64, epsilon = 1.0e-8 : f64, weightDecay = 0.1 : f64} : (tensor<16x32xf32>, tensor<16x32xf32>, tensor<16x32xf32>, tensor<16x32xf32>, tensor<f32>, tensor<f32>, tensor<f32>) -> (tensor<16x32xf32>, tensor<16x32xf32>, tensor<16x32xf32>)
  %rows = graph.reshape %z#1 : (tensor<2x8x16xf32>) -> tensor<16x16xf32>
  %at = graph.reshape %ids : (tensor<2x8xi32>) -> tensor<16x1xi32>
  %t = graph.scatter add, %table[%at], %rows dims = [0] : (tensor<40x16xf32>, tensor<16x1xi32>, tensor<16x16xf32>) -> tensor<40x16xf32>
  %one = graph.constant dense<1> : tensor<i64>
  %count1 = graph.add %count, %one : tensor<i64>
  %flat = graph.reshape %z#0 : (tensor<2x8x16xf32>) -> tensor<256xf32>
  return %p, %t, %m1, %norm, %other, %w2, %count1, %flat, %norm : tensor<16x32xf32>, tensor<40x16xf32>, tensor<16x32xf32>, tensor<f32>, tensor<32x16xf32>, tensor<32x16xf32>, tensor<i64>, tensor<256xf32>, tensor<f32>
}
})";

bool isInteger(const Tensor &tensor) { return tensor.getType().getElementType().isInteger(); }

/// Integers exactly, floats norm-wise: the order of sums differs.
std::string compare(const Tensor &actual, const Tensor &expected) {
  return isInteger(expected) ? difference(actual, expected)
                             : gradientDifference(actual, expected, 0);
}

std::vector<Tensor> makeInputs(ModuleRunner &runner, mlir::ModuleOp module, llvm::StringRef entry) {
  std::vector<Tensor> inputs;
  for (mlir::Type type : module.lookupSymbol<mlir::func::FuncOp>(entry).getArgumentTypes()) {
    inputs.push_back(runner.random(mlir::cast<mlir::RankedTensorType>(type), inputs.size() + 1));
    for (int64_t i = 0; i < inputs.back().getNumElements(); ++i) // Ids, counts and second moments.
      if (isInteger(inputs.back()))
        inputs.back().setInt(i, std::abs(inputs.back().getInt(i)));
      else
        inputs.back().setFloat(i, std::abs(inputs.back().getFloat(i)));
  }
  return inputs;
}
} // namespace

TEST_CASE("a step in planned memory computes what its functions compute") {
  ModuleRunner runner;
  auto module = runner.parse(kProgram);
  std::vector<Tensor> inputs = makeInputs(runner, *module, "step");
  std::vector<Tensor> expected = runner.run(*module, "step", inputs);
  runner.runPasses(*module, "minigptc-to-schedule");
  std::vector<Tensor> scheduled = runner.run(*module, "step", inputs);
  runner.runPasses(*module, "minigptc-to-exec");
  std::vector<Tensor> actual = ExecRunner(*module).run("step", inputs);
  REQUIRE(actual.size() == expected.size());
  for (size_t i = 0; i < actual.size(); ++i) {
    CAPTURE(i);
    CHECK(compare(scheduled[i], expected[i]) == "");
    CHECK(compare(actual[i], expected[i]) == "");
  }
}

TEST_CASE("the memory report explains all bytes of an entry") {
  ModuleRunner runner;
  auto module = runner.parse(kProgram);
  runner.runPasses(*module, "minigptc-to-exec");
  auto entry = module->lookupSymbol<exec::BlockOp>("step");
  MemoryReport report = computeMemoryReport(*module, entry);
  int64_t arguments = 0, sum = 0;
  for (size_t i = 0; i < entry.getArgumentTypes().size(); ++i) {
    bool donated = i < entry.getNumInputs() && entry.getArgAttr(i, "graph.donate");
    if (!donated) // A donated input's output counts.
      arguments += exec::getBufferBytes(mlir::cast<mlir::MemRefType>(entry.getArgumentTypes()[i]));
  }
  for (const MemoryItem &item : report.items) {
    CHECK(item.bytes > 0);
    CHECK(!item.tensor.empty());
    sum += item.bytes;
  }
  CHECK(report.entry == "step");
  CHECK(report.total == sum);
  CHECK(report.total == arguments + int64_t(entry.getFrameSize()));
}
