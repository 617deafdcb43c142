// RUN: minigptc-opt %s --split-input-file --verify-diagnostics=only-expected | minigptc-opt --split-input-file | FileCheck %s
// RUN: minigptc-opt %s --split-input-file --verify-diagnostics=only-expected --canonicalize | FileCheck %s --check-prefix=FOLD

// CHECK-LABEL: func @slice
// FOLD-LABEL: func @slice
func.func @slice(%x: tensor<10x3xf32>) -> (tensor<4x3xf32>, tensor<10x3xf32>, tensor<2x1xf32>, tensor<2xf32>) {
  // CHECK: graph.slice %arg0 [1, 0] : [8, 3] : [2, 1] : (tensor<10x3xf32>) -> tensor<4x3xf32>
  %0 = graph.slice %x [1, 0] : [8, 3] : [2, 1] : (tensor<10x3xf32>) -> tensor<4x3xf32>
  %1 = graph.slice %x [0, 0] : [10, 3] : [1, 1] : (tensor<10x3xf32>) -> tensor<10x3xf32>
  // Elements 1, 3, 5, 7, and of these the last two.
  // FOLD: %[[INNER:.*]] = graph.slice %arg0 [1, 0] : [8, 3] : [2, 1]
  // FOLD: %[[ONCE:.*]] = graph.slice %arg0 [5, 1] : [8, 2] : [2, 1] : (tensor<10x3xf32>) -> tensor<2x1xf32>
  %2 = graph.slice %0 [2, 1] : [4, 2] : [1, 1] : (tensor<4x3xf32>) -> tensor<2x1xf32>
  %c = graph.constant dense<1.0> : tensor<4xf32>
  %3 = graph.slice %c [0] : [2] : [1] : (tensor<4xf32>) -> tensor<2xf32>
  // FOLD: return %[[INNER]], %arg0, %[[ONCE]]
  return %0, %1, %2, %3 : tensor<4x3xf32>, tensor<10x3xf32>, tensor<2x1xf32>, tensor<2xf32>
}

// -----

// expected-note@+1 {{operand f32[4] is defined here}}
func.func @slice_bounds(%x: tensor<4xf32>) {
  // expected-error@+1 {{elements 1 to 5 of dimension 0 are not within operand f32[4]}}
  %0 = graph.slice %x [1] : [5] : [1] : (tensor<4xf32>) -> tensor<4xf32>
  return
}

// -----

func.func @slice_stride(%x: tensor<4xf32>) {
  // expected-error@+1 {{stride 0 of dimension 0 must be at least 1}}
  %0 = graph.slice %x [1] : [4] : [0] : (tensor<4xf32>) -> tensor<4xf32>
  return
}

// -----

func.func @slice_rank(%x: tensor<4xf32>) {
  // expected-error@+1 {{limit has 2 entries for a tensor of rank 1}}
  %0 = graph.slice %x [1] : [4, 4] : [1] : (tensor<4xf32>) -> tensor<4xf32>
  return
}

// -----

// CHECK-LABEL: func @dynamic
func.func @dynamic(%x: tensor<4x5xf32>, %u: tensor<2x2xf32>, %i: tensor<i32>) {
  // CHECK: graph.dynamic_slice %arg0[%arg2, %arg2] sizes = [2, 2] : (tensor<4x5xf32>, tensor<i32>, tensor<i32>) -> tensor<2x2xf32>
  %0 = graph.dynamic_slice %x[%i, %i] sizes = [2, 2] : (tensor<4x5xf32>, tensor<i32>, tensor<i32>) -> tensor<2x2xf32>
  // CHECK: graph.dynamic_update_slice %arg0, %arg1[%arg2, %arg2] : (tensor<4x5xf32>, tensor<2x2xf32>, tensor<i32>, tensor<i32>) -> tensor<4x5xf32>
  %1 = graph.dynamic_update_slice %x, %u[%i, %i] : (tensor<4x5xf32>, tensor<2x2xf32>, tensor<i32>, tensor<i32>) -> tensor<4x5xf32>
  return
}

// -----

// A block as large as the whole.
// FOLD-LABEL: func @whole
// FOLD-NEXT: return %arg0, %arg1
func.func @whole(%x: tensor<4x5xf32>, %u: tensor<4x5xf32>, %i: tensor<i32>) -> (tensor<4x5xf32>, tensor<4x5xf32>) {
  %0 = graph.dynamic_slice %x[%i, %i] sizes = [4, 5] : (tensor<4x5xf32>, tensor<i32>, tensor<i32>) -> tensor<4x5xf32>
  %1 = graph.dynamic_update_slice %x, %u[%i, %i] : (tensor<4x5xf32>, tensor<4x5xf32>, tensor<i32>, tensor<i32>) -> tensor<4x5xf32>
  return %0, %1 : tensor<4x5xf32>, tensor<4x5xf32>
}

// -----

func.func @starts(%x: tensor<4x5xf32>, %i: tensor<i32>) {
  // expected-error@+1 {{has 1 starts for operand f32[4,5]; give one scalar per dimension}}
  %0 = graph.dynamic_slice %x[%i] sizes = [2, 2] : (tensor<4x5xf32>, tensor<i32>) -> tensor<2x2xf32>
  return
}

// -----

func.func @start_shape(%x: tensor<4xf32>, %i: tensor<1xi32>) {
  // expected-error@+1 {{start i32[1] must be a scalar}}
  %0 = graph.dynamic_slice %x[%i] sizes = [2] : (tensor<4xf32>, tensor<1xi32>) -> tensor<2xf32>
  return
}

// -----

func.func @block_fits(%x: tensor<4xf32>, %i: tensor<i32>) {
  // expected-error@+1 {{a block of sizes [5] does not fit into operand f32[4] in dimension 0}}
  %0 = graph.dynamic_slice %x[%i] sizes = [5] : (tensor<4xf32>, tensor<i32>) -> tensor<5xf32>
  return
}

// -----

func.func @update_fits(%x: tensor<4xf32>, %u: tensor<5xf32>, %i: tensor<i32>) {
  // expected-error@+1 {{an update of sizes [5] does not fit into operand f32[4] in dimension 0}}
  %0 = graph.dynamic_update_slice %x, %u[%i] : (tensor<4xf32>, tensor<5xf32>, tensor<i32>) -> tensor<4xf32>
  return
}

// -----

func.func @update_rank(%x: tensor<4xf32>, %u: tensor<1x2xf32>, %i: tensor<i32>) {
  // expected-error@+1 {{update f32[1,2] and operand f32[4] have different ranks}}
  %0 = graph.dynamic_update_slice %x, %u[%i] : (tensor<4xf32>, tensor<1x2xf32>, tensor<i32>) -> tensor<4xf32>
  return
}
