// RUN: minigptc-opt %s --split-input-file --verify-diagnostics=only-expected | minigptc-opt --split-input-file | FileCheck %s
// RUN: minigptc-opt %s --split-input-file --verify-diagnostics=only-expected --canonicalize | FileCheck %s --check-prefix=FOLD

// CHECK-LABEL: func @reduce
// FOLD-LABEL: func @reduce
func.func @reduce(%x: tensor<2x3x4xf32>, %p: tensor<2xi1>) -> (tensor<3xf32>, tensor<2x3x4xf32>, tensor<i1>) {
  // CHECK: graph.reduce sum, %arg0, dims = [0, 2] : (tensor<2x3x4xf32>) -> tensor<3xf32>
  %0 = graph.reduce sum, %x, dims = [0, 2] : (tensor<2x3x4xf32>) -> tensor<3xf32>
  %1 = graph.reduce prod, %x, dims = [] : (tensor<2x3x4xf32>) -> tensor<2x3x4xf32>
  // CHECK: graph.reduce any, %arg1, dims = [0] : (tensor<2xi1>) -> tensor<i1>
  %2 = graph.reduce any, %p, dims = [0] : (tensor<2xi1>) -> tensor<i1>
  // FOLD: return %{{.*}}, %arg0, %{{.*}}
  return %0, %1, %2 : tensor<3xf32>, tensor<2x3x4xf32>, tensor<i1>
}

// FOLD-LABEL: func @splats
func.func @splats() -> (tensor<2xf32>, tensor<2xf32>) {
  %x = graph.constant dense<3.0> : tensor<2x4xf32>
  // FOLD: graph.constant dense<3.000000e+00> : tensor<2xf32>
  %0 = graph.reduce max, %x, dims = [1] : (tensor<2x4xf32>) -> tensor<2xf32>
  // FOLD: graph.reduce sum
  %1 = graph.reduce sum, %x, dims = [1] : (tensor<2x4xf32>) -> tensor<2xf32>
  return %0, %1 : tensor<2xf32>, tensor<2xf32>
}

// -----

// expected-note@+1 {{operand i1[2] is defined here}}
func.func @sum_of_predicates(%p: tensor<2xi1>) {
  // expected-error@+1 {{'graph.reduce' op kind sum is for numbers, not for operand i1[2]}}
  %0 = graph.reduce sum, %p, dims = [0] : (tensor<2xi1>) -> tensor<i1>
  return
}

// -----

func.func @all_numbers(%x: tensor<2xf32>) {
  // expected-error@+1 {{kind all is for i1, not for operand f32[2]}}
  %0 = graph.reduce all, %x, dims = [0] : (tensor<2xf32>) -> tensor<f32>
  return
}

// -----

func.func @dims(%x: tensor<2xf32>) {
  // expected-error@+1 {{dims [0,1] holds 1, which is not in [0, 1)}}
  %0 = graph.reduce sum, %x, dims = [0, 1] : (tensor<2xf32>) -> tensor<f32>
  return
}
