// RUN: minigptc-opt %s --pass-pipeline='builtin.module(func.func(graph-canonicalize-dots))' --split-input-file | FileCheck %s

// A transposed operand is read where it lies.
// CHECK-LABEL: func @fold_transposes
// CHECK-NOT: graph.transpose
// CHECK: graph.dot_general %arg0, %arg1, batching_dims = [] x [], contracting_dims = [0] x [1]
func.func @fold_transposes(%x: tensor<4x3xf32>, %w: tensor<5x4xf32>) -> tensor<3x5xf32> {
  %xt = graph.transpose %x, dims = [1, 0] : (tensor<4x3xf32>) -> tensor<3x4xf32>
  %wt = graph.transpose %w, dims = [1, 0] : (tensor<5x4xf32>) -> tensor<4x5xf32>
  %y = graph.dot_general %xt, %wt, batching_dims = [] x [], contracting_dims = [1] x [0] : (tensor<3x4xf32>, tensor<4x5xf32>) -> tensor<3x5xf32>
  return %y : tensor<3x5xf32>
}

// -----

// Heads before positions: batching dimensions are named where they are.
// CHECK-LABEL: func @fold_heads
// CHECK-NOT: graph.transpose
// CHECK: graph.dot_general %arg0, %arg1, batching_dims = [0, 2] x [0, 2], contracting_dims = [3] x [3]
func.func @fold_heads(%q: tensor<2x8x4x16xf32>, %k: tensor<2x8x4x16xf32>) -> tensor<2x4x8x8xf32> {
  %qt = graph.transpose %q, dims = [0, 2, 1, 3] : (tensor<2x8x4x16xf32>) -> tensor<2x4x8x16xf32>
  %kt = graph.transpose %k, dims = [0, 2, 1, 3] : (tensor<2x8x4x16xf32>) -> tensor<2x4x8x16xf32>
  %s = graph.dot_general %qt, %kt, batching_dims = [0, 1] x [0, 1], contracting_dims = [3] x [3] : (tensor<2x4x8x16xf32>, tensor<2x4x8x16xf32>) -> tensor<2x4x8x8xf32>
  return %s : tensor<2x4x8x8xf32>
}

// -----

// A transposed result is the product of the operands in the other order; one that
// mixes their dimensions stays.
// CHECK-LABEL: func @fold_results
// CHECK: %[[D:.*]] = graph.dot_general %arg1, %arg0, batching_dims = [] x [], contracting_dims = [0] x [0] : (tensor<5x7xf32>, tensor<5x2x3xf32>) -> tensor<7x2x3xf32>
// CHECK: %[[E:.*]] = graph.dot_general %arg0, %arg1
// CHECK: %[[T:.*]] = graph.transpose %[[E]]
// CHECK: return %[[D]], %[[T]]
func.func @fold_results(%x: tensor<5x2x3xf32>, %w: tensor<5x7xf32>) -> (tensor<7x2x3xf32>, tensor<3x7x2xf32>) {
  %d = graph.dot_general %x, %w, batching_dims = [] x [], contracting_dims = [0] x [0] : (tensor<5x2x3xf32>, tensor<5x7xf32>) -> tensor<2x3x7xf32>
  %dt = graph.transpose %d, dims = [2, 0, 1] : (tensor<2x3x7xf32>) -> tensor<7x2x3xf32>
  %e = graph.dot_general %x, %w, batching_dims = [] x [], contracting_dims = [0] x [0] : (tensor<5x2x3xf32>, tensor<5x7xf32>) -> tensor<2x3x7xf32>
  %et = graph.transpose %e, dims = [1, 2, 0] : (tensor<2x3x7xf32>) -> tensor<3x7x2xf32>
  return %dt, %et : tensor<7x2x3xf32>, tensor<3x7x2xf32>
}

// -----

// The order of free dimensions is the result's: this transpose stays.
// CHECK-LABEL: func @keep_free_order
// CHECK: %[[T:.*]] = graph.transpose
// CHECK: graph.dot_general %[[T]], %arg1
func.func @keep_free_order(%x: tensor<3x5x4xf32>, %w: tensor<4x2xf32>) -> tensor<5x3x2xf32> {
  %t = graph.transpose %x, dims = [1, 0, 2] : (tensor<3x5x4xf32>) -> tensor<5x3x4xf32>
  %y = graph.dot_general %t, %w, batching_dims = [] x [], contracting_dims = [2] x [0] : (tensor<5x3x4xf32>, tensor<4x2xf32>) -> tensor<5x3x2xf32>
  return %y : tensor<5x3x2xf32>
}

// -----

// Two contracted dimensions, named in the wrong order: no packing.
// CHECK-LABEL: func @reorder_contraction
// CHECK-NOT: graph.transpose
// CHECK: graph.dot_general %arg0, %arg1, batching_dims = [] x [], contracting_dims = [1, 2] x [0, 1]
func.func @reorder_contraction(%x: tensor<3x4x5xf32>, %w: tensor<4x5x2xf32>) -> tensor<3x2xf32> {
  %y = graph.dot_general %x, %w, batching_dims = [] x [], contracting_dims = [2, 1] x [1, 0] : (tensor<3x4x5xf32>, tensor<4x5x2xf32>) -> tensor<3x2xf32>
  return %y : tensor<3x2xf32>
}

