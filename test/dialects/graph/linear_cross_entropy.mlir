// RUN: minigptc-opt %s --split-input-file --verify-diagnostics=only-expected | minigptc-opt --split-input-file | FileCheck %s

// CHECK-LABEL: func @forms
func.func @forms(%h: tensor<2x3x4xf32>, %w: tensor<4x10xf32>, %e: tensor<10x4xf32>, %b: tensor<10xf32>, %t: tensor<2x3xi32>) {
  // CHECK: graph.linear_cross_entropy %arg0, %arg1, %arg4 : (tensor<2x3x4xf32>, tensor<4x10xf32>, tensor<2x3xi32>) -> (tensor<f32>, tensor<2x3x4xf32>, tensor<4x10xf32>)
  %0:3 = graph.linear_cross_entropy %h, %w, %t : (tensor<2x3x4xf32>, tensor<4x10xf32>, tensor<2x3xi32>) -> (tensor<f32>, tensor<2x3x4xf32>, tensor<4x10xf32>)
  // CHECK: graph.linear_cross_entropy %arg0, %arg2, %arg4 bias %arg3 ignore -100 transposed : (tensor<2x3x4xf32>, tensor<10x4xf32>, tensor<2x3xi32>, tensor<10xf32>) -> (tensor<f32>, tensor<2x3x4xf32>, tensor<10x4xf32>, tensor<10xf32>)
  %1:4 = graph.linear_cross_entropy %h, %e, %t bias %b ignore -100 transposed : (tensor<2x3x4xf32>, tensor<10x4xf32>, tensor<2x3xi32>, tensor<10xf32>) -> (tensor<f32>, tensor<2x3x4xf32>, tensor<10x4xf32>, tensor<10xf32>)
  return
}

// -----

// expected-note@+2 {{hidden f32[2,3] is defined here}}
// expected-note@+1 {{weight f32[4,10] is defined here}}
func.func @width(%h: tensor<2x3xf32>, %w: tensor<4x10xf32>, %t: tensor<2xi32>) {
  // expected-error@+1 {{hidden f32[2,3] and weight f32[4,10] differ in width}}
  %0:3 = graph.linear_cross_entropy %h, %w, %t : (tensor<2x3xf32>, tensor<4x10xf32>, tensor<2xi32>) -> (tensor<f32>, tensor<2x3xf32>, tensor<4x10xf32>)
  return
}

// -----

// expected-note@+1 {{targets i32[3] is defined here}}
func.func @targets(%h: tensor<2x4xf32>, %w: tensor<4x10xf32>, %t: tensor<3xi32>) {
  // expected-error@+1 {{targets i32[3] must have the shape [2], that of hidden f32[2,4] without its last dimension}}
  %0:3 = graph.linear_cross_entropy %h, %w, %t : (tensor<2x4xf32>, tensor<4x10xf32>, tensor<3xi32>) -> (tensor<f32>, tensor<2x4xf32>, tensor<4x10xf32>)
  return
}

// -----

// expected-note@+1 {{bias f32[4] is defined here}}
func.func @bias(%h: tensor<2x4xf32>, %w: tensor<4x10xf32>, %t: tensor<2xi32>, %b: tensor<4xf32>) {
  // expected-error@+1 {{bias f32[4] must have the shape [10], one per class of weight f32[4,10]}}
  %0:4 = graph.linear_cross_entropy %h, %w, %t bias %b : (tensor<2x4xf32>, tensor<4x10xf32>, tensor<2xi32>, tensor<4xf32>) -> (tensor<f32>, tensor<2x4xf32>, tensor<4x10xf32>, tensor<4xf32>)
  return
}

// -----

// CHECK-LABEL: func @parts
func.func @parts(%h: tensor<2x3x4xbf16>, %w: tensor<4x10xbf16>, %e: tensor<10x4xbf16>, %b: tensor<10xbf16>, %t: tensor<2x3xi32>, %lse: tensor<2x3xf32>) {
  // CHECK: graph.linear_log_sum_exp %arg0, %arg1, %arg4 : (tensor<2x3x4xbf16>, tensor<4x10xbf16>, tensor<2x3xi32>) -> (tensor<2x3xf32>, tensor<2x3xf32>)
  %0:2 = graph.linear_log_sum_exp %h, %w, %t : (tensor<2x3x4xbf16>, tensor<4x10xbf16>, tensor<2x3xi32>) -> (tensor<2x3xf32>, tensor<2x3xf32>)
  // CHECK: graph.linear_cross_entropy_grad %arg0, %arg2, %arg4, %arg5 bias %arg3 ignore -2 transposed : (tensor<2x3x4xbf16>, tensor<10x4xbf16>, tensor<2x3xi32>, tensor<2x3xf32>, tensor<10xbf16>) -> (tensor<2x3x4xbf16>, tensor<10x4xbf16>, tensor<10xbf16>)
  %1:3 = graph.linear_cross_entropy_grad %h, %e, %t, %lse bias %b ignore -2 transposed : (tensor<2x3x4xbf16>, tensor<10x4xbf16>, tensor<2x3xi32>, tensor<2x3xf32>, tensor<10xbf16>) -> (tensor<2x3x4xbf16>, tensor<10x4xbf16>, tensor<10xbf16>)
  return
}

// -----

// expected-note@+1 {{logSumExp f32[2] is defined here}}
func.func @log_sum_exp(%h: tensor<2x3x4xf32>, %w: tensor<4x10xf32>, %t: tensor<2x3xi32>, %lse: tensor<2xf32>) {
  // expected-error@+1 {{logSumExp f32[2] must be f32[2,3], one per position of hidden f32[2,3,4]}}
  %0:2 = graph.linear_cross_entropy_grad %h, %w, %t, %lse : (tensor<2x3x4xf32>, tensor<4x10xf32>, tensor<2x3xi32>, tensor<2xf32>) -> (tensor<2x3x4xf32>, tensor<4x10xf32>)
  return
}
