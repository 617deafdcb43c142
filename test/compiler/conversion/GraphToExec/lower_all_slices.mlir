// RUN: minigptc-opt %s --lower-all-slices | FileCheck %s

dist.mesh @mesh = <["data"=4, "tensor"=2]>

// The device's number along the axes, major to minor, says where its parts begin.
// CHECK-LABEL: func @slices
// CHECK: %[[I:.*]] = dist.axis_index @mesh ["tensor", "data"] : tensor<i64>
// CHECK: %[[TWO:.*]] = graph.constant dense<2>
// CHECK: %[[S:.*]] = graph.multiply %[[I]], %[[TWO]]
// CHECK: %[[ZERO:.*]] = graph.constant dense<0>
// CHECK: %[[A:.*]] = graph.dynamic_slice %arg0[%[[S]], %[[ZERO]]] sizes = [2, 3]
// CHECK: %[[B:.*]] = graph.dynamic_slice %arg1[{{.*}}] sizes = [5, 1]
// CHECK-NOT: all_slice
// CHECK: return %[[A]], %[[B]]
func.func @slices(%x: tensor<16x3xf32>, %y: tensor<5x8xf32>) -> (tensor<2x3xf32>, tensor<5x1xf32>) {
  %0, %1 = dist.all_slice %x, %y over @mesh ["tensor", "data"] dims = [0, 1]
      : (tensor<16x3xf32>, tensor<5x8xf32>) -> (tensor<2x3xf32>, tensor<5x1xf32>)
  return %0, %1 : tensor<2x3xf32>, tensor<5x1xf32>
}
