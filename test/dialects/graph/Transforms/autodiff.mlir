// RUN: minigptc-opt %s --graph-autodiff --graph-simplify-functions -split-input-file -verify-diagnostics | FileCheck %s

// A block called twice: one forward and one backward function. Saved are the
// product and the softmax; silu is computed again, arguments are passed.
// CHECK-LABEL: func.func private @block.fwd(
// CHECK: %[[DOT:.*]] = graph.dot_general
// CHECK: %[[SOFT:.*]] = graph.softmax
// CHECK: return %{{.*}}, %[[DOT]], %[[SOFT]] : tensor<2x4xf32>, tensor<2x4xf32>, tensor<2x4xf32>
// CHECK-LABEL: func.func private @block.bwd(
// CHECK-SAME: %[[X:.*]]: tensor<2x4xf32>, %[[W:.*]]: tensor<4x4xf32>, %[[D:.*]]: tensor<2x4xf32>, %[[S:.*]]: tensor<2x4xf32>, %[[CT:.*]]: tensor<2x4xf32>) -> (tensor<2x4xf32>, tensor<4x4xf32>)
// CHECK-NOT: graph.softmax
// CHECK: graph.logistic %[[D]]
// CHECK-NOT: @block.{{[a-z.0-9]*}}(
// CHECK-LABEL: func.func private @loss.fwd(
// CHECK: call @block.fwd(
// CHECK: call @block.fwd(
// CHECK-LABEL: func.func private @loss.bwd(
// CHECK: call @block.bwd(
// CHECK: call @block.bwd(
// CHECK-LABEL: func.func @shared
// CHECK: call @loss.fwd(
// CHECK: call @loss.bwd(
func.func private @block(%x: tensor<2x4xf32>, %w: tensor<4x4xf32>) -> tensor<2x4xf32> {
  %0 = graph.dot_general %x, %w, batching_dims = [] x [], contracting_dims = [1] x [0] : (tensor<2x4xf32>, tensor<4x4xf32>) -> tensor<2x4xf32>
  %1 = graph.silu %0 : tensor<2x4xf32>
  %2 = graph.softmax %1, dim = 1 : tensor<2x4xf32>
  %3 = graph.add %2, %x : tensor<2x4xf32>
  return %3 : tensor<2x4xf32>
}
func.func private @loss(%x: tensor<2x4xf32>, %w0: tensor<4x4xf32>, %w1: tensor<4x4xf32>) -> tensor<f32> {
  %0 = call @block(%x, %w0) : (tensor<2x4xf32>, tensor<4x4xf32>) -> tensor<2x4xf32>
  %1 = call @block(%0, %w1) : (tensor<2x4xf32>, tensor<4x4xf32>) -> tensor<2x4xf32>
  %2 = graph.reduce sum, %1, dims = [0, 1] : (tensor<2x4xf32>) -> tensor<f32>
  return %2 : tensor<f32>
}
func.func @shared(%one: tensor<f32>, %x: tensor<2x4xf32>, %w0: tensor<4x4xf32>, %w1: tensor<4x4xf32>) -> (tensor<f32>, tensor<2x4xf32>, tensor<4x4xf32>, tensor<4x4xf32>) {
  %0:4 = graph.vjp @loss(%x, %w0, %w1) cotangents(%one) wrt [0, 1, 2] : (tensor<2x4xf32>, tensor<4x4xf32>, tensor<4x4xf32>), (tensor<f32>) -> (tensor<f32>, tensor<2x4xf32>, tensor<4x4xf32>, tensor<4x4xf32>)
  return %0#0, %0#1, %0#2, %0#3: tensor<f32>, tensor<2x4xf32>, tensor<4x4xf32>, tensor<4x4xf32>
}

// -----

