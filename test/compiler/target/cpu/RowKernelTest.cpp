//===- RowKernelTest.cpp - kernels that walk rows in phases ---------------===//
#include "compiler/conversion/GraphToLoops/RowPlan.h"
#include "test/compiler/target/cpu/KernelHarness.h"
#include <catch2/catch.hpp>

using namespace mlir;
using namespace minigptc;

/// Replaces each $NAME by a type.
static std::string expand(std::string text,
                          std::initializer_list<std::pair<const char *, std::string>> types) {
  for (auto &[name, type] : types)
    for (size_t at; (at = text.find(name)) != std::string::npos;)
      text.replace(at, std::strlen(name), type);
  return text;
}

static std::string tensor(std::initializer_list<int64_t> shape, const std::string &element) {
  std::string type = "tensor<";
  for (int64_t size : shape)
    type += std::to_string(size) + "x";
  return type + element + ">";
}

/// Rows in two dimensions (so that their number is taken apart), at odd sizes.
static void forEachSize(const std::function<void(int64_t, int64_t, int64_t)> &body) {
  for (int64_t columns : {1, 7, 15, 16, 17, 33, 64, 211, 0})
    for (auto [outer, inner] : {std::pair(1, 1), {2, 3}, {5, 1}, {1, 4}, {0, 2}})
      body(outer, inner, columns);
}

static graph::kernel::RowPlan planOf(KernelHarness &harness, const std::string &text) {
  OwningOpRef<ModuleOp> module = harness.parse(text);
  auto plan = graph::kernel::planRows(*module->getOps<func::FuncOp>().begin());
  REQUIRE(plan);
  return *plan;
}

static const char *kSoftmax = R"(
  func.func private @k(%x: $F) -> $F attributes {exec.kernel} {
    %m = graph.reduce max, %x, dims = [2] : ($F) -> $R
    %mb = graph.broadcast_in_dim %m, dims = [0, 1] : ($R) -> $F
    %d = graph.subtract %x, %mb : $F
    %e = graph.exponential %d : $F
    %s = graph.reduce sum, %e, dims = [2] : ($F) -> $R
    %sb = graph.broadcast_in_dim %s, dims = [0, 1] : ($R) -> $F
    %y = graph.divide %e, %sb : $F
    return %y : $F
  })";

static std::string softmax(int64_t a, int64_t b, int64_t c, const std::string &element = "f32") {
  return expand(kSoftmax, {{"$F", tensor({a, b, c}, element)}, {"$R", tensor({a, b}, element)}});
}

TEST_CASE("softmax in three phases") {
  KernelHarness harness;
  forEachSize([&](int64_t a, int64_t b, int64_t c) {
    harness.check(softmax(a, b, c));
    harness.check(softmax(a, b, c, "f64"));
  });
  graph::kernel::RowPlan plan = planOf(harness, softmax(2, 3, 100));
  CHECK(plan.phases.size() == 3);
  CHECK(plan.items == 6);
  CHECK(plan.kept.size() == 1); // the exponentials
  CHECK(plan.kept.front().phase == 1);
  CHECK(plan.scratch == 448);
  CHECK(plan.argumentInRow.front());
}

TEST_CASE("a row that does not fit its scratch memory is computed again") {
  KernelHarness harness;
  harness.check(softmax(1, 2, KernelHarness::isEmulated ? 30001 : 300001));
  CHECK(planOf(harness, softmax(1, 2, 300001)).kept.empty());
}

