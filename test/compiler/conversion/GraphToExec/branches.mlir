// RUN: minigptc-opt %s --convert-graph-to-exec | FileCheck %s
// RUN: minigptc-opt %s --convert-graph-to-exec --exec-inline-blocks | FileCheck %s --check-prefix=INLINED

func.func private @k(%x: tensor<16xf32>) -> tensor<16xf32> attributes {exec.kernel} {
  %0 = graph.negate %x : tensor<16xf32>
  return %0 : tensor<16xf32>
}
func.func private @positive(%x: tensor<16xf32>) -> tensor<i1> attributes {exec.kernel} {
  %zero = graph.constant dense<0.0> : tensor<f32>
  %0 = graph.reduce sum, %x, dims = [0] : (tensor<16xf32>) -> tensor<f32>
  %1 = graph.compare GT, %0, %zero : (tensor<f32>, tensor<f32>) -> tensor<i1>
  return %1 : tensor<i1>
}
func.func private @twice(%x: tensor<16xf32>) -> tensor<16xf32> {
  %0 = call @k(%x) : (tensor<16xf32>) -> tensor<16xf32>
  %1 = call @k(%0) : (tensor<16xf32>) -> tensor<16xf32>
  return %1 : tensor<16xf32>
}
func.func private @once(%x: tensor<16xf32>) -> tensor<16xf32> {
  %0 = call @k(%x) : (tensor<16xf32>) -> tensor<16xf32>
  return %0 : tensor<16xf32>
}
// The frame is that of the larger block, behind what is alive. A block that a branch may call stays.
// CHECK-LABEL: exec.block @cond
// CHECK: exec.branch %arg0 then @twice else @once ins(%[[X:.*]] : memref<16xf32>) outs(%arg2 : memref<16xf32>) frame 64 : memref<i1>
// INLINED: exec.block @once
// INLINED: exec.block @cond
func.func @cond(%p: tensor<i1>, %x: tensor<16xf32>) -> tensor<16xf32> {
  %0 = call @k(%x) : (tensor<16xf32>) -> tensor<16xf32>
  %1 = graph.cond %p then @twice else @once(%0) : (tensor<i1>, tensor<16xf32>) -> tensor<16xf32>
  return %1 : tensor<16xf32>
}

func.func private @holds(%x: tensor<16xf32>) -> tensor<i1> {
  %0 = call @positive(%x) : (tensor<16xf32>) -> tensor<i1>
  return %0 : tensor<i1>
}
func.func private @next(%x: tensor<16xf32> {graph.donate = 0 : i64}) -> tensor<16xf32> {
  %0 = call @k(%x) : (tensor<16xf32>) -> tensor<16xf32>
  return %0 : tensor<16xf32>
}
// What is carried starts in the result's memory.
// CHECK-LABEL: exec.block @while
// CHECK: exec.copy %arg0 to %arg1
// CHECK: %[[P:.*]] = exec.frame {{[0-9]+}} : memref<i1>
// CHECK: exec.while @holds @next ins(%arg1 : memref<16xf32>) outs(%arg1 : memref<16xf32>) predicate %[[P]] frame 0 : memref<i1>
func.func @while(%x: tensor<16xf32>) -> tensor<16xf32> {
  %0 = graph.while @holds @next() carried(%x) : (tensor<16xf32>) -> tensor<16xf32>
  return %0 : tensor<16xf32>
}
