// RUN: minigptc-opt %s --dist-decompose -split-input-file | FileCheck %s

// What draws becomes bits, which every device draws for its part; what has a rule stays.
// CHECK-LABEL: func @draws
// CHECK-NOT: graph.random_normal
// CHECK: graph.random_bits
// CHECK: graph.softmax
dist.mesh @mesh = <["data"=2]>
func.func @draws(%key: tensor<2xui32>) -> tensor<4x4xf32> {
  %0 = graph.random_normal %key : tensor<4x4xf32>
  %1 = graph.softmax %0, dim = 1 : tensor<4x4xf32>
  return %1 : tensor<4x4xf32>
}

// -----

// CHECK-LABEL: func @one_device
// CHECK: graph.random_normal
func.func @one_device(%key: tensor<2xui32>) -> tensor<4x4xf32> {
  %0 = graph.random_normal %key : tensor<4x4xf32>
  return %0 : tensor<4x4xf32>
}
