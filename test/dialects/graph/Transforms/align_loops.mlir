// RUN: minigptc-opt %s --graph-align-loops | FileCheck %s

// Parts of 12 bytes are taken out of the whole and put into it; those of 64 are cut still.
func.func private @body(%w: tensor<3xf32>, %s: tensor<f32> {graph.donate = 0 : i64}, %x: tensor<1x3xf32>, %y: tensor<16xf32>) -> (tensor<f32>, tensor<1x3xf32>, tensor<16xf32>) {
  %row = graph.reshape %x : (tensor<1x3xf32>) -> tensor<3xf32>
  %0 = graph.add %w, %row : tensor<3xf32>
  %1 = graph.reduce sum, %0, dims = [0] : (tensor<3xf32>) -> tensor<f32>
  %2 = graph.add %s, %1 : tensor<f32>
  %3 = graph.reshape %0 : (tensor<3xf32>) -> tensor<1x3xf32>
  return %2, %3, %y : tensor<f32>, tensor<1x3xf32>, tensor<16xf32>
}
// CHECK-LABEL: func private @body_0(
// CHECK-SAME: %[[W:.*]]: tensor<3xf32>, %[[X:.*]]: tensor<5x3xf32>, %[[S:.*]]: tensor<f32> {graph.donate = 0 : i64}, %[[ALL:.*]]: tensor<5x3xf32> {graph.donate = 1 : i64}, %[[Y:.*]]: tensor<16xf32>, %[[N:.*]]: tensor<1x8xi64>)
// CHECK: graph.slice %[[N]]
// CHECK: %[[K:.*]] = graph.reshape {{.*}} -> tensor<i64>
// CHECK: graph.dynamic_slice %[[X]][%[[K]], %{{.*}}] sizes = [1, 3]
// CHECK: %[[MADE:.*]] = graph.dynamic_update_slice %[[ALL]], %{{.*}}[%[[K]], %{{.*}}]
// CHECK: return %{{.*}}, %[[MADE]], %[[Y]]
// CHECK-NOT: func private @body(

// CHECK-LABEL: func @loops
func.func @loops(%w: tensor<3xf32>, %x: tensor<5x3xf32>, %y: tensor<80xf32>) -> (tensor<f32>, tensor<5x3xf32>, tensor<80xf32>) {
  %zero = graph.constant dense<0.0> : tensor<f32>
  // CHECK: %[[IOTA:.*]] = graph.iota dim = 0 : tensor<5x8xi64>
  // CHECK: %[[ZEROS:.*]] = graph.constant dense<0.000000e+00> : tensor<5x3xf32>
  // CHECK: graph.scan @body_0(%arg0, %arg1) carried(%{{.*}}, %[[ZEROS]]) cut(%arg2, %[[IOTA]]) count = 5 reverse
  %0:3 = graph.scan @body(%w) carried(%zero) cut(%x, %y) count = 5 reverse : (tensor<3xf32>, tensor<f32>, tensor<5x3xf32>, tensor<80xf32>) -> (tensor<f32>, tensor<5x3xf32>, tensor<80xf32>)
  // The body is shared.
  // CHECK: graph.scan @body_0(
  %1:3 = graph.scan @body(%w) carried(%0#0) cut(%x, %y) count = 5 : (tensor<3xf32>, tensor<f32>, tensor<5x3xf32>, tensor<80xf32>) -> (tensor<f32>, tensor<5x3xf32>, tensor<80xf32>)
  return %1#0, %0#1, %1#2 : tensor<f32>, tensor<5x3xf32>, tensor<80xf32>
}
