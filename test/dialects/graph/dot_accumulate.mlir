// RUN: minigptc-opt %s --split-input-file --verify-diagnostics=only-expected | minigptc-opt --split-input-file | FileCheck %s

// CHECK-LABEL: func @dot_accumulate
func.func @dot_accumulate(%c: tensor<2x5xf32>, %x: tensor<2x3xf32>, %y: tensor<3x5xf32>) {
  // CHECK: graph.dot_accumulate %arg0, %arg1, %arg2, batching_dims = [] x [], contracting_dims = [1] x [0] : (tensor<2x5xf32>, tensor<2x3xf32>, tensor<3x5xf32>) -> tensor<2x5xf32>
  %0 = graph.dot_accumulate %c, %x, %y, batching_dims = [] x [], contracting_dims = [1] x [0] : (tensor<2x5xf32>, tensor<2x3xf32>, tensor<3x5xf32>) -> tensor<2x5xf32>
  return
}

// -----

// expected-note@+1 {{accumulator f32[5] is defined here}}
func.func @accumulator(%c: tensor<5xf32>, %x: tensor<2x3xf32>, %y: tensor<3x5xf32>) {
  // expected-error@+1 {{'graph.dot_accumulate' op accumulator f32[5] must have the type of the product's sums, f32[2,5]}}
  %0 = graph.dot_accumulate %c, %x, %y, batching_dims = [] x [], contracting_dims = [1] x [0] : (tensor<5xf32>, tensor<2x3xf32>, tensor<3x5xf32>) -> tensor<2x5xf32>
  return
}

// -----

// expected-note@+1 {{accumulator bf16[2,5] is defined here}}
func.func @type(%c: tensor<2x5xbf16>, %x: tensor<2x3xbf16>, %y: tensor<3x5xbf16>) {
  // expected-error@+1 {{accumulator bf16[2,5] must have the type of the product's sums, f32[2,5]}}
  %0 = graph.dot_accumulate %c, %x, %y, batching_dims = [] x [], contracting_dims = [1] x [0] : (tensor<2x5xbf16>, tensor<2x3xbf16>, tensor<3x5xbf16>) -> tensor<2x5xbf16>
  return
}

// -----

func.func @product(%c: tensor<2x5xf32>, %x: tensor<2x3xf32>, %y: tensor<3x5xf32>) {
  // expected-error@+1 {{has 1 contracting dimensions of lhs and 0 of rhs}}
  %0 = graph.dot_accumulate %c, %x, %y, batching_dims = [] x [], contracting_dims = [1] x [] : (tensor<2x5xf32>, tensor<2x3xf32>, tensor<3x5xf32>) -> tensor<2x5xf32>
  return
}
