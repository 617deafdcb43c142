// RUN: minigptc-opt %s --convert-graph-to-exec | FileCheck %s

// What other stages return has no memory here; messages go from and to buffers; their order stays.
// CHECK-LABEL: exec.block @step.0(
// CHECK-SAME: %[[X:[a-z0-9]+]]: memref<4xf32>, %[[W:[a-z0-9]+]]: memref<4xf32> {{.*}}, %[[Y:[a-z0-9]+]]: memref<4xf32>, %{{.*}}: memref<4xf32> {dist.stages = array<i64: 1>}
// CHECK-SAME: frame 64
// CHECK-SAME: dist.stage = 0 : i64, dist.stage_of = "step", graph.entry
// CHECK-NEXT: %[[A:.*]] = exec.frame 0 : memref<4xf32>
// CHECK-NEXT: exec.launch @k ins(%[[X]] : memref<4xf32>) outs(%[[A]] : memref<4xf32>)
// CHECK-NEXT: exec.send %[[A]] to 1 tag = 0 : memref<4xf32>
// CHECK-NEXT: exec.recv %[[Y]] from 1 tag = 1 : memref<4xf32>
// CHECK-NEXT: exec.return
func.func private @k(%x: tensor<4xf32>) -> tensor<4xf32> attributes {exec.kernel} {
  %0 = graph.negate %x : tensor<4xf32>
  return %0 : tensor<4xf32>
}
func.func @step.0(%x: tensor<4xf32>, %w: tensor<4xf32> {graph.donate = 1 : i64, dist.stages = array<i64: 1>})
    -> (tensor<4xf32>, tensor<4xf32> {dist.stages = array<i64: 1>})
    attributes {graph.entry, dist.stage = 0 : i64, dist.stage_of = "step"} {
  %0 = call @k(%x) : (tensor<4xf32>) -> tensor<4xf32>
  dist.send %0 to 1 tag = 0 : tensor<4xf32>
  %1 = dist.recv from 1 tag = 1 : tensor<4xf32>
  %2 = dist.absent : tensor<4xf32>
  return %1, %2 : tensor<4xf32>, tensor<4xf32>
}
