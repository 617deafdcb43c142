// RUN: minigptc-opt %s | minigptc-opt | FileCheck %s
// CHECK-LABEL: func @f
// CHECK: graph.add %arg0, %arg0 : tensor<4xf32>
func.func @f(%x: tensor<4xf32>) -> tensor<4xf32> {
  %0 = graph.add %x, %x : tensor<4xf32>
  return %0 : tensor<4xf32>
}
