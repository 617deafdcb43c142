// RUN: minigptc-opt %s --pass-pipeline='builtin.module(func.func(graph-accumulate-scatters))' | FileCheck %s

// CHECK-LABEL: func @tied
// CHECK: %[[D:.*]] = graph.dot_general
// CHECK-NEXT: %[[S:.*]] = graph.scatter add, %[[D]][%arg2], %arg3
// CHECK-NEXT: return %[[S]]
func.func @tied(%a: tensor<8x10xf32>, %b: tensor<8x4xf32>, %ids: tensor<3x1xi32>, %rows: tensor<3x4xf32>) -> tensor<10x4xf32> {
  %zero = graph.constant dense<0.0> : tensor<10x4xf32>
  %s = graph.scatter add, %zero[%ids], %rows dims = [0] : (tensor<10x4xf32>, tensor<3x1xi32>, tensor<3x4xf32>) -> tensor<10x4xf32>
  %d = graph.dot_general %a, %b, batching_dims = [] x [], contracting_dims = [0] x [0] : (tensor<8x10xf32>, tensor<8x4xf32>) -> tensor<10x4xf32>
  %sum = graph.add %s, %d : tensor<10x4xf32>
  return %sum : tensor<10x4xf32>
}

// Kept: read by another, added to itself, no zeros, a replacement.
// CHECK-LABEL: func @kept
// CHECK-COUNT-4: graph.add
// CHECK: return
func.func @kept(%x: tensor<10x4xf32>, %ids: tensor<3x1xi32>, %rows: tensor<3x4xf32>) -> (tensor<10x4xf32>, tensor<10x4xf32>, tensor<10x4xf32>, tensor<10x4xf32>, tensor<10x4xf32>) {
  %zero = graph.constant dense<0.0> : tensor<10x4xf32>
  %one = graph.constant dense<1.0> : tensor<10x4xf32>
  %s = graph.scatter add, %zero[%ids], %rows dims = [0] : (tensor<10x4xf32>, tensor<3x1xi32>, tensor<3x4xf32>) -> tensor<10x4xf32>
  %0 = graph.add %s, %x : tensor<10x4xf32>
  %t = graph.scatter add, %zero[%ids], %rows dims = [0] : (tensor<10x4xf32>, tensor<3x1xi32>, tensor<3x4xf32>) -> tensor<10x4xf32>
  %1 = graph.add %t, %t : tensor<10x4xf32>
  %u = graph.scatter add, %one[%ids], %rows dims = [0] : (tensor<10x4xf32>, tensor<3x1xi32>, tensor<3x4xf32>) -> tensor<10x4xf32>
  %2 = graph.add %u, %x : tensor<10x4xf32>
  %v = graph.scatter update, %zero[%ids], %rows dims = [0] : (tensor<10x4xf32>, tensor<3x1xi32>, tensor<3x4xf32>) -> tensor<10x4xf32>
  %3 = graph.add %v, %x : tensor<10x4xf32>
  return %s, %0, %1, %2, %3 : tensor<10x4xf32>, tensor<10x4xf32>, tensor<10x4xf32>, tensor<10x4xf32>, tensor<10x4xf32>
}
