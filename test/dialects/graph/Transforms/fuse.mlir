// RUN: minigptc-opt %s --pass-pipeline='builtin.module(func.func(graph-fuse))' --split-input-file | FileCheck %s

// A chain with a broadcast is one kernel; the product is none.
// CHECK-LABEL: func @chain
// CHECK: %[[D:.*]] = graph.dot_general
// CHECK: %[[F:.*]] = graph.fusion(%arg2, %[[D]]) : (tensor<8xf32>, tensor<4x8xf32>) -> tensor<4x8xf32>
// CHECK-NEXT: ^bb0(%[[B:.*]]: tensor<8xf32>, %[[A:.*]]: tensor<4x8xf32>)
// CHECK: graph.constant dense<0.0
// CHECK: graph.broadcast_in_dim %[[B]]
// CHECK: graph.maximum
// CHECK: graph.yield
// CHECK-NOT: graph.fusion
// CHECK: return %[[F]]
func.func @chain(%x: tensor<4x3xf32>, %w: tensor<3x8xf32>, %b: tensor<8xf32>) -> tensor<4x8xf32> {
  %zero = graph.constant dense<0.0> : tensor<4x8xf32>
  %d = graph.dot_general %x, %w, batching_dims = [] x [], contracting_dims = [1] x [0] : (tensor<4x3xf32>, tensor<3x8xf32>) -> tensor<4x8xf32>
  %bb = graph.broadcast_in_dim %b, dims = [1] : (tensor<8xf32>) -> tensor<4x8xf32>
  %0 = graph.add %d, %bb : tensor<4x8xf32>
  %1 = graph.maximum %0, %zero : tensor<4x8xf32>
  return %1 : tensor<4x8xf32>
}

// -----

// A softmax is one walk over the rows, with exp computed once.
// CHECK-LABEL: func @softmax
// CHECK: %[[Y:.*]] = graph.fusion(%arg0) : (tensor<64x64xf32>) -> tensor<64x64xf32>
// CHECK: graph.exponential
// CHECK-NOT: graph.exponential
// CHECK-NOT: graph.fusion
// CHECK: return %[[Y]]
func.func @softmax(%x: tensor<64x64xf32>) -> tensor<64x64xf32> {
  %m = graph.reduce max, %x, dims = [1] : (tensor<64x64xf32>) -> tensor<64xf32>
  %mb = graph.broadcast_in_dim %m, dims = [0] : (tensor<64xf32>) -> tensor<64x64xf32>
  %c = graph.subtract %x, %mb : tensor<64x64xf32>
  %e = graph.exponential %c : tensor<64x64xf32>
  %s = graph.reduce sum, %e, dims = [1] : (tensor<64x64xf32>) -> tensor<64xf32>
  %sb = graph.broadcast_in_dim %s, dims = [0] : (tensor<64xf32>) -> tensor<64x64xf32>
  %y = graph.divide %e, %sb : tensor<64x64xf32>
  return %y : tensor<64x64xf32>
}

// -----

// An update: results of one shape that share inputs are one kernel.
// CHECK-LABEL: func @update
// CHECK: %[[F:.*]]:2 = graph.fusion(
// CHECK: graph.yield {{.*}} : tensor<16x8xf32>, tensor<16x8xf32>
// CHECK-NOT: graph.fusion
// CHECK: return
func.func @update(%w: tensor<16x8xf32>, %m: tensor<16x8xf32>, %g: tensor<16x8xf32>, %lr: tensor<f32>, %ok: tensor<i1>) -> (tensor<16x8xf32>, tensor<16x8xf32>) {
  %half = graph.constant dense<0.5> : tensor<16x8xf32>
  %lrb = graph.broadcast_in_dim %lr, dims = [] : (tensor<f32>) -> tensor<16x8xf32>
  %m0 = graph.multiply %m, %half : tensor<16x8xf32>
  %m1 = graph.add %m0, %g : tensor<16x8xf32>
  %u = graph.multiply %m1, %lrb : tensor<16x8xf32>
  %w1 = graph.subtract %w, %u : tensor<16x8xf32>
  %w2 = graph.select %ok, %w1, %w : tensor<i1>, tensor<16x8xf32>
  %m2 = graph.select %ok, %m1, %m : tensor<i1>, tensor<16x8xf32>
  return %w2, %m2 : tensor<16x8xf32>, tensor<16x8xf32>
}

// -----

// A value that is both a result and read on: computed once, in one kernel.
// CHECK-LABEL: func @producer
// CHECK: %[[F:.*]]:2 = graph.fusion(%arg0)
// CHECK: graph.tanh
// CHECK-NOT: graph.tanh
// CHECK: return %[[F]]#0, %[[F]]#1
func.func @producer(%x: tensor<64xf32>) -> (tensor<64xf32>, tensor<64xf32>) {
  %t = graph.tanh %x : tensor<64xf32>
  %s = graph.multiply %t, %t : tensor<64xf32>
  return %t, %s : tensor<64xf32>, tensor<64xf32>
}

// -----

// Not merged: the second kernel needs the first by way of a product.
// CHECK-LABEL: func @path_outside
// CHECK: graph.fusion(%arg0)
// CHECK: graph.dot_general
// CHECK: graph.fusion(
// CHECK: return
func.func @path_outside(%x: tensor<4x4xf32>) -> tensor<4x4xf32> {
  %t = graph.tanh %x : tensor<4x4xf32>
  %d = graph.dot_general %t, %t, batching_dims = [] x [], contracting_dims = [1] x [0] : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
  %s = graph.multiply %t, %d : tensor<4x4xf32>
  return %s : tensor<4x4xf32>
}