// -----

// A free dimension between contracted ones: packed.
// CHECK-LABEL: func @pack
// CHECK: %[[T:.*]] = graph.transpose %arg0, dims = [1, 0, 2]
// CHECK: graph.dot_general %[[T]], %arg1, batching_dims = [] x [], contracting_dims = [1, 2] x [0, 1]
func.func @pack(%x: tensor<4x3x5xf32>, %w: tensor<4x5x2xf32>) -> tensor<3x2xf32> {
  %y = graph.dot_general %x, %w, batching_dims = [] x [], contracting_dims = [0, 2] x [0, 1] : (tensor<4x3x5xf32>, tensor<4x5x2xf32>) -> tensor<3x2xf32>
  return %y : tensor<3x2xf32>
}

// -----

// No GEMM for integers: left to a kernel.
// CHECK-LABEL: func @integers
// CHECK: graph.transpose
func.func @integers(%x: tensor<4x3xi32>, %w: tensor<4x5xi32>) -> tensor<3x5xi32> {
  %xt = graph.transpose %x, dims = [1, 0] : (tensor<4x3xi32>) -> tensor<3x4xi32>
  %y = graph.dot_general %xt, %w, batching_dims = [] x [], contracting_dims = [1] x [0] : (tensor<3x4xi32>, tensor<4x5xi32>) -> tensor<3x5xi32>
  return %y : tensor<3x5xi32>
}

// -----

// A batch between rows and depth: a matrix with two strides is packed, one with a stride of one is not.
// CHECK-LABEL: func @pack_batch
// CHECK: %[[T:.*]] = graph.transpose %arg0, dims = [2, 0, 1] : (tensor<5x7x3xf32>) -> tensor<3x5x7xf32>
// CHECK: graph.dot_general %[[T]], %arg1, batching_dims = [0] x [1], contracting_dims = [2] x [0]
func.func @pack_batch(%x: tensor<5x7x3xf32>, %w: tensor<7x3x4xf32>) -> tensor<3x5x4xf32> {
  %y = graph.dot_general %x, %w, batching_dims = [2] x [1], contracting_dims = [1] x [0] : (tensor<5x7x3xf32>, tensor<7x3x4xf32>) -> tensor<3x5x4xf32>
  return %y : tensor<3x5x4xf32>
}

// -----

// Free dimensions around the depth: columns of the result would lie apart.
// CHECK-LABEL: func @pack_columns
// CHECK: %[[T:.*]] = graph.transpose %arg1, dims = [0, 2, 1] : (tensor<11x7x3xf32>) -> tensor<11x3x7xf32>
// CHECK: graph.dot_general %arg0, %[[T]], batching_dims = [] x [], contracting_dims = [1] x [2]
func.func @pack_columns(%x: tensor<9x7xf32>, %w: tensor<11x7x3xf32>) -> tensor<9x11x3xf32> {
  %y = graph.dot_general %x, %w, batching_dims = [] x [], contracting_dims = [1] x [1] : (tensor<9x7xf32>, tensor<11x7x3xf32>) -> tensor<9x11x3xf32>
  return %y : tensor<9x11x3xf32>
}

// -----

// Batching dimensions in two orders: 6 calls are well, 70 are not.
// CHECK-LABEL: func @pack_calls
// CHECK: graph.dot_general %arg0, %arg1, batching_dims = [0, 1] x [1, 0]
// CHECK: %[[T:.*]] = graph.transpose %arg3, dims = [1, 0, 3, 2]
// CHECK: graph.dot_general %arg2, %[[T]], batching_dims = [0, 1] x [0, 1], contracting_dims = [3] x [3]
func.func @pack_calls(%a: tensor<6x80x2x3xf32>, %b: tensor<80x6x3x2xf32>, %c: tensor<70x80x2x3xf32>, %d: tensor<80x70x3x2xf32>) -> (tensor<6x80x2x2xf32>, tensor<70x80x2x2xf32>) {
  %y = graph.dot_general %a, %b, batching_dims = [0, 1] x [1, 0], contracting_dims = [3] x [2] : (tensor<6x80x2x3xf32>, tensor<80x6x3x2xf32>) -> tensor<6x80x2x2xf32>
  %z = graph.dot_general %c, %d, batching_dims = [0, 1] x [1, 0], contracting_dims = [3] x [2] : (tensor<70x80x2x3xf32>, tensor<80x70x3x2xf32>) -> tensor<70x80x2x2xf32>
  return %y, %z : tensor<6x80x2x2xf32>, tensor<70x80x2x2xf32>
}

// -----

// CHECK-LABEL: func @no_depth
// CHECK: %[[Z:.*]] = graph.constant dense<0.000000e+00> : tensor<3x5xf32>
// CHECK: return %[[Z]]
func.func @no_depth(%x: tensor<3x0xf32>, %w: tensor<0x5xf32>) -> tensor<3x5xf32> {
  %y = graph.dot_general %x, %w, batching_dims = [] x [], contracting_dims = [1] x [0] : (tensor<3x0xf32>, tensor<0x5xf32>) -> tensor<3x5xf32>
  return %y : tensor<3x5xf32>
}