// Gradients that nobody uses are not computed; neither is the forward pass here,
// but for what the backward pass reads. A zero cotangent asks for nothing.
// CHECK-NOT: graph.exponential
// CHECK-LABEL: func.func private @f.bwd
// CHECK-SAME: (%arg0: tensor<4xf32>, %arg1: tensor<4xf32>) -> tensor<4xf32>
// CHECK-NEXT: graph.cosine %arg0
// CHECK-NEXT: graph.multiply %arg1
// CHECK-NEXT: return
// CHECK-LABEL: func.func @dead
// CHECK-NEXT: %[[G:.*]] = call @f.bwd(%arg0, %arg2)
// CHECK-NEXT: return %[[G]]
func.func private @f(%x: tensor<4xf32>, %y: tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>) {
  %0 = graph.sine %x : tensor<4xf32>
  %1 = graph.exponential %y : tensor<4xf32>
  %2 = graph.add %0, %1 : tensor<4xf32>
  %3 = graph.multiply %x, %1 : tensor<4xf32>
  return %2, %3 : tensor<4xf32>, tensor<4xf32>
}
func.func @dead(%x: tensor<4xf32>, %y: tensor<4xf32>, %ct: tensor<4xf32>) -> tensor<4xf32> {
  %zero = graph.constant dense<0.0> : tensor<f32>
  %zeros = graph.broadcast_in_dim %zero, dims = [] : (tensor<f32>) -> tensor<4xf32>
  %0:4 = graph.vjp @f(%x, %y) cotangents(%ct, %zeros) wrt [0, 1] : (tensor<4xf32>, tensor<4xf32>), (tensor<4xf32>, tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>)
  return %0#2 : tensor<4xf32>
}

// -----

// No path: the gradient is zero, the callee is called as it is.
// CHECK-LABEL: func.func @no_path
// CHECK: call @count(%arg0)
// CHECK: %[[ZERO:.*]] = graph.constant dense<0.000000e+00> : tensor<4xf32>
// CHECK: return %{{.*}}, %[[ZERO]]
func.func private @count(%x: tensor<4xf32>) -> tensor<4xf32> {
  %0 = graph.convert %x : (tensor<4xf32>) -> tensor<4xi32>
  %1 = graph.convert %0 : (tensor<4xi32>) -> tensor<4xf32>
  return %1 : tensor<4xf32>
}
func.func @no_path(%x: tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>) {
  %0:2 = graph.vjp @count(%x) cotangents(%x) wrt [0] : (tensor<4xf32>), (tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>)
  return %0#0, %0#1 : tensor<4xf32>, tensor<4xf32>
}

// -----

// `nothing` computes again in the backward function, which is marked too so that
// it stays one; the forward function is the function itself.
// CHECK-LABEL: func.func private @g(
// CHECK-LABEL: func.func private @g.bwd
// CHECK-SAME: (%arg0: tensor<4x4xf32>, %arg1: tensor<4x4xf32>) -> tensor<4x4xf32> attributes {graph.phase = "backward", graph.remat = #graph.remat<nothing>}
// CHECK: graph.dot_general %arg0, %arg0
// CHECK-LABEL: func.func @checkpoint
// CHECK: call @g(%arg0)
// CHECK: call @g.bwd(%arg0, %arg1)
func.func private @g(%x: tensor<4x4xf32>) -> tensor<4x4xf32> attributes {graph.remat = #graph.remat<nothing>} {
  %0 = graph.dot_general %x, %x, batching_dims = [] x [], contracting_dims = [1] x [0] : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
  %1 = graph.softmax %0, dim = 1 : tensor<4x4xf32>
  return %1 : tensor<4x4xf32>
}
func.func @checkpoint(%x: tensor<4x4xf32>, %ct: tensor<4x4xf32>) -> (tensor<4x4xf32>, tensor<4x4xf32>) {
  %0:2 = graph.vjp @g(%x) cotangents(%ct) wrt [0] : (tensor<4x4xf32>), (tensor<4x4xf32>) -> (tensor<4x4xf32>, tensor<4x4xf32>)
  return %0#0, %0#1 : tensor<4x4xf32>, tensor<4x4xf32>
}

