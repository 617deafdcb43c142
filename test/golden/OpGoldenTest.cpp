// Ops and small compositions against recorded values, forward and backward.
#include "test/golden/GoldenFunction.h"

#include <catch2/catch.hpp>
#include <cmath>
#include <set>

using namespace minigptc::test;

static constexpr const char *kLinear = R"(
  func.func @f(%x: tensor<4x12x64xf32>, %w: tensor<128x64xf32>) -> tensor<4x12x128xf32> {
    %y = graph.dot_general %x, %w, batching_dims = [] x [], contracting_dims = [2] x [1]
      : (tensor<4x12x64xf32>, tensor<128x64xf32>) -> tensor<4x12x128xf32>
    return %y : tensor<4x12x128xf32>
  })";

TEST_CASE("golden: linear") {
  checkGolden("orig/linear_fitted", {"in_features", "weight"}, kLinear);
  checkGolden("synth/linear", {"x", "w"}, kLinear);
}

static constexpr const char *kRmsNorm = R"(
  func.func @f(%x: tensor<4x12x64xf32>, %g: tensor<64xf32>) -> tensor<4x12x64xf32> {
    %y = graph.rms_norm %x, %g epsilon = 1.0e-5 : tensor<4x12x64xf32>, tensor<64xf32>
    return %y : tensor<4x12x64xf32>
  })";

TEST_CASE("golden: rms_norm") {
  checkGolden("orig/rmsnorm", {"in_features", "weight"}, kRmsNorm);
  checkGolden("synth/rmsnorm", {"x", "g"}, kRmsNorm);
}

TEST_CASE("golden: layer_norm") {
  checkGolden("synth/layernorm", {"x", "scale", "bias"}, R"(
    func.func @f(%x: tensor<4x12x64xf32>, %s: tensor<64xf32>, %b: tensor<64xf32>) -> tensor<4x12x64xf32> {
      %y = graph.layer_norm %x, %s, %b epsilon = 1.0e-6 : tensor<4x12x64xf32>, tensor<64xf32>, tensor<64xf32>
      return %y : tensor<4x12x64xf32>
    })");
}

TEST_CASE("golden: silu") {
  checkGolden("orig/silu", {"x"}, R"(
    func.func @f(%x: tensor<2x5xf32>) -> tensor<2x5xf32> {
      %y = graph.silu %x : tensor<2x5xf32>
      return %y : tensor<2x5xf32>
    })");
  checkGolden("synth/silu", {"x"}, R"(
    func.func @f(%x: tensor<4x12x64xf32>) -> tensor<4x12x64xf32> {
      %y = graph.silu %x : tensor<4x12x64xf32>
      return %y : tensor<4x12x64xf32>
    })");
}

TEST_CASE("golden: softmax") {
  constexpr const char *kSmall = R"(
    func.func @f(%x: tensor<3x5xf32>) -> tensor<3x5xf32> {
      %y = graph.softmax %x, dim = 1 : tensor<3x5xf32>
      return %y : tensor<3x5xf32>
    })";
  checkGolden("orig/softmax", {"x"}, kSmall);
  checkGolden("orig/softmax", {"x_plus_100"}, kSmall);
  checkGolden("synth/softmax", {"x"}, R"(
    func.func @f(%x: tensor<4x12x64xf32>) -> tensor<4x12x64xf32> {
      %y = graph.softmax %x, dim = 2 : tensor<4x12x64xf32>
      return %y : tensor<4x12x64xf32>
    })");
}

TEST_CASE("golden: swiglu") {
  checkGolden("synth/swiglu", {"x", "w1", "w2", "w3"}, R"(
    func.func @f(%x: tensor<4x12x64xf32>, %w1: tensor<128x64xf32>, %w2: tensor<64x128xf32>,
                 %w3: tensor<128x64xf32>) -> tensor<4x12x64xf32> {
      %a = graph.dot_general %x, %w1, batching_dims = [] x [], contracting_dims = [2] x [1]
        : (tensor<4x12x64xf32>, tensor<128x64xf32>) -> tensor<4x12x128xf32>
      %b = graph.dot_general %x, %w3, batching_dims = [] x [], contracting_dims = [2] x [1]
        : (tensor<4x12x64xf32>, tensor<128x64xf32>) -> tensor<4x12x128xf32>
      %s = graph.silu %a : tensor<4x12x128xf32>
      %h = graph.multiply %s, %b : tensor<4x12x128xf32>
      %y = graph.dot_general %h, %w2, batching_dims = [] x [], contracting_dims = [2] x [1]
        : (tensor<4x12x128xf32>, tensor<64x128xf32>) -> tensor<4x12x64xf32>
      return %y : tensor<4x12x64xf32>
    })");
}

