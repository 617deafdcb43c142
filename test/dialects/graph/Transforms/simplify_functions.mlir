// RUN: minigptc-opt %s --graph-simplify-functions -split-input-file -verify-diagnostics | FileCheck %s

// Equal but for names and locations: one function, also where only the callees
// differ by name.
// CHECK-LABEL: func.func private @a(
// CHECK-NOT: @b(
// CHECK-LABEL: func.func private @calls_a(
// CHECK-NOT: @calls_b(
// CHECK-LABEL: func.func @merge
// CHECK: call @calls_a
// CHECK: call @calls_a
// CHECK: graph.vjp @a
func.func private @a(%x: tensor<4xf32>) -> tensor<4xf32> {
  %0 = graph.sine %x : tensor<4xf32>
  return %0 : tensor<4xf32>
}
func.func private @b(%y: tensor<4xf32>) -> tensor<4xf32> {
  %0 = graph.sine %y : tensor<4xf32> loc("elsewhere.cpp":1:1)
  return %0 : tensor<4xf32>
}
func.func private @calls_a(%x: tensor<4xf32>) -> tensor<4xf32> {
  %0 = call @a(%x) : (tensor<4xf32>) -> tensor<4xf32>
  return %0 : tensor<4xf32>
}
func.func private @calls_b(%x: tensor<4xf32>) -> tensor<4xf32> {
  %0 = call @b(%x) : (tensor<4xf32>) -> tensor<4xf32>
  return %0 : tensor<4xf32>
}
func.func @merge(%x: tensor<4xf32>) -> tensor<4xf32> attributes {graph.entry} {
  %0 = call @calls_a(%x) : (tensor<4xf32>) -> tensor<4xf32>
  %1 = call @calls_b(%0) : (tensor<4xf32>) -> tensor<4xf32>
  %2:2 = graph.vjp @b(%x) cotangents(%1) wrt [0] : (tensor<4xf32>), (tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>)
  return %2#1 : tensor<4xf32>
}

// -----

// Different: attributes, connections, function attributes.
// CHECK-LABEL: func.func @different
// CHECK: call @sub
// CHECK: call @reversed
// CHECK: call @remat
func.func private @sub(%x: tensor<4xf32>, %y: tensor<4xf32>) -> tensor<4xf32> {
  %0 = graph.subtract %x, %y : tensor<4xf32>
  return %0 : tensor<4xf32>
}
func.func private @reversed(%x: tensor<4xf32>, %y: tensor<4xf32>) -> tensor<4xf32> {
  %0 = graph.subtract %y, %x : tensor<4xf32>
  return %0 : tensor<4xf32>
}
func.func private @remat(%x: tensor<4xf32>, %y: tensor<4xf32>) -> tensor<4xf32> attributes {graph.remat = #graph.remat<dots>} {
  %0 = graph.subtract %x, %y : tensor<4xf32>
  return %0 : tensor<4xf32>
}
func.func @different(%x: tensor<4xf32>, %y: tensor<4xf32>) -> tensor<4xf32> {
  %0 = call @sub(%x, %y) : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  %1 = call @reversed(%0, %y) : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  %2 = call @remat(%1, %y) : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  return %2 : tensor<4xf32>
}

// -----

// Unused results, the arguments that only they read, and what callers computed
// for those; a result that is an argument; one twice; an argument twice.
// CHECK-LABEL: func.func private @inner
// CHECK-SAME: (%arg0: tensor<4xf32>) -> tensor<4xf32>
func.func private @inner(%a: tensor<4xf32>, %b: tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>) {
  %0 = graph.sine %a : tensor<4xf32>
  %1 = graph.cosine %b : tensor<4xf32>
  return %0, %1 : tensor<4xf32>, tensor<4xf32>
}
// CHECK-LABEL: func.func private @outer
// CHECK-SAME: (%arg0: tensor<4xf32>) -> tensor<4xf32>
// CHECK: graph.add
func.func private @outer(%a: tensor<4xf32>, %b: tensor<4xf32>, %c: tensor<4xf32>)
    -> (tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>) {
  %0:2 = call @inner(%a, %b) : (tensor<4xf32>, tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>)
  %1 = graph.add %0#0, %c : tensor<4xf32>
  return %1, %0#1, %c, %1 : tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>
}
// CHECK-LABEL: func.func @prune
// CHECK-NOT: graph.exponential
// CHECK: %[[X:.*]] = call @outer(%arg0)
// CHECK: %[[Y:.*]] = call @outer(%arg1)
// CHECK: return %[[X]], %[[Y]], %arg0, %[[Y]]
func.func @prune(%x: tensor<4xf32>, %y: tensor<4xf32>)
    -> (tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>) {
  %0 = graph.exponential %x : tensor<4xf32>
  %1:4 = call @outer(%x, %0, %x) : (tensor<4xf32>, tensor<4xf32>, tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>)
  %2:4 = call @outer(%y, %0, %y) : (tensor<4xf32>, tensor<4xf32>, tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>)
  return %1#0, %2#0, %1#2, %2#3 : tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>
}

// -----

// Named by a vjp: keeps its signature. Dead private functions and calls go.
// CHECK-LABEL: func.func private @loss(%arg0: tensor<f32>, %arg1: tensor<f32>)
// CHECK-NOT: @nobody
// CHECK-LABEL: func.func @vjp
// CHECK-NEXT: graph.vjp
func.func private @loss(%x: tensor<f32>, %unused: tensor<f32>) -> tensor<f32> {
  %0 = graph.sine %x : tensor<f32>
  return %0 : tensor<f32>
}
func.func private @nobody(%x: tensor<f32>) -> tensor<f32> {
  %0 = call @loss(%x, %x) : (tensor<f32>, tensor<f32>) -> tensor<f32>
  return %0 : tensor<f32>
}
func.func @vjp(%x: tensor<f32>) -> tensor<f32> {
  %0:2 = graph.vjp @loss(%x, %x) cotangents(%x) wrt [0] : (tensor<f32>, tensor<f32>), (tensor<f32>) -> (tensor<f32>, tensor<f32>)
  %1 = call @nobody(%x) : (tensor<f32>) -> tensor<f32>
  return %0#1 : tensor<f32>
}

// -----

// expected-error @+1 {{recursive function: ping calls itself, directly or through others}}
func.func private @ping(%x: tensor<f32>) -> tensor<f32> {
  %0 = call @pong(%x) : (tensor<f32>) -> tensor<f32>
  return %0 : tensor<f32>
}
func.func private @pong(%x: tensor<f32>) -> tensor<f32> {
  %0 = call @ping(%x) : (tensor<f32>) -> tensor<f32>
  return %0 : tensor<f32>
}
