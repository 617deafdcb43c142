// RUN: minigptc-opt %s --split-input-file --verify-diagnostics=only-expected | minigptc-opt --split-input-file | FileCheck %s
// RUN: minigptc-opt %s --split-input-file --verify-diagnostics=only-expected --canonicalize | FileCheck %s --check-prefix=FOLD

// CHECK-LABEL: func @reshape
// FOLD-LABEL: func @reshape
func.func @reshape(%x: tensor<2x3xf32>) -> (tensor<2x3xf32>, tensor<6x1xf32>, tensor<2x2xi32>) {
  // CHECK: graph.reshape %arg0 : (tensor<2x3xf32>) -> tensor<6xf32>
  %0 = graph.reshape %x : (tensor<2x3xf32>) -> tensor<6xf32>
  %1 = graph.reshape %0 : (tensor<6xf32>) -> tensor<2x3xf32>
  // FOLD-DAG: %[[ONCE:.*]] = graph.reshape %arg0 : (tensor<2x3xf32>) -> tensor<6x1xf32>
  %2 = graph.reshape %0 : (tensor<6xf32>) -> tensor<6x1xf32>
  %c = graph.constant dense<[1, 2, 3, 4]> : tensor<4xi32>
  // FOLD-DAG: %[[C:.*]] = graph.constant dense<{{\[}}[1, 2], [3, 4]]> : tensor<2x2xi32>
  %3 = graph.reshape %c : (tensor<4xi32>) -> tensor<2x2xi32>
  // FOLD: return %arg0, %[[ONCE]], %[[C]]
  return %1, %2, %3 : tensor<2x3xf32>, tensor<6x1xf32>, tensor<2x2xi32>
}

// -----

// expected-note@+1 {{operand f32[2,3] is defined here}}
func.func @reshape_count(%x: tensor<2x3xf32>) {
  // expected-error@+1 {{operand f32[2,3] has 6 elements, result f32[2,4] has 8}}
  %0 = graph.reshape %x : (tensor<2x3xf32>) -> tensor<2x4xf32>
  return
}

// -----

func.func @reshape_type(%x: tensor<2xf32>) {
  // expected-error@+1 {{operand f32[2] and result i32[2] have different element types}}
  %0 = graph.reshape %x : (tensor<2xf32>) -> tensor<2xi32>
  return
}

// -----

// CHECK-LABEL: func @transpose
// FOLD-LABEL: func @transpose
func.func @transpose(%x: tensor<2x3x4xf32>) -> (tensor<2x3x4xf32>, tensor<4x2x3xf32>, tensor<2x3x4xf32>) {
  // CHECK: graph.transpose %arg0, dims = [1, 2, 0] : (tensor<2x3x4xf32>) -> tensor<3x4x2xf32>
  %0 = graph.transpose %x, dims = [1, 2, 0] : (tensor<2x3x4xf32>) -> tensor<3x4x2xf32>
  %1 = graph.transpose %0, dims = [2, 0, 1] : (tensor<3x4x2xf32>) -> tensor<2x3x4xf32>
  // FOLD: %[[ONCE:.*]] = graph.transpose %arg0, dims = [2, 0, 1] : (tensor<2x3x4xf32>) -> tensor<4x2x3xf32>
  %2 = graph.transpose %0, dims = [1, 2, 0] : (tensor<3x4x2xf32>) -> tensor<4x2x3xf32>
  %3 = graph.transpose %x, dims = [0, 1, 2] : (tensor<2x3x4xf32>) -> tensor<2x3x4xf32>
  // FOLD: return %arg0, %[[ONCE]], %arg0
  return %1, %2, %3 : tensor<2x3x4xf32>, tensor<4x2x3xf32>, tensor<2x3x4xf32>
}

// -----

func.func @transpose_twice(%x: tensor<2x3xf32>) {
  // expected-error@+1 {{permutation [1,1] holds 1 twice}}
  %0 = graph.transpose %x, dims = [1, 1] : (tensor<2x3xf32>) -> tensor<3x3xf32>
  return
}

// -----

func.func @transpose_result(%x: tensor<2x3xf32>) {
  // expected-error@+1 {{inferred type(s) 'tensor<3x2xf32>' are incompatible}}
  %0 = graph.transpose %x, dims = [1, 0] : (tensor<2x3xf32>) -> tensor<2x3xf32>
  return
}
