// RUN: minigptc-opt %s --split-input-file --verify-diagnostics=only-expected | minigptc-opt --split-input-file | FileCheck %s

// CHECK-LABEL: func @dot_general
func.func @dot_general(%x: tensor<2x3x4xf32>, %y: tensor<4x2x5xf32>) {
  // CHECK: graph.dot_general %arg0, %arg1, batching_dims = [0] x [1], contracting_dims = [2] x [0] : (tensor<2x3x4xf32>, tensor<4x2x5xf32>) -> tensor<2x3x5xf32>
  %0 = graph.dot_general %x, %y, batching_dims = [0] x [1], contracting_dims = [2] x [0] : (tensor<2x3x4xf32>, tensor<4x2x5xf32>) -> tensor<2x3x5xf32>
  // CHECK: -> tensor<2x3x4x4x2x5xf32>
  %1 = graph.dot_general %x, %y, batching_dims = [] x [], contracting_dims = [] x [] : (tensor<2x3x4xf32>, tensor<4x2x5xf32>) -> tensor<2x3x4x4x2x5xf32>
  return
}

// -----

// expected-note@+2 {{lhs f32[2,3] is defined here}}
// expected-note@+1 {{rhs f32[4,5] is defined here}}
func.func @contracting(%x: tensor<2x3xf32>, %y: tensor<4x5xf32>) {
  // expected-error@+1 {{contracting dimension 1 of lhs f32[2,3] and 0 of rhs f32[4,5] have different sizes}}
  %0 = graph.dot_general %x, %y, batching_dims = [] x [], contracting_dims = [1] x [0] : (tensor<2x3xf32>, tensor<4x5xf32>) -> tensor<2x5xf32>
  return
}

// -----

func.func @batching(%x: tensor<2x3xf32>) {
  // expected-error@+1 {{batching dimension 0 of lhs f32[2,3] and 1 of rhs f32[2,3] have different sizes}}
  %0 = graph.dot_general %x, %x, batching_dims = [0] x [1], contracting_dims = [] x [] : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<2x3x2xf32>
  return
}

// -----

func.func @pairs(%x: tensor<2x3xf32>) {
  // expected-error@+1 {{has 2 contracting dimensions of lhs and 1 of rhs}}
  %0 = graph.dot_general %x, %x, batching_dims = [] x [], contracting_dims = [0, 1] x [0] : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<3xf32>
  return
}

// -----

func.func @twice(%x: tensor<2x3xf32>) {
  // expected-error@+1 {{batching and contracting dims of lhs [0,0] holds 0 twice}}
  %0 = graph.dot_general %x, %x, batching_dims = [0] x [0], contracting_dims = [0] x [1] : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<2x3xf32>
  return
}

// -----

func.func @types(%x: tensor<2xf32>, %y: tensor<2xbf16>) {
  // expected-error@+1 {{lhs f32[2] and rhs bf16[2] have different element types; convert one of them}}
  %0 = graph.dot_general %x, %y, batching_dims = [] x [], contracting_dims = [0] x [0] : (tensor<2xf32>, tensor<2xbf16>) -> tensor<f32>
  return
}
