// RUN: minigptc-opt %s --convert-graph-to-exec | FileCheck %s

// Which pass of a micro-batch a call is, and that one in it is a layer, is told to those who measure.
// CHECK-LABEL: exec.block @step.forward0(
// CHECK: exec.call @layer{{.*}} {dist.layer}
// CHECK-LABEL: exec.block @step.0(
// CHECK: exec.call @step.forward0{{.*}} {dist.task = {micro_batch = 3 : i64, phase = "forward", piece = 0 : i64}}
func.func private @k(%x: tensor<4xf32>) -> tensor<4xf32> attributes {exec.kernel} {
  %0 = graph.negate %x : tensor<4xf32>
  return %0 : tensor<4xf32>
}
func.func private @layer(%x: tensor<4xf32>) -> tensor<4xf32> {
  %0 = call @k(%x) : (tensor<4xf32>) -> tensor<4xf32>
  return %0 : tensor<4xf32>
}
func.func private @step.forward0(%x: tensor<4xf32>) -> tensor<4xf32> attributes {graph.phase = "forward"} {
  %0 = call @layer(%x) {dist.layer} : (tensor<4xf32>) -> tensor<4xf32>
  return %0 : tensor<4xf32>
}
func.func @step.0(%x: tensor<4xf32>) -> tensor<4xf32> attributes {graph.entry, dist.stage = 0 : i64, dist.stage_of = "step"} {
  %0 = call @step.forward0(%x) {dist.task = {micro_batch = 3 : i64, phase = "forward", piece = 0 : i64}} : (tensor<4xf32>) -> tensor<4xf32>
  return %0 : tensor<4xf32>
}
