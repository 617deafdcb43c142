// RUN: minigptc-opt %s --run | FileCheck %s
// RUN: minigptc-opt %s --graph-decompose --run | FileCheck %s
// Where bf16 is rounded: where an op's result becomes a bf16 value, and nowhere else.

// bf16 has 8 bits: 256 + 1 is a tie that goes to 256, every time.
// CHECK-LABEL: test_every_op_rounds
func.func @test_every_op_rounds() -> (tensor<bf16>, tensor<f32>) {
  %a = graph.constant dense<256.0> : tensor<bf16>
  %one = graph.constant dense<1.0> : tensor<bf16>
  %0 = graph.add %a, %one : tensor<bf16>
  %1 = graph.add %0, %one : tensor<bf16>
  // CHECK-NEXT: tensor<bf16> 256
  // In f32, then rounded, it is 258.
  %wide = graph.convert %a : (tensor<bf16>) -> tensor<f32>
  %two = graph.constant dense<2.0> : tensor<f32>
  %2 = graph.add %wide, %two : tensor<f32>
  // CHECK-NEXT: tensor<f32> 258
  return %1, %2 : tensor<bf16>, tensor<f32>
}

// CHECK-LABEL: test_sums_are_wide
func.func @test_sums_are_wide() -> (tensor<bf16>, tensor<1x1xbf16>) {
  // 256 + 1 + 1 = 258, rounded once.
  %x = graph.constant dense<[[256.0, 1.0, 1.0]]> : tensor<1x3xbf16>
  %ones = graph.constant dense<1.0> : tensor<3x1xbf16>
  %0 = graph.reduce sum, %x, dims = [0, 1] : (tensor<1x3xbf16>) -> tensor<bf16>
  // CHECK-NEXT: tensor<bf16> 258
  %1 = graph.dot_general %x, %ones, batching_dims = [] x [], contracting_dims = [1] x [0] : (tensor<1x3xbf16>, tensor<3x1xbf16>) -> tensor<1x1xbf16>
  // CHECK-NEXT: tensor<1x1xbf16> {{\[\[}}258]]
  return %0, %1 : tensor<bf16>, tensor<1x1xbf16>
}

// A norm's scale may be f32, and is not rounded: 7/5 · 1.00390625 = 1.40546875 goes to 1.40625. Were the scale rounded to bf16
// first, it would be 1, and the result 1.3984375.
// CHECK-LABEL: test_norm_takes_f32_parameters
func.func @test_norm_takes_f32_parameters() -> tensor<2xbf16> {
  %x = graph.constant dense<[1.0, 7.0]> : tensor<2xbf16>
  %scale = graph.constant dense<1.00390625> : tensor<2xf32>
  %0 = graph.rms_norm %x, %scale epsilon = 0.0 : tensor<2xbf16>, tensor<2xf32>
  // CHECK-NEXT: tensor<2xbf16> [{{.*}}, 1.40625]
  return %0 : tensor<2xbf16>
}

// Inside a composite nothing is rounded: log 2 is the loss of two equal logits.
// CHECK-LABEL: test_loss_is_f32
func.func @test_loss_is_f32() -> tensor<1xf32> {
  %x = graph.constant dense<[[2.0, 2.0]]> : tensor<1x2xbf16>
  %t = graph.constant dense<0> : tensor<1xi32>
  %0 = graph.softmax_cross_entropy %x, %t : (tensor<1x2xbf16>, tensor<1xi32>) -> tensor<1xf32>
  // CHECK-NEXT: tensor<1xf32> [0.693147{{[0-9]*}}]
  return %0 : tensor<1xf32>
}
