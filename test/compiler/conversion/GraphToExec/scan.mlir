// RUN: minigptc-opt %s --convert-graph-to-exec --split-input-file --verify-diagnostics | FileCheck %s

func.func private @k(%s: tensor<16xf32>, %x: tensor<16xf32>) -> tensor<16xf32> attributes {exec.kernel} {
  %0 = graph.add %s, %x : tensor<16xf32>
  return %0 : tensor<16xf32>
}
// CHECK-LABEL: exec.block @body(
// CHECK-SAME: %arg1: memref<16xf32> {graph.donate = 0 : i64}
// CHECK: exec.launch @k ins(%arg1, %arg2 {{.*}} outs(%arg3
// CHECK: exec.launch @k ins(%arg0, %arg2 {{.*}} outs(%arg4
func.func private @body(%w: tensor<16xf32>, %s: tensor<16xf32> {graph.donate = 0 : i64}, %x: tensor<16xf32>) -> (tensor<16xf32>, tensor<16xf32>) {
  %0 = call @k(%s, %x) : (tensor<16xf32>, tensor<16xf32>) -> tensor<16xf32>
  %1 = call @k(%w, %x) : (tensor<16xf32>, tensor<16xf32>) -> tensor<16xf32>
  return %0, %1 : tensor<16xf32>, tensor<16xf32>
}

// What is carried starts in the result's buffer, where the call finds and leaves it.
// CHECK-LABEL: exec.block @fresh
// CHECK: exec.launch @k ins(%arg0, %arg0 {{.*}} outs(%arg2
// CHECK-NOT: exec.copy
// CHECK: exec.call @body ins(%arg0, %arg2, %arg1 {{.*}} outs(%arg2, %arg3 {{.*}} frame 0 count = 4 strides = [0, 0, 64, 0, 64]
func.func @fresh(%w: tensor<16xf32>, %x: tensor<64xf32>) -> (tensor<16xf32>, tensor<64xf32>) {
  %0 = call @k(%w, %w) : (tensor<16xf32>, tensor<16xf32>) -> tensor<16xf32>
  %1:2 = graph.scan @body(%w) carried(%0) cut(%x) count = 4 : (tensor<16xf32>, tensor<16xf32>, tensor<64xf32>) -> (tensor<16xf32>, tensor<64xf32>)
  return %1#0, %1#1 : tensor<16xf32>, tensor<64xf32>
}
// CHECK-LABEL: exec.block @copied
// CHECK: exec.copy %arg0 to %arg2
// CHECK: exec.call @body ins(%arg0, %arg2, %arg1 {{.*}} outs(%arg2, %arg3
func.func @copied(%w: tensor<16xf32>, %x: tensor<64xf32>) -> (tensor<16xf32>, tensor<64xf32>) {
  %1:2 = graph.scan @body(%w) carried(%w) cut(%x) count = 4 : (tensor<16xf32>, tensor<16xf32>, tensor<64xf32>) -> (tensor<16xf32>, tensor<64xf32>)
  return %1#0, %1#1 : tensor<16xf32>, tensor<64xf32>
}

// -----

func.func private @k(%s: tensor<4xf32>) -> tensor<4xf32> attributes {exec.kernel} {
  %0 = graph.add %s, %s : tensor<4xf32>
  return %0 : tensor<4xf32>
}
func.func private @body(%s: tensor<4xf32>) -> tensor<4xf32> {
  %0 = call @k(%s) : (tensor<4xf32>) -> tensor<4xf32>
  return %0 : tensor<4xf32>
}
func.func @unaligned(%x: tensor<16xf32>) -> tensor<16xf32> {
  // expected-error@+1 {{cuts tensors into parts that are no multiple of 64 bytes (--graph-align-loops)}}
  %0 = graph.scan @body() carried() cut(%x) count = 4 : (tensor<16xf32>) -> (tensor<16xf32>)
  return %0 : tensor<16xf32>
}

// -----

func.func private @k(%s: tensor<4xf32>) -> tensor<4xf32> attributes {exec.kernel} {
  %0 = graph.add %s, %s : tensor<4xf32>
  return %0 : tensor<4xf32>
}
func.func private @body(%s: tensor<4xf32> {graph.donate = 0 : i64}) -> tensor<4xf32> {
  %0 = call @k(%s) : (tensor<4xf32>) -> tensor<4xf32>
  return %0 : tensor<4xf32>
}
func.func @branch(%p: tensor<i1>, %x: tensor<4xf32>) -> tensor<4xf32> {
  // expected-error@+1 {{calls @body, whose results take over the memory of its arguments (graph.donate); a call, a loop or the runtime may, a branch may not}}
  %0 = graph.cond %p then @body else @body(%x) : (tensor<i1>, tensor<4xf32>) -> tensor<4xf32>
  return %0 : tensor<4xf32>
}
