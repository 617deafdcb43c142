//===- AttentionTest.cpp - attention's kernels against the interpreter ----===//
#include "compiler/interpreter/Interpreter.h"
#include "compiler/target/cpu/KernelPlan.h"
#include "dialects/graph/IR/Graph.h"
#include "test/compiler/target/cpu/KernelHarness.h"
#include <catch2/catch.hpp>

#include <optional>
#include <tuple>

using namespace mlir;
using namespace minigptc;
using interpreter::Tensor;

namespace {
/// An attention to try.
struct Case {
  int64_t batch = 2, queries = 17, keys = 17, heads = 2, groups = 2, width = 6, valueWidth = 6;
  std::string kind = "causal", type = "f32";
  int64_t window = 0;
  int64_t maskBatch = 0, maskHeads = 0; ///< of an explicit mask
  bool segments = false;
  std::optional<int> offset = std::nullopt;
};

std::string tensor(std::initializer_list<int64_t> shape, const std::string &type) {
  std::string text = "tensor<";
  for (int64_t size : shape)
    text += std::to_string(size) + "x";
  return text + type + ">";
}

/// The kernel of the forward or the backward pass.
std::string kernel(const Case &c, bool isGrad) {
  std::string q = tensor({c.batch, c.queries, c.heads, c.width}, c.type);
  std::string k = tensor({c.batch, c.keys, c.groups, c.width}, c.type);
  std::string v = tensor({c.batch, c.keys, c.groups, c.valueWidth}, c.type);
  std::string y = tensor({c.batch, c.queries, c.heads, c.valueWidth}, c.type);
  std::string lse = tensor({c.batch, c.heads, c.queries}, c.type == "bf16" ? "f32" : c.type);
  std::string parameters = "%q: " + q + ", %k: " + k + ", %v: " + v, operands = "%q, %k, %v";
  std::string types = q + ", " + k + ", " + v, results = y + ", " + lse;
  if (isGrad) {
    parameters += ", %y: " + y + ", %lse: " + lse + ", %dy: " + y;
    operands += ", %y, %lse, %dy";
    types += ", " + results;
    results = q + ", " + k + ", " + v;
  }
  std::string masks;
  if (c.maskBatch) {
    std::string mask = tensor({c.maskBatch, c.maskHeads, c.queries, c.keys}, "i1");
    parameters += ", %mask: " + mask;
    masks += " mask(%mask : " + mask + ")";
  }
  if (c.segments) {
    std::string qs = tensor({c.batch, c.queries}, "i32"), ks = tensor({c.batch, c.keys}, "i32");
    parameters += ", %qs: " + qs + ", %ks: " + ks;
    masks += " segments(%qs, %ks : " + qs + ", " + ks + ")";
  }
  if (c.offset) {
    parameters += ", %offset: tensor<i32>";
    masks += " offset(%offset : tensor<i32>)";
  }
  if (c.window)
    masks += " window = " + std::to_string(c.window);
  return "func.func private @k(" + parameters + ") -> (" + results +
         ") attributes {exec.kernel} {\n%0:" + (isGrad ? "3" : "2") + " = graph.attention" +
         (isGrad ? "_grad " : " ") + operands + masks + " scale = 0.3 kind = " + c.kind + " : " +
         types + " -> " + results + "\nreturn " + (isGrad ? "%0#0, %0#1, %0#2" : "%0#0, %0#1") +
         " : " + results + "\n}";
}

Tensor integers(KernelHarness &harness, std::initializer_list<int64_t> shape, int values) {
  Tensor tensor(RankedTensorType::get(shape, IntegerType::get(&harness.context, 32)));
  for (int64_t i = 0; i < tensor.getNumElements(); ++i)
    tensor.setInt(i, int64_t(harness.generator() % values));
  return tensor;
}

/// The operands that say which keys a query attends to, in the op's order.
std::vector<Tensor> makeMasks(KernelHarness &harness, const Case &c) {
  std::vector<Tensor> masks;
  if (c.maskBatch)
    masks.push_back(harness.random(RankedTensorType::get(
        {c.maskBatch, c.maskHeads, c.queries, c.keys}, IntegerType::get(&harness.context, 1))));
  if (c.segments) {
    masks.push_back(integers(harness, {c.batch, c.queries}, 3));
    masks.push_back(integers(harness, {c.batch, c.keys}, 3));
  }
  if (c.offset) {
    Tensor offset(RankedTensorType::get({}, IntegerType::get(&harness.context, 32)));
    offset.setInt(0, *c.offset);
    masks.push_back(offset);
  }
  return masks;
}

/// Both passes; the backward one on the forward one's true results.
void check(KernelHarness &harness, const Case &c) {
  std::vector<Tensor> masks = makeMasks(harness, c), inputs;
  std::string text = kernel(c, /*isGrad=*/false);
  OwningOpRef<ModuleOp> module = harness.parse(text);
  auto function = *module->getOps<func::FuncOp>().begin();
  for (Type type : function.getArgumentTypes().take_front(3))
    inputs.push_back(harness.random(cast<RankedTensorType>(type)));
  std::vector<Tensor> forward = inputs;
  forward.insert(forward.end(), masks.begin(), masks.end());
  harness.check(text, forward);

  auto results = interpreter::evaluate(*module, function.getSymName(), forward);
  REQUIRE(succeeded(results));
  inputs.insert(inputs.end(), results->begin(), results->end());
  inputs.push_back(harness.random(cast<RankedTensorType>(function.getResultTypes()[0])));
  inputs.insert(inputs.end(), masks.begin(), masks.end());
  harness.check(kernel(c, /*isGrad=*/true), inputs);
}

} // namespace

