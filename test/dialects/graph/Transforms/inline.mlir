// RUN: minigptc-opt %s --graph-inline -mlir-print-debuginfo -mlir-print-local-scope | FileCheck %s
// RUN: minigptc-opt %s --graph-inline=max-ops=0 | FileCheck %s --check-prefix=NONE

// Small: into every caller. With max-ops=0 only functions with one call site go.
// CHECK-NOT: @small
// NONE: @small
func.func private @small(%x: tensor<4xf32>) -> tensor<4xf32> {
  %0 = graph.tanh %x : tensor<4xf32> loc("model.cpp":3:5)
  return %0 : tensor<4xf32>
}

// Big and called twice: stays one function, with the small ones inlined.
// CHECK-LABEL: func.func private @block
// CHECK: graph.tanh {{.*}} loc(callsite("model.cpp":3:5 at "model.cpp":9:1))
// CHECK: graph.tanh
// CHECK-NOT: call @
func.func private @block(%x: tensor<4xf32>) -> tensor<4xf32> {
  %0 = call @small(%x) : (tensor<4xf32>) -> tensor<4xf32> loc("model.cpp":9:1)
  %1 = call @small(%0) : (tensor<4xf32>) -> tensor<4xf32>
  %2 = graph.sine %1 : tensor<4xf32>
  %3 = graph.cosine %2 : tensor<4xf32>
  %4 = graph.sine %3 : tensor<4xf32>
  %5 = graph.cosine %4 : tensor<4xf32>
  %6 = graph.sine %5 : tensor<4xf32>
  return %6 : tensor<4xf32>
}

// Called once: inlined though it is big. A dead caller does not count.
// CHECK-NOT: @once
// CHECK-NOT: @dead
func.func private @once(%x: tensor<4xf32>) -> tensor<4xf32> {
  %0 = call @block(%x) : (tensor<4xf32>) -> tensor<4xf32>
  %1 = call @block(%0) : (tensor<4xf32>) -> tensor<4xf32>
  %2 = graph.sine %1 : tensor<4xf32>
  %3 = graph.cosine %2 : tensor<4xf32>
  %4 = graph.sine %3 : tensor<4xf32>
  %5 = graph.cosine %4 : tensor<4xf32>
  %6 = graph.sine %5 : tensor<4xf32>
  %7 = graph.sine %6 : tensor<4xf32>
  return %7 : tensor<4xf32>
}
func.func private @dead(%x: tensor<4xf32>) -> tensor<4xf32> {
  %0 = call @once(%x) : (tensor<4xf32>) -> tensor<4xf32>
  return %0 : tensor<4xf32>
}

// Small, but one body for many calls; with one call site it is inlined all the same.
// CHECK-LABEL: func.func private @shared
// CHECK-NOT: @lonely
func.func private @shared(%x: tensor<4xf32>) -> tensor<4xf32> attributes {graph.shared} {
  %0 = graph.sine %x : tensor<4xf32>
  return %0 : tensor<4xf32>
}
func.func private @lonely(%x: tensor<4xf32>) -> tensor<4xf32> attributes {graph.shared} {
  %0 = graph.sine %x : tensor<4xf32>
  return %0 : tensor<4xf32>
}

// CHECK-LABEL: func.func private @checkpointed
func.func private @checkpointed(%x: tensor<4xf32>) -> tensor<4xf32> attributes {graph.remat = #graph.remat<nothing>} {
  %0 = graph.tanh %x : tensor<4xf32>
  return %0 : tensor<4xf32>
}

// CHECK-LABEL: func.func private @rate
func.func private @rate(%t: tensor<f64>) -> tensor<f64> attributes {graph.host} {
  return %t : tensor<f64>
}

// Named by a vjp: stays, and is inlined where it is called.
// CHECK-LABEL: func.func private @loss
func.func private @loss(%x: tensor<f32>) -> tensor<f32> {
  %0 = graph.sine %x : tensor<f32>
  return %0 : tensor<f32>
}

// CHECK-LABEL: func.func @entry
// CHECK-COUNT-2: call @block
// CHECK: call @checkpointed
// CHECK: graph.host_call @rate
// CHECK: graph.sine %arg1
// CHECK-COUNT-2: call @shared
// CHECK: graph.sine
// CHECK: graph.vjp @loss
func.func @entry(%x: tensor<4xf32>, %s: tensor<f32>, %t: tensor<f64>)
    -> (tensor<4xf32>, tensor<f64>, tensor<f32>, tensor<f32>) attributes {graph.entry} {
  %0 = call @once(%x) : (tensor<4xf32>) -> tensor<4xf32>
  %1 = call @checkpointed(%0) : (tensor<4xf32>) -> tensor<4xf32>
  %2 = graph.host_call @rate(%t) : (tensor<f64>) -> tensor<f64>
  %3 = call @loss(%s) : (tensor<f32>) -> tensor<f32>
  %5 = call @shared(%1) : (tensor<4xf32>) -> tensor<4xf32>
  %6 = call @shared(%5) : (tensor<4xf32>) -> tensor<4xf32>
  %7 = call @lonely(%6) : (tensor<4xf32>) -> tensor<4xf32>
  %4:2 = graph.vjp @loss(%3) cotangents(%s) wrt [0] : (tensor<f32>), (tensor<f32>) -> (tensor<f32>, tensor<f32>)
  return %7, %2, %3, %4#1 : tensor<4xf32>, tensor<f64>, tensor<f32>, tensor<f32>
}