// Rows as [B, T, C], [B·T, C] and [.., 1]; outputs of the full shape and one per row.
TEST_CASE("residual and norm, with the rows' statistics") {
  KernelHarness harness;
  forEachSize([&](int64_t a, int64_t b, int64_t c) {
    if (c == 0)
      return;
    harness.check(expand(
        R"(
  func.func private @k(%x: $F, %r: $G, %w: $W) -> ($F, $G, $S, $V) attributes {exec.kernel} {
    %r3 = graph.reshape %r : ($G) -> $F
    %h = graph.add %x, %r3 : $F
    %q = graph.multiply %h, %h : $F
    %s = graph.reduce sum, %q, dims = [2] : ($F) -> $R
    %s1 = graph.reshape %s : ($R) -> $S
    %n = graph.constant dense<16.0> : $S
    %mean = graph.divide %s1, %n : $S
    %e = graph.constant dense<1.0e-3> : $S
    %me = graph.add %mean, %e : $S
    %i = graph.rsqrt %me : $S
    %ib = graph.broadcast_in_dim %i, dims = [0, 1, 2] : ($S) -> $F
    %xn = graph.multiply %h, %ib : $F
    %wb = graph.broadcast_in_dim %w, dims = [2] : ($W) -> $F
    %y = graph.multiply %xn, %wb : $F
    %y2 = graph.reshape %y : ($F) -> $G
    %v = graph.reshape %i : ($S) -> $V
    return %h, %y2, %i, %v : $F, $G, $S, $V
  })",
        {{"$F", tensor({a, b, c}, "f32")},
         {"$G", tensor({a * b, c}, "f32")},
         {"$S", tensor({a, b, 1}, "f32")},
         {"$R", tensor({a, b}, "f32")},
         {"$V", tensor({a * b}, "f32")},
         {"$W", tensor({c}, "f32")}}));
  });
}

static const char *kNormBackward = R"(
  func.func private @k(%x: $F, %g: $F, %w: $W) -> ($F, $P, $P) attributes {exec.kernel} {
    %c = graph.reshape %x : ($F) -> $C
    %q = graph.multiply %c, %c : $C
    %s = graph.reduce sum, %q, dims = [2] : ($C) -> $R
    %one = graph.constant dense<1.0> : $R
    %s1 = graph.add %s, %one : $R
    %i = graph.rsqrt %s1 : $R
    %ib = graph.broadcast_in_dim %i, dims = [0, 1] : ($R) -> $C
    %xn = graph.multiply %c, %ib : $C
    %gc = graph.reshape %g : ($F) -> $C
    %wb = graph.broadcast_in_dim %w, dims = [2] : ($W) -> $C
    %gw = graph.multiply %gc, %wb : $C
    %gx = graph.multiply %gw, %xn : $C
    %t = graph.reduce sum, %gx, dims = [2] : ($C) -> $R
    %tb = graph.broadcast_in_dim %t, dims = [0, 1] : ($R) -> $C
    %a = graph.multiply %xn, %tb : $C
    %d = graph.subtract %gw, %a : $C
    %dx = graph.multiply %d, %ib : $C
    %dxf = graph.reshape %dx : ($C) -> $F
    %gn = graph.multiply %gc, %xn : $C
    %dw = graph.reduce sum, %gn, dims = [1] : ($C) -> $P
    %db = graph.reduce sum, %gc, dims = [1] : ($C) -> $P
    return %dxf, %dw, %db : $F, $P, $P
  })";

static std::string normBackward(int64_t chunks, int64_t rows, int64_t c) {
  return expand(kNormBackward, {{"$F", tensor({rows, chunks, c}, "f32")},
                                {"$C", tensor({chunks, rows, c}, "f32")},
                                {"$R", tensor({chunks, rows}, "f32")},
                                {"$P", tensor({chunks, c}, "f32")},
                                {"$W", tensor({c}, "f32")}});
}

TEST_CASE("a norm's gradient, with sums down the columns of blocks of rows") {
  KernelHarness harness;
  harness.tolerance = 1e-5;
  forEachSize([&](int64_t a, int64_t b, int64_t c) {
    harness.check(normBackward(a, b, c));
    harness.check(normBackward(b, a, c));
  });
  graph::kernel::RowPlan plan = planOf(harness, normBackward(4, 5, 64));
  CHECK(plan.items == 4);
  CHECK(plan.rowsPerItem == 5);
  CHECK(plan.columnOutputs.size() == 2);
}

