// A scatter adds to its operand in place, unless it reads it for something else.
// RUN: minigptc-opt %s --convert-graph-to-exec | FileCheck %s

func.func private @add_rows(%p: tensor<16x4xf32>, %i: tensor<3x1xi32>, %r: tensor<3x4xf32>) -> tensor<16x4xf32> attributes {exec.kernel} {
  %0 = graph.scatter add, %p[%i], %r dims = [0] : (tensor<16x4xf32>, tensor<3x1xi32>, tensor<3x4xf32>) -> tensor<16x4xf32>
  return %0 : tensor<16x4xf32>
}
func.func private @add_self(%p: tensor<16x4xf32>, %i: tensor<16x1xi32>) -> tensor<16x4xf32> attributes {exec.kernel} {
  %0 = graph.scatter add, %p[%i], %p dims = [0] : (tensor<16x4xf32>, tensor<16x1xi32>, tensor<16x4xf32>) -> tensor<16x4xf32>
  return %0 : tensor<16x4xf32>
}

// CHECK-LABEL: exec.block @in_place
// CHECK: exec.launch @add_rows ins(%arg0{{.*}} outs(%arg3
// CHECK-NOT: exec.copy
func.func @in_place(%p: tensor<16x4xf32> {graph.donate = 0 : i64}, %i: tensor<3x1xi32>, %r: tensor<3x4xf32>) -> (tensor<16x4xf32> {graph.name = "p"}) attributes {graph.entry} {
  %0 = call @add_rows(%p, %i, %r) : (tensor<16x4xf32>, tensor<3x1xi32>, tensor<3x4xf32>) -> tensor<16x4xf32>
  return %0 : tensor<16x4xf32>
}

// CHECK-LABEL: exec.block @elsewhere
// CHECK: %[[N:.*]] = exec.frame
// CHECK: exec.launch @add_self ins(%arg0{{.*}} outs(%[[N]]
// CHECK: exec.copy %[[N]] to %arg2
func.func @elsewhere(%p: tensor<16x4xf32> {graph.donate = 0 : i64}, %i: tensor<16x1xi32>) -> (tensor<16x4xf32> {graph.name = "p"}) attributes {graph.entry} {
  %0 = call @add_self(%p, %i) : (tensor<16x4xf32>, tensor<16x1xi32>) -> tensor<16x4xf32>
  return %0 : tensor<16x4xf32>
}