TEST_CASE("attention of odd sizes") {
  KernelHarness harness;
  harness.low = -1, harness.high = 1, harness.tolerance = 1e-5;
  for (auto [queries, keys] :
       {std::pair<int64_t, int64_t>{1, 1}, {1, 64}, {5, 17}, {130, 130}, {64, 17}, {2, 130}})
    for (std::string kind : {"none", "causal"})
      check(harness, {.queries = queries, .keys = keys, .kind = kind});
  for (auto [width, valueWidth] :
       {std::pair<int64_t, int64_t>{32, 32}, {64, 6}, {6, 80}, {80, 64}, {1, 1}, {40, 24}})
    check(harness, {.queries = 19, .keys = 23, .width = width, .valueWidth = valueWidth});
}

TEST_CASE("attention of bf16: widened where it is read, rounded where it is written") {
  KernelHarness harness;
  harness.low = -1, harness.high = 1, harness.tolerance = 1.0 / 128;
  for (auto [queries, keys] : {std::pair<int64_t, int64_t>{1, 1}, {5, 17}, {130, 130}, {64, 17}})
    for (std::string kind : {"none", "causal"})
      check(harness, {.queries = queries, .keys = keys, .kind = kind, .type = "bf16"});
  check(harness, {.queries = 19, .keys = 23, .width = 40, .valueWidth = 24, .type = "bf16"});
  check(harness, {.heads = 6, .width = 33, .valueWidth = 16, .type = "bf16"});
}

TEST_CASE("attention of grouped heads") {
  KernelHarness harness;
  harness.low = -1, harness.high = 1, harness.tolerance = 1e-5;
  for (auto [heads, groups] : {std::pair<int64_t, int64_t>{1, 1}, {6, 2}, {3, 1}})
    check(harness, {.heads = heads, .groups = groups});
}

TEST_CASE("every mask of attention") {
  KernelHarness harness;
  harness.low = -1, harness.high = 1, harness.tolerance = 1e-5;
  Case c{.heads = 4};
  for (auto [kind, window, queries, keys] :
       {std::tuple<std::string, int64_t, int64_t, int64_t>{"none", 0, 21, 70},
        {"causal", 0, 17, 17},
        {"sliding_window", 1, 17, 17},
        {"sliding_window", 5, 70, 40},
        {"sliding_window", 48, 21, 70}})
    for (auto [maskBatch, maskHeads] : {std::pair<int64_t, int64_t>{0, 0}, {1, 1}, {2, 4}})
      for (bool segments : {false, true}) {
        c.kind = kind, c.window = window, c.queries = queries, c.keys = keys;
        c.maskBatch = maskBatch, c.maskHeads = maskHeads, c.segments = segments;
        check(harness, c);
      }
}

TEST_CASE("queries at an offset, also where no key is left") {
  KernelHarness harness;
  harness.low = -1, harness.high = 1, harness.tolerance = 1e-5;
  // With 2, strips end amid a tile of keys: only cleared margins keep dK and dV right.
  for (int offset : {2, 40, 2147483647, -4, -2147483647 - 1})
    for (std::string kind : {"causal", "sliding_window"})
      check(harness, {.queries = 40,
                      .keys = 45,
                      .kind = kind,
                      .window = kind == "sliding_window" ? 9 : 0,
                      .offset = offset});
  check(harness, {.kind = "none", .offset = 5});
}

TEST_CASE("attention in f64") {
  KernelHarness harness;
  harness.low = -1, harness.high = 1, harness.tolerance = 1e-12;
  check(harness, {.queries = 1, .keys = 9, .kind = "none", .type = "f64"});
  check(harness,
        {.queries = 33, .keys = 33, .width = 5, .valueWidth = 7, .type = "f64", .segments = true});
}