// Targets by comparison with an iota, a value per row of another type.
TEST_CASE("cross-entropy of rows") {
  KernelHarness harness;
  forEachSize([&](int64_t a, int64_t b, int64_t c) {
    if (c == 0)
      return;
    harness.check(expand(
        R"(
  func.func private @k(%x: $F, %t: $T) -> ($R, $F) attributes {exec.kernel} {
    %m = graph.reduce max, %x, dims = [2] : ($F) -> $R
    %mb = graph.broadcast_in_dim %m, dims = [0, 1] : ($R) -> $F
    %d = graph.subtract %x, %mb : $F
    %e = graph.exponential %d : $F
    %s = graph.reduce sum, %e, dims = [2] : ($F) -> $R
    %l = graph.log %s : $R
    %i = graph.iota dim = 2 : $I
    %tb = graph.broadcast_in_dim %t, dims = [0, 1] : ($T) -> $I
    %is = graph.compare EQ, %i, %tb : ($I, $I) -> $B
    %zero = graph.constant dense<0.0> : $F
    %p = graph.select %is, %d, %zero : $B, $F
    %ps = graph.reduce sum, %p, dims = [2] : ($F) -> $R
    %loss = graph.subtract %l, %ps : $R
    %sb = graph.broadcast_in_dim %s, dims = [0, 1] : ($R) -> $F
    %q = graph.divide %e, %sb : $F
    %one = graph.constant dense<1.0> : $F
    %h = graph.select %is, %one, %zero : $B, $F
    %dx = graph.subtract %q, %h : $F
    return %loss, %dx : $R, $F
  })",
        {{"$F", tensor({a, b, c}, "f32")},
         {"$R", tensor({a, b}, "f32")},
         {"$T", tensor({a, b}, "i32")},
         {"$I", tensor({a, b, c}, "i32")},
         {"$B", tensor({a, b, c}, "i1")}}));
  });
}

// Reads of other rows and columns: recomputed, and the input is not overwritten.
TEST_CASE("a row kernel that also reads elsewhere") {
  KernelHarness harness;
  std::string text = R"(
  func.func private @k(%x: tensor<33x33xf32>) -> tensor<33x33xf32> attributes {exec.kernel} {
    %e = graph.exponential %x : tensor<33x33xf32>
    %s = graph.reduce sum, %e, dims = [1] : (tensor<33x33xf32>) -> tensor<33xf32>
    %sr = graph.broadcast_in_dim %s, dims = [0] : (tensor<33xf32>) -> tensor<33x33xf32>
    %sc = graph.broadcast_in_dim %s, dims = [1] : (tensor<33xf32>) -> tensor<33x33xf32>
    %t = graph.transpose %e, dims = [1, 0] : (tensor<33x33xf32>) -> tensor<33x33xf32>
    %a = graph.divide %e, %sr : tensor<33x33xf32>
    %b = graph.divide %t, %sc : tensor<33x33xf32>
    %y = graph.subtract %a, %b : tensor<33x33xf32>
    return %y : tensor<33x33xf32>
  })";
  harness.check(text);
  CHECK_FALSE(planOf(harness, text).argumentInRow.front());
}

// A linear layer's gradient through an activation: no reduction along rows.
TEST_CASE("column sums beside a full output") {
  KernelHarness harness;
  harness.tolerance = 1e-5;
  for (int64_t c : {1, 16, 45})
    harness.check(expand(R"(
  func.func private @k(%x: $F, %g: $F) -> ($F, $P) attributes {exec.kernel} {
    %t = graph.tanh %x : $F
    %d = graph.multiply %t, %g : $F
    %s = graph.reduce sum, %d, dims = [1] : ($F) -> $P
    return %d, %s : $F, $P
  })",
                         {{"$F", tensor({3, 7, c}, "f32")}, {"$P", tensor({3, c}, "f32")}}));
}

TEST_CASE("integers and truth values along rows") {
  KernelHarness harness;
  for (int64_t c : {1, 15, 16, 50})
    harness.check(expand(R"(
  func.func private @k(%x: $F) -> ($R, $B, $F) attributes {exec.kernel} {
    %m = graph.reduce min, %x, dims = [1] : ($F) -> $R
    %mb = graph.broadcast_in_dim %m, dims = [0] : ($R) -> $F
    %p = graph.compare GT, %x, %mb : ($F, $F) -> $Q
    %any = graph.reduce any, %p, dims = [1] : ($Q) -> $B
    %d = graph.subtract %x, %mb : $F
    return %m, %any, %d : $R, $B, $F
  })",
                         {{"$F", tensor({5, c}, "i32")},
                          {"$R", tensor({5}, "i32")},
                          {"$Q", tensor({5, c}, "i1")},
                          {"$B", tensor({5}, "i1")}}));
}
