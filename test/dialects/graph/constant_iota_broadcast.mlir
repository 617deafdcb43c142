// RUN: minigptc-opt %s --split-input-file --verify-diagnostics=only-expected | minigptc-opt --split-input-file | FileCheck %s
// RUN: minigptc-opt %s --split-input-file --verify-diagnostics=only-expected --canonicalize | FileCheck %s --check-prefix=FOLD

// CHECK-LABEL: func @constant
func.func @constant() {
  // CHECK: graph.constant dense<[1, 2]> : tensor<2xui64>
  %0 = graph.constant dense<[1, 2]> : tensor<2xui64>
  // CHECK: graph.constant dense<1.500000e+00> : tensor<2x3xf16>
  %1 = graph.constant dense<1.5> : tensor<2x3xf16>
  return
}

// -----

func.func @vector() {
  // expected-error@+1 {{'graph.constant' op value must be a tensor, not vector<2xi32>}}
  %0 = graph.constant dense<[1, 2]> : vector<2xi32>
  return
}

// -----

// CHECK-LABEL: func @iota
func.func @iota() {
  // CHECK: graph.iota dim = 1 : tensor<2x3xi32>
  %0 = graph.iota dim = 1 : tensor<2x3xi32>
  return
}

// -----

func.func @iota_dim() {
  // expected-error@+1 {{'graph.iota' op dim [2] holds 2, which is not in [0, 2)}}
  %0 = graph.iota dim = 2 : tensor<2x3xi32>
  return
}

// -----

// FOLD-LABEL: func @broadcast
func.func @broadcast(%x: tensor<3xf32>) -> (tensor<3xf32>, tensor<2x3xf32>, tensor<4x2x3xf32>) {
  // CHECK: graph.broadcast_in_dim %arg0, dims = [0] : (tensor<3xf32>) -> tensor<3xf32>
  %0 = graph.broadcast_in_dim %x, dims = [0] : (tensor<3xf32>) -> tensor<3xf32>
  %c = graph.constant dense<2.0> : tensor<f32>
  // FOLD: %[[SPLAT:.*]] = graph.constant dense<2.000000e+00> : tensor<2x3xf32>
  %1 = graph.broadcast_in_dim %c, dims = [] : (tensor<f32>) -> tensor<2x3xf32>
  // FOLD: %[[TWICE:.*]] = graph.broadcast_in_dim %arg0, dims = [2] : (tensor<3xf32>) -> tensor<4x2x3xf32>
  %2 = graph.broadcast_in_dim %x, dims = [1] : (tensor<3xf32>) -> tensor<1x3xf32>
  %3 = graph.broadcast_in_dim %2, dims = [1, 2] : (tensor<1x3xf32>) -> tensor<4x2x3xf32>
  // FOLD: return %arg0, %[[SPLAT]], %[[TWICE]]
  return %0, %1, %3 : tensor<3xf32>, tensor<2x3xf32>, tensor<4x2x3xf32>
}

// -----

// expected-note@+1 {{operand f32[3] is defined here}}
func.func @broadcast_size(%x: tensor<3xf32>) {
  // expected-error@+1 {{dimension 0 of operand f32[3] does not fit dimension 0 of the result f32[2,3]}}
  %0 = graph.broadcast_in_dim %x, dims = [0] : (tensor<3xf32>) -> tensor<2x3xf32>
  return
}

// -----

func.func @broadcast_order(%x: tensor<3x2xf32>) {
  // expected-error@+1 {{dims [1,0] must be strictly increasing}}
  %0 = graph.broadcast_in_dim %x, dims = [1, 0] : (tensor<3x2xf32>) -> tensor<2x3xf32>
  return
}

// -----

func.func @broadcast_count(%x: tensor<3x2xf32>) {
  // expected-error@+1 {{dims has 1 entries for a tensor of rank 2}}
  %0 = graph.broadcast_in_dim %x, dims = [1] : (tensor<3x2xf32>) -> tensor<2x3xf32>
  return
}

// -----

func.func @broadcast_type(%x: tensor<3xf32>) {
  // expected-error@+1 {{operand f32[3] and result f64[3] have different element types}}
  %0 = graph.broadcast_in_dim %x, dims = [0] : (tensor<3xf32>) -> tensor<3xf64>
  return
}
