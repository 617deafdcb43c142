// RUN: minigptc-opt %s --convert-graph-to-exec | FileCheck %s

// A collective that is only started uses its operands, and writes its results, up to its wait.

dist.mesh @mesh = <["data"=4]>

func.func private @twice(%x: tensor<4xf32>) -> tensor<4xf32> attributes {exec.kernel} {
  %0 = graph.add %x, %x : tensor<4xf32>
  return %0 : tensor<4xf32>
}

// The operand's last reader does not write over it, and nothing else gets its memory, or that of
// the result, before the wait. Behind it all of it is free again.
// CHECK-LABEL: exec.block @apart
// CHECK-SAME: frame 256
// CHECK: %[[X:.*]] = exec.frame 0 : memref<4xf32>
// CHECK: exec.launch @twice ins(%arg0{{.*}} outs(%[[X]]
// CHECK: %[[Y:.*]] = exec.frame 64 : memref<4xf32>
// CHECK: %[[TOKEN:.*]] = exec.collective permute {{.*}} ins(%[[X]] {{.*}} outs(%[[Y]] {{.*}} -> !exec.token
// CHECK: %[[A:.*]] = exec.frame [[A_AT:128|192]] :
// CHECK: exec.launch @twice ins(%[[X]]{{.*}} outs(%[[A]]
// CHECK: %[[B:.*]] = exec.frame [[A_AT]]
// CHECK: exec.launch @twice ins(%[[A]]{{.*}} outs(%[[B]]
// CHECK: exec.wait %[[TOKEN]] : !exec.token
// CHECK: %[[C:.*]] = exec.frame 64 :
// CHECK: exec.launch @twice ins(%[[Y]]{{.*}} outs(%[[C]]
func.func private @apart(%x: tensor<4xf32>) -> tensor<4xf32> {
  %0 = call @twice(%x) : (tensor<4xf32>) -> tensor<4xf32>
  %1 = dist.collective_permute %0 over @mesh ["data"] sources = [3, 0, 1, 2] {dist.started} : (tensor<4xf32>) -> tensor<4xf32>
  %2 = call @twice(%0) : (tensor<4xf32>) -> tensor<4xf32>
  %3 = call @twice(%2) : (tensor<4xf32>) -> tensor<4xf32>
  %4 = call @twice(%x) : (tensor<4xf32>) -> tensor<4xf32>
  %5 = dist.wait %1 : tensor<4xf32>
  %6 = call @twice(%5) : (tensor<4xf32>) -> tensor<4xf32>
  %7 = call @twice(%6) : (tensor<4xf32>) -> tensor<4xf32>
  %8 = call @add(%7, %4, %3) : (tensor<4xf32>, tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  return %8 : tensor<4xf32>
}
func.func private @add(%x: tensor<4xf32>, %y: tensor<4xf32>, %z: tensor<4xf32>) -> tensor<4xf32> attributes {exec.kernel} {
  %0 = graph.add %x, %y : tensor<4xf32>
  %1 = graph.add %0, %z : tensor<4xf32>
  return %1 : tensor<4xf32>
}

// A started all-reduce works in place, unless another collective that is on its way reads the same.
// CHECK-LABEL: exec.block @in_place
// CHECK: %[[X:.*]] = exec.frame 64 : memref<4xf32>
// CHECK: %[[Y:.*]] = exec.frame 64 : memref<4xf32>
// CHECK: exec.collective all_reduce {{.*}} ins(%[[X]] {{.*}} outs(%[[Y]] {{.*}} -> !exec.token
// CHECK: %[[G:.*]] = exec.frame 0 : memref<16xf32>
// CHECK: exec.collective all_gather {{.*}} ins(%[[Y]] {{.*}} outs(%[[G]] {{.*}} -> !exec.token
// CHECK: %[[Z:.*]] = exec.frame 128 : memref<4xf32>
// CHECK: exec.collective all_reduce {{.*}} ins(%[[Y]] {{.*}} outs(%[[Z]] {{.*}} -> !exec.token
func.func private @in_place(%x: tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>) {
  %0 = call @twice(%x) : (tensor<4xf32>) -> tensor<4xf32>
  %1 = dist.all_reduce %0 over @mesh ["data"] combine = sum {dist.started} : (tensor<4xf32>) -> tensor<4xf32>
  %2 = dist.wait %1 : tensor<4xf32>
  %3 = dist.all_gather %2 over @mesh ["data"] dims = [0] {dist.started} : (tensor<4xf32>) -> tensor<16xf32>
  %4 = dist.all_reduce %2 over @mesh ["data"] combine = sum {dist.started} : (tensor<4xf32>) -> tensor<4xf32>
  %5 = dist.wait %3 : tensor<16xf32>
  %6 = dist.wait %4 : tensor<4xf32>
  %7 = call @twice(%6) : (tensor<4xf32>) -> tensor<4xf32>
  %8 = call @first(%5) : (tensor<16xf32>) -> tensor<4xf32>
  return %7, %8 : tensor<4xf32>, tensor<4xf32>
}
func.func private @first(%x: tensor<16xf32>) -> tensor<4xf32> attributes {exec.kernel} {
  %0 = graph.slice %x [0] : [4] : [1] : (tensor<16xf32>) -> tensor<4xf32>
  return %0 : tensor<4xf32>
}

// A donated input that is still being read is not written: the new value is copied at the end.
// CHECK-LABEL: exec.block @donated
// CHECK: %[[TOKEN:.*]] = exec.collective permute {{.*}} ins(%arg0 {{.*}} outs(%arg3
// CHECK: %[[T:.*]] = exec.frame 0
// CHECK: exec.launch @twice ins(%arg1{{.*}} outs(%[[T]]
// CHECK: exec.wait %[[TOKEN]]
// CHECK: exec.copy %[[T]] to %arg2
func.func @donated(%x: tensor<4xf32> {graph.donate = 0 : i64, graph.name = "x"}, %y: tensor<4xf32> {graph.name = "y"})
    -> (tensor<4xf32> {graph.name = "a"}, tensor<4xf32> {graph.name = "b"}) attributes {graph.entry} {
  %0 = dist.collective_permute %x over @mesh ["data"] sources = [3, 0, 1, 2] {dist.started} : (tensor<4xf32>) -> tensor<4xf32>
  %1 = call @twice(%y) : (tensor<4xf32>) -> tensor<4xf32>
  %2 = dist.wait %0 : tensor<4xf32>
  return %1, %2 : tensor<4xf32>, tensor<4xf32>
}
