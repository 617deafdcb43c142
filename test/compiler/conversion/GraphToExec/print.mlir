// RUN: minigptc-opt %s --convert-graph-to-exec --split-input-file --verify-diagnostics=only-expected | FileCheck %s

// One device of those that hold the same prints: along all axes that the print does not name, but for
// that of stages, each of which has an order of its own.
// CHECK-LABEL: exec.block @step
// CHECK: exec.print ["x ", ""](%arg0 : memref<4xf32>) examples = 0 first of [4, 2, 1] [2, 2, 2]
// CHECK-NEXT: exec.print ["x ", ""](%arg0 : memref<4xf32>) examples = 1 first of [4, 1] [2, 2]
// CHECK-NEXT: exec.return
dist.mesh @mesh = <["stage"=2, "data"=2, "tensor"=2, "other"=2]>
func.func @step(%x: tensor<4xf32>) attributes {graph.entry} {
  graph.print ["x ", ""] (%x : tensor<4xf32>)
  graph.print ["x ", ""] (%x : tensor<4xf32>) {axes = ["tensor"], examples = 1 : i64}
  return
}

// -----

// Without a mesh there is one.
// CHECK-LABEL: exec.block @alone
// CHECK: exec.print ["text"] examples = 0 first of [] []
func.func @alone() attributes {graph.entry} {
  graph.print ["text"]
  return
}

// -----

func.func @no_axis(%x: tensor<4xf32>) attributes {graph.entry} {
  // expected-error @+1 {{prints along axis 'row', which no mesh has}}
  graph.print ["x ", ""] (%x : tensor<4xf32>) {axes = ["row"]}
  return
}