// -----

// The mask of a dropout is drawn again, from the key.
// CHECK-LABEL: func.func private @d.bwd
// CHECK-SAME: (%arg0: tensor<2xui32>, %arg1: tensor<4xf32>)
// CHECK-NEXT: graph.dropout %arg1, %arg0
func.func private @d(%x: tensor<4xf32>, %key: tensor<2xui32>) -> tensor<4xf32> {
  %0 = graph.dropout %x, %key rate = 5.000000e-01 : tensor<4xf32>
  return %0 : tensor<4xf32>
}
func.func @dropout(%x: tensor<4xf32>, %key: tensor<2xui32>) -> (tensor<4xf32>, tensor<4xf32>) {
  %0:2 = graph.vjp @d(%x, %key) cotangents(%x) wrt [0] : (tensor<4xf32>, tensor<2xui32>), (tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>)
  return %0#0, %0#1 : tensor<4xf32>, tensor<4xf32>
}

// -----

func.func private @schedule(%x: tensor<f64>) -> tensor<f64> attributes {graph.host} {
  return %x : tensor<f64>
}
func.func private @host(%x: tensor<f32>) -> tensor<f32> {
  // expected-error @+1 {{'graph.host_call' has no derivative}}
  %0 = graph.host_call @schedule(%x) : (tensor<f32>) -> tensor<f32>
  return %0 : tensor<f32>
}
func.func @no_derivative(%x: tensor<f32>) -> tensor<f32> {
  // expected-note @+1 {{needed for the gradient asked for here}}
  %0:2 = graph.vjp @host(%x) cotangents(%x) wrt [0] : (tensor<f32>), (tensor<f32>) -> (tensor<f32>, tensor<f32>)
  return %0#1 : tensor<f32>
}

// -----

// expected-error @+1 {{a function of one block is needed to differentiate elsewhere}}
func.func private @elsewhere(%x: tensor<f32>) -> tensor<f32>
func.func private @calls_elsewhere(%x: tensor<f32>) -> tensor<f32> {
  %0 = call @elsewhere(%x) : (tensor<f32>) -> tensor<f32>
  return %0 : tensor<f32>
}
func.func @no_body(%x: tensor<f32>) -> tensor<f32> {
  // expected-note @+1 {{needed for the gradient asked for here}}
  %0:2 = graph.vjp @calls_elsewhere(%x) cotangents(%x) wrt [0] : (tensor<f32>), (tensor<f32>) -> (tensor<f32>, tensor<f32>)
  return %0#1 : tensor<f32>
}

// -----

// The gradient is named in an error that the op's own rule finds, too.
func.func private @positive(%x: tensor<f32>) -> tensor<i1> {
  %zero = graph.constant dense<0.0> : tensor<f32>
  %0 = graph.compare GT, %x, %zero : (tensor<f32>, tensor<f32>) -> tensor<i1>
  return %0 : tensor<i1>
}
func.func private @halved(%x: tensor<f32> {graph.donate = 0 : i64}) -> tensor<f32> {
  return %x : tensor<f32>
}
func.func private @repeated(%x: tensor<f32>) -> tensor<f32> {
  // expected-error @+1 {{a while loop has no derivative}}
  %0 = graph.while @positive @halved() carried(%x) : (tensor<f32>) -> tensor<f32>
  return %0 : tensor<f32>
}
func.func @no_derivative_of_its_own(%x: tensor<f32>) -> tensor<f32> {
  // expected-note @+1 {{needed for the gradient asked for here}}
  %0:2 = graph.vjp @repeated(%x) cotangents(%x) wrt [0] : (tensor<f32>), (tensor<f32>) -> (tensor<f32>, tensor<f32>)
  return %0#1 : tensor<f32>
}
