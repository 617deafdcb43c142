// Prints on a mesh: of whole tensors, on the stage that has them, in their order.
// RUN: minigptc-opt %s --split-input-file --graph-mark-prints --dist-specialize --dist-propagate --dist-insert-reshards --dist-check --dist-partition | FileCheck %s
// RUN: minigptc-opt %s --split-input-file --dist-project-stages | FileCheck %s --check-prefix=STAGE

// CHECK-LABEL: func.func @whole
// CHECK: %[[ALL:.*]] = dist.all_gather %arg0 {{.*}} : (tensor<2x4xf32>) -> tensor<4x4xf32>
// CHECK: graph.print ["x ", ""](%[[ALL]] : tensor<4x4xf32>)
// CHECK-NOT: graph.print
// CHECK: call @say({{.*}}) {{.*}}graph.prints
// CHECK: return
dist.mesh @mesh = <["data"=2]>
func.func private @say(%x: tensor<4x4xf32>) {
  graph.print ["also ", ""] (%x : tensor<4x4xf32>)
  return
}
func.func @whole(%x: tensor<4x4xf32> {dist.sharding = #dist.sharding<@mesh, [{"data"}, {} ]>}) attributes {graph.entry} {
  graph.print ["x ", ""] (%x : tensor<4x4xf32>)
  call @say(%x) : (tensor<4x4xf32>) -> ()
  return
}

// -----

// STAGE-LABEL: func.func @step.0
// STAGE: graph.print ["a ", ""]
// STAGE-NEXT: %[[READ:.*]] = graph.tanh
// STAGE-NEXT: graph.print ["read by nobody else ", ""](%[[READ]]
// STAGE-NEXT: graph.print ["any"]
// STAGE-NEXT: dist.send
// STAGE-NOT: graph.print
// STAGE-LABEL: func.func @step.1
// STAGE-NOT: graph.print ["a
// STAGE: dist.recv
// STAGE-NEXT: graph.print ["b ", ""]
// STAGE-NOT: graph.print
// STAGE: return
dist.mesh @mesh = <["stage"=2]>
func.func @step(%x: tensor<4xf32>) -> tensor<4xf32> attributes {graph.entry} {
  %0 = graph.negate %x {dist.stage = 0 : i64} : tensor<4xf32>
  graph.print ["a ", ""] (%0 : tensor<4xf32>)
  %read = graph.tanh %0 : tensor<4xf32>
  graph.print ["read by nobody else ", ""] (%read : tensor<4xf32>)
  graph.print ["any"]
  %1 = dist.transfer %0 from 0 to 1 : tensor<4xf32>
  graph.print ["b ", ""] (%1 : tensor<4xf32>)
  %2 = graph.negate %1 : tensor<4xf32>
  return %2 : tensor<4xf32>
}