TEST_CASE("golden: rope") {
  checkGolden("orig/rope", {"in_query_or_key", "token_positions"}, R"(
    func.func @f(%x: tensor<4x12x64xf32>, %p: tensor<12xi32>) -> tensor<4x12x64xf32> {
      %a = graph.reshape %x : (tensor<4x12x64xf32>) -> tensor<4x12x1x64xf32>
      %b = graph.rope %a, %p theta = 1.0e4 : tensor<4x12x1x64xf32>, tensor<12xi32>
      %y = graph.reshape %b : (tensor<4x12x1x64xf32>) -> tensor<4x12x64xf32>
      return %y : tensor<4x12x64xf32>
    })");
  checkGolden("synth/rope", {"x"}, R"(
    func.func @f(%x: tensor<4x12x64xf32>) -> tensor<4x12x64xf32> {
      %p = graph.iota dim = 0 : tensor<12xi32>
      %a = graph.reshape %x : (tensor<4x12x64xf32>) -> tensor<4x12x1x64xf32>
      %b = graph.rope %a, %p theta = 1.0e4 : tensor<4x12x1x64xf32>, tensor<12xi32>
      %y = graph.reshape %b : (tensor<4x12x1x64xf32>) -> tensor<4x12x64xf32>
      return %y : tensor<4x12x64xf32>
    })");
}

// Scaled dot-product attention with an explicit mask; 1/√64 is the scale.
static constexpr const char *kAttention = R"(
  func.func @f(%q: tensor<4x12x64xf32>, %k: tensor<4x16x64xf32>, %v: tensor<4x16x64xf32>,
               %m: tensor<4x12x16xi1>) -> tensor<4x12x64xf32> {
    %q4 = graph.reshape %q : (tensor<4x12x64xf32>) -> tensor<4x12x1x64xf32>
    %k4 = graph.reshape %k : (tensor<4x16x64xf32>) -> tensor<4x16x1x64xf32>
    %v4 = graph.reshape %v : (tensor<4x16x64xf32>) -> tensor<4x16x1x64xf32>
    %m4 = graph.reshape %m : (tensor<4x12x16xi1>) -> tensor<4x1x12x16xi1>
    %r:2 = graph.attention %q4, %k4, %v4 mask(%m4 : tensor<4x1x12x16xi1>) scale = 0.125 kind = none
      : tensor<4x12x1x64xf32>, tensor<4x16x1x64xf32>, tensor<4x16x1x64xf32>
      -> tensor<4x12x1x64xf32>, tensor<4x1x12xf32>
    %y = graph.reshape %r#0 : (tensor<4x12x1x64xf32>) -> tensor<4x12x64xf32>
    return %y : tensor<4x12x64xf32>
  })";

TEST_CASE("golden: attention") {
  checkGolden("orig/scaled_dot_product_attention", {"Q", "K", "V", "mask"}, kAttention);
  checkGolden("orig/4d_scaled_dot_product_attention", {"Q", "K", "V", "mask"}, R"(
    func.func @f(%q: tensor<2x2x12x64xf32>, %k: tensor<2x2x16x64xf32>, %v: tensor<2x2x16x64xf32>,
                 %m: tensor<2x2x12x16xi1>) -> tensor<2x2x12x64xf32> {
      %q4 = graph.transpose %q, dims = [0, 2, 1, 3] : (tensor<2x2x12x64xf32>) -> tensor<2x12x2x64xf32>
      %k4 = graph.transpose %k, dims = [0, 2, 1, 3] : (tensor<2x2x16x64xf32>) -> tensor<2x16x2x64xf32>
      %v4 = graph.transpose %v, dims = [0, 2, 1, 3] : (tensor<2x2x16x64xf32>) -> tensor<2x16x2x64xf32>
      %r:2 = graph.attention %q4, %k4, %v4 mask(%m : tensor<2x2x12x16xi1>) scale = 0.125 kind = none
        : tensor<2x12x2x64xf32>, tensor<2x16x2x64xf32>, tensor<2x16x2x64xf32>
        -> tensor<2x12x2x64xf32>, tensor<2x2x12xf32>
      %y = graph.transpose %r#0, dims = [0, 2, 1, 3] : (tensor<2x12x2x64xf32>) -> tensor<2x2x12x64xf32>
      return %y : tensor<2x2x12x64xf32>
    })");
}

TEST_CASE("golden: attention with gradients") {
  // The mask is recorded in another file.
  ModuleRunner runner;
  GoldenCase golden = loadGolden(runner.context(), "synth/sdpa");
  GoldenCase masks = loadGolden(runner.context(), "orig/scaled_dot_product_attention");
  std::vector<Tensor> inputs{golden.at("Q"), golden.at("K"), golden.at("V"), masks.at("mask")};
  CHECK(difference(evaluateFunction(runner, kAttention, inputs), golden.at("expected"),
                   golden.tolerance) == "");
  std::vector<Tensor> expected{golden.at("grad.Q"), golden.at("grad.K"), golden.at("grad.V")};
  std::vector<Tensor> gradients =
      gradientOf(runner, kAttention, inputs, golden.at("ct"), {0, 1, 2});
  for (size_t i = 0; i < 3; ++i) {
    CHECK(gradientDifference(gradients[i], expected[i], normOf(expected)) == "");
    CHECK(difference(gradients[i], expected[i], {.relative = 1e-3, .absolute = 1e-5}) == "");
  }
}