// -----

// A reshape between stored values is a view.
// CHECK-LABEL: func @view
// CHECK: graph.dot_general
// CHECK-NEXT: graph.reshape
// CHECK-NEXT: graph.fusion
func.func @view(%x: tensor<4x3xf32>, %w: tensor<3x8xf32>) -> tensor<4x2x4xf32> {
  %d = graph.dot_general %x, %w, batching_dims = [] x [], contracting_dims = [1] x [0] : (tensor<4x3xf32>, tensor<3x8xf32>) -> tensor<4x8xf32>
  %r = graph.reshape %d : (tensor<4x8xf32>) -> tensor<4x2x4xf32>
  %t = graph.tanh %r : tensor<4x2x4xf32>
  return %t : tensor<4x2x4xf32>
}

// -----

// Opaque ops are alone, but for splats; their scalar operands are data, so that
// layers that differ in a number share the kernel.
// CHECK-LABEL: func @opaque
// CHECK: %[[ONE:.*]] = graph.constant dense<1>
// CHECK: graph.fusion(%arg0, %[[ONE]]) : (tensor<2xui32>, tensor<i32>)
// CHECK: graph.fold_in
// CHECK: graph.fusion(%arg1, %arg2)
// CHECK-NEXT: ^bb0
// CHECK-NEXT: graph.constant dense<0.0
// CHECK-NEXT: graph.scatter
func.func @opaque(%key: tensor<2xui32>, %ids: tensor<3x1xi32>, %rows: tensor<3x4xf32>) -> (tensor<2xui32>, tensor<9x4xf32>) {
  %one = graph.constant dense<1> : tensor<i32>
  %zero = graph.constant dense<0.0> : tensor<9x4xf32>
  %k = graph.fold_in %key, %one : tensor<i32>
  %s = graph.scatter add, %zero[%ids], %rows dims = [0] : (tensor<9x4xf32>, tensor<3x1xi32>, tensor<3x4xf32>) -> tensor<9x4xf32>
  return %k, %s : tensor<2xui32>, tensor<9x4xf32>
}

// -----

// A chain of scalars (a gradient norm over all parameters) is a chain of equal
// kernels, whatever its length.
// CHECK-LABEL: func @scalars
// CHECK-COUNT-3: graph.fusion({{.*}}) : (tensor<f32>, tensor<f32>) -> tensor<f32>
// CHECK-NOT: graph.fusion
func.func @scalars(%a: tensor<f32>, %b: tensor<f32>, %c: tensor<f32>, %d: tensor<f32>) -> tensor<f32> {
  %0 = graph.add %a, %b : tensor<f32>
  %1 = graph.add %0, %c : tensor<f32>
  %2 = graph.add %1, %d : tensor<f32>
  return %2 : tensor<f32>
}

// -----

// The exponential and the first sum are one kernel, for both read %p. That needs the tanh by way of a product, so
// that the second sum, which needs the exponential, cannot be one with the tanh, though that stands behind both.
// CHECK-LABEL: func @circle
// CHECK: graph.fusion(%arg1)
// CHECK-NEXT: ^bb0
// CHECK-NEXT: graph.tanh
// CHECK-NEXT: graph.yield
// CHECK: graph.fusion(%arg0, %{{.*}})
// CHECK: graph.exponential
// CHECK-NEXT: graph.add
// CHECK: graph.fusion
// CHECK-NEXT: ^bb0
// CHECK-NEXT: graph.add
func.func @circle(%p: tensor<64x64xf32>, %q: tensor<64x64xf32>, %w: tensor<64x64xf32>) -> (tensor<64x64xf32>, tensor<64x64xf32>) {
  %b = graph.exponential %p : tensor<64x64xf32>
  %x = graph.dot_general %b, %w, batching_dims = [] x [], contracting_dims = [1] x [0] : (tensor<64x64xf32>, tensor<64x64xf32>) -> tensor<64x64xf32>
  %t = graph.tanh %q : tensor<64x64xf32>
  %d = graph.dot_general %t, %w, batching_dims = [] x [], contracting_dims = [1] x [0] : (tensor<64x64xf32>, tensor<64x64xf32>) -> tensor<64x64xf32>
  %c = graph.add %p, %d : tensor<64x64xf32>
  %y = graph.add %x, %t : tensor<64x64xf32>
  return %c, %y : tensor<64x64xf32>, tensor<64x64xf32>
}

// -----

// A splat in memory is filled for each call or loop that reads it, right before: these write over it.
// CHECK-LABEL: func @sums
// CHECK-NEXT: %[[A:.*]] = graph.fusion() : () -> tensor<8x8xf32>
// CHECK: graph.yield
// CHECK: %[[B:.*]] = graph.fusion() : () -> tensor<8x8xf32>
// CHECK: graph.yield
// CHECK: %[[R:.*]] = call @add(%[[B]], %[[A]])
// CHECK-NEXT: %[[C:.*]] = graph.fusion() : () -> tensor<8x8xf32>
// CHECK: graph.yield
// CHECK: call @add(%[[R]], %[[C]])
func.func private @add(%s: tensor<8x8xf32>, %x: tensor<8x8xf32>) -> tensor<8x8xf32>
func.func @sums() -> tensor<8x8xf32> {
  %zero = graph.constant dense<0.0> : tensor<8x8xf32>
  %0 = call @add(%zero, %zero) : (tensor<8x8xf32>, tensor<8x8xf32>) -> tensor<8x8xf32>
  %1 = call @add(%0, %zero) : (tensor<8x8xf32>, tensor<8x8xf32>) -> tensor<8x8xf32>
  return %1 : tensor<8x8xf32>
}
