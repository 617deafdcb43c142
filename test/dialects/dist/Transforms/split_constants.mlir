// RUN: minigptc-opt %s --dist-split-constants -split-input-file | FileCheck %s

// A constant for every use, also for two operands of one op.
// CHECK-LABEL: func @shared
// CHECK-COUNT-3: = graph.constant
// CHECK: %[[SUM:.*]] = graph.add %[[B:[0-9]+]], %
// CHECK-NOT: graph.multiply %[[SUM]], %[[B]]
// CHECK: graph.multiply %[[SUM]], %
dist.mesh @mesh = <["data"=2]>
func.func @shared() -> tensor<4x4xf32> {
  %one = graph.constant dense<1.0> : tensor<4x4xf32>
  %sum = graph.add %one, %one : tensor<4x4xf32>
  %product = graph.multiply %sum, %one : tensor<4x4xf32>
  return %product : tensor<4x4xf32>
}

// -----

// Without a mesh there is nothing to do.
// CHECK-LABEL: func @one_device
// CHECK-COUNT-1: graph.constant
// CHECK-NOT: graph.constant
func.func @one_device() -> tensor<4x4xf32> {
  %one = graph.constant dense<1.0> : tensor<4x4xf32>
  %sum = graph.add %one, %one : tensor<4x4xf32>
  return %sum : tensor<4x4xf32>
}