TEST_CASE("golden: embedding") {
  checkGolden("synth/embedding", {"table", "ids"}, R"(
    func.func @f(%t: tensor<8x64xf32>, %i: tensor<2x4xi32>) -> tensor<2x4x64xf32> {
      %y = graph.embedding %t, %i : (tensor<8x64xf32>, tensor<2x4xi32>) -> tensor<2x4x64xf32>
      return %y : tensor<2x4x64xf32>
    })");

  // Only the rows that are looked up are known; the others must not matter.
  ModuleRunner runner;
  GoldenCase golden = loadGolden(runner.context(), "orig/embedding");
  Tensor table = runner.filled(runner.type("10000x64xf32"), NAN);
  for (int64_t row = 0; row < 48; ++row)
    for (int64_t column = 0; column < 64; ++column)
      table.setFloat(golden.at("known_row_ids").getInt(row) * 64 + column,
                     golden.at("known_rows").getFloat(row * 64 + column));
  Tensor result = evaluateFunction(runner, R"(
    func.func @f(%t: tensor<10000x64xf32>, %i: tensor<4x12xi32>) -> tensor<4x12x64xf32> {
      %y = graph.embedding %t, %i : (tensor<10000x64xf32>, tensor<4x12xi32>) -> tensor<4x12x64xf32>
      return %y : tensor<4x12x64xf32>
    })",
                                   {table, golden.at("token_ids")});
  CHECK(difference(result, golden.at("expected"), golden.tolerance) == "");
}

/// The mean cross-entropy of `rows` positions and `classes` classes.
static std::string crossEntropy(const std::string &rows, const std::string &classes) {
  return "func.func @f(%l: tensor<" + rows + "x" + classes + "xf32>, %t: tensor<" + rows +
         "xi32>) -> tensor<f32> {\n"
         "  %e = graph.softmax_cross_entropy %l, %t : (tensor<" +
         rows + "x" + classes + "xf32>, tensor<" + rows + "xi32>) -> tensor<" + rows +
         "xf32>\n"
         "  %s = graph.reduce sum, %e, dims = [0] : (tensor<" +
         rows +
         "xf32>) -> tensor<f32>\n"
         "  %n = graph.constant dense<" +
         rows +
         ".0> : tensor<f32>\n"
         "  %m = graph.divide %s, %n : tensor<f32>\n"
         "  return %m : tensor<f32>\n}";
}

TEST_CASE("golden: cross-entropy") {
  checkGolden("orig/cross_entropy", {"logits", "targets"}, crossEntropy("8", "5"));
  checkGolden("synth/cross_entropy", {"logits", "targets"}, crossEntropy("48", "64"));
  ModuleRunner runner;
  GoldenCase golden = loadGolden(runner.context(), "orig/cross_entropy");
  Tensor loss = evaluateFunction(runner, crossEntropy("8", "5"),
                                 {golden.at("logits_x1000"), golden.at("targets")});
  CHECK(difference(loss, golden.at("expected_x1000"), golden.tolerance) == "");
}

TEST_CASE("golden: every file is checked somewhere") {
  const std::set<std::string> ofOps{"orig/rope",
                                    "orig/scaled_dot_product_attention",
                                    "orig/4d_scaled_dot_product_attention",
                                    "orig/rmsnorm",
                                    "orig/embedding",
                                    "orig/linear_fitted",
                                    "orig/silu",
                                    "orig/softmax",
                                    "orig/cross_entropy",
                                    "orig/lr_schedule",
                                    "orig/gradient_clipping_ones",
                                    "orig/adamw",
                                    "synth/linear",
                                    "synth/rmsnorm",
                                    "synth/silu",
                                    "synth/softmax",
                                    "synth/swiglu",
                                    "synth/rope",
                                    "synth/sdpa",
                                    "synth/embedding",
                                    "synth/layernorm",
                                    "synth/cross_entropy",
                                    "synth/gradient_clipping"};
  const std::set<std::string> ofModules{
      "synth/multihead_self_attention", "synth/multihead_self_attention_with_rope",
      "synth/transformer_block",        "synth/transformer_lm",
      "synth/tiny_lm_loss_and_grads",   "synth/minigpt_loss_and_grads"};
  for (const std::string &name : goldenNames())
    CHECK(ofOps.count(name) + ofModules.count(name) == 1);
}
