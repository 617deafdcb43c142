// RUN: minigptc-opt %s --pass-pipeline='builtin.module(func.func(graph-fuse))' --split-input-file | FileCheck %s

// Results that share an input are one kernel; not with a message between them, which would wait for
// both, or come too late for the second.
// CHECK-LABEL: func @alone
// CHECK: graph.fusion(%arg0) : (tensor<16x8xf32>) -> (tensor<16x8xf32>, tensor<16x8xf32>)
// CHECK-NOT: graph.fusion
func.func @alone(%x: tensor<16x8xf32>) -> (tensor<16x8xf32>, tensor<16x8xf32>) {
  %0 = graph.exponential %x : tensor<16x8xf32>
  %1 = graph.tanh %x : tensor<16x8xf32>
  return %0, %1 : tensor<16x8xf32>, tensor<16x8xf32>
}

// CHECK-LABEL: func @between
// CHECK: %[[A:.*]] = graph.fusion(%arg0) : (tensor<16x8xf32>) -> tensor<16x8xf32>
// CHECK: dist.send %[[A]] to 1 tag = 0
// CHECK: %[[B:.*]] = graph.fusion(%arg0) : (tensor<16x8xf32>) -> tensor<16x8xf32>
// CHECK: return %[[A]], %[[B]]
func.func @between(%x: tensor<16x8xf32>) -> (tensor<16x8xf32>, tensor<16x8xf32>) {
  %0 = graph.exponential %x : tensor<16x8xf32>
  dist.send %0 to 1 tag = 0 : tensor<16x8xf32>
  %1 = graph.tanh %x : tensor<16x8xf32>
  return %0, %1 : tensor<16x8xf32>, tensor<16x8xf32>
}

// A sum is made where its summand is, and not at the end, which would keep all summands until then; what is
// made of less is made where it is read.
// CHECK-LABEL: func @sums
// CHECK: graph.fusion(%arg0, %arg1)
// CHECK: graph.add
// CHECK: dist.send
// CHECK: graph.fusion
// CHECK: graph.broadcast_in_dim
// CHECK-NEXT: graph.add
// CHECK-NOT: graph.fusion
func.func @sums(%a: tensor<16x8xf32>, %b: tensor<16x8xf32>, %c: tensor<16x8xf32>, %s: tensor<f32>) -> tensor<16x8xf32> {
  %0 = graph.add %a, %b : tensor<16x8xf32>
  %wide = graph.broadcast_in_dim %s, dims = [] : (tensor<f32>) -> tensor<16x8xf32>
  dist.send %b to 1 tag = 0 : tensor<16x8xf32>
  %1 = graph.add %0, %c : tensor<16x8xf32>
  %2 = graph.multiply %1, %wide : tensor<16x8xf32>
  return %2 : tensor<16x8xf32>
}
