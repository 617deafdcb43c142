// RUN: minigptc-opt %s --convert-graph-to-exec --split-input-file --verify-diagnostics | FileCheck %s

// The chain is computed in the output's buffer.
// CHECK-LABEL: exec.block @chain
// CHECK-NOT: exec.frame
// CHECK-NOT: exec.copy
// CHECK: exec.gemm %arg0 {{.*}} into %arg2 {{.*}} batch = [] :
// CHECK: exec.gemm %arg0 {{.*}} into %arg2 {{.*}} beta = 1.0
func.func @chain(%x: tensor<8x8xf32>, %w: tensor<8x8xf32>) -> tensor<8x8xf32> {
  %a = graph.dot_general %x, %w, batching_dims = [] x [], contracting_dims = [1] x [0] : (tensor<8x8xf32>, tensor<8x8xf32>) -> tensor<8x8xf32>
  %b = graph.dot_accumulate %a, %x, %w, batching_dims = [] x [], contracting_dims = [1] x [1] : (tensor<8x8xf32>, tensor<8x8xf32>, tensor<8x8xf32>) -> tensor<8x8xf32>
  return %b : tensor<8x8xf32>
}

// In the frame, too; what lives on, or is the product's own operand, is copied.
// CHECK-LABEL: exec.block @frame
// CHECK: %[[A:.*]] = exec.frame [[AT:.*]] : memref<8x8xf32>
// CHECK: exec.gemm {{.*}} into %[[A]]
// CHECK: %[[B:.*]] = exec.frame [[AT]] : memref<8x8xf32>
// CHECK-NEXT: exec.gemm {{.*}} into %[[B]] {{.*}} beta = 1.0
// CHECK: %[[C:.*]] = exec.frame
// CHECK-NEXT: exec.copy %[[B]] to %[[C]]
// CHECK-NEXT: exec.gemm %[[B]] {{.*}} into %[[C]] {{.*}} beta = 1.0
// CHECK-NEXT: exec.copy %[[C]] to %arg2
// CHECK-NEXT: exec.gemm %[[C]] {{.*}} into %arg2 {{.*}} beta = 1.0
func.func @frame(%x: tensor<8x8xf32>, %w: tensor<8x8xf32>) -> tensor<8x8xf32> {
  %a = graph.dot_general %x, %w, batching_dims = [] x [], contracting_dims = [1] x [0] : (tensor<8x8xf32>, tensor<8x8xf32>) -> tensor<8x8xf32>
  %b = graph.dot_accumulate %a, %x, %w, batching_dims = [] x [], contracting_dims = [1] x [1] : (tensor<8x8xf32>, tensor<8x8xf32>, tensor<8x8xf32>) -> tensor<8x8xf32>
  %c = graph.dot_accumulate %b, %b, %w, batching_dims = [] x [], contracting_dims = [1] x [1] : (tensor<8x8xf32>, tensor<8x8xf32>, tensor<8x8xf32>) -> tensor<8x8xf32>
  %d = graph.dot_accumulate %c, %c, %w, batching_dims = [] x [], contracting_dims = [1] x [0] : (tensor<8x8xf32>, tensor<8x8xf32>, tensor<8x8xf32>) -> tensor<8x8xf32>
  return %d : tensor<8x8xf32>
}

// Over a donated argument, unless a product in between reads it.
// CHECK-LABEL: exec.block @donated
// CHECK-NOT: exec.copy
// CHECK: exec.gemm %arg1 {{.*}} into %arg3 {{.*}} beta = 1.0
// CHECK-NOT: exec.copy
// CHECK: exec.return
func.func @donated(%s: tensor<8x8xf32> {graph.donate = 0 : i64}, %x: tensor<8x8xf32>, %w: tensor<8x8xf32>) -> tensor<8x8xf32> attributes {graph.entry} {
  %a = graph.dot_accumulate %s, %x, %w, batching_dims = [] x [], contracting_dims = [1] x [1] : (tensor<8x8xf32>, tensor<8x8xf32>, tensor<8x8xf32>) -> tensor<8x8xf32>
  return %a : tensor<8x8xf32>
}
// CHECK-LABEL: exec.block @donated_and_read
// CHECK: exec.gemm %arg1 {{.*}} into %[[A:[a-z0-9]*]]
// CHECK: exec.gemm %arg0 {{.*}} into %[[B:[a-z0-9]*]] {{.*}} beta = 1.0
// CHECK: exec.copy %[[B]] to %arg3
func.func @donated_and_read(%s: tensor<8x8xf32> {graph.donate = 0 : i64}, %x: tensor<8x8xf32>, %w: tensor<8x8xf32>) -> tensor<8x8xf32> attributes {graph.entry} {
  %a = graph.dot_general %x, %w, batching_dims = [] x [], contracting_dims = [1] x [0] : (tensor<8x8xf32>, tensor<8x8xf32>) -> tensor<8x8xf32>
  %b = graph.dot_accumulate %a, %s, %w, batching_dims = [] x [], contracting_dims = [1] x [1] : (tensor<8x8xf32>, tensor<8x8xf32>, tensor<8x8xf32>) -> tensor<8x8xf32>
  return %b : tensor<8x8xf32>
}

// -----

// A function that adds to an argument's memory: calls go on where the sum so far is; what somebody reads
// afterwards is copied first. The other result does not come there.
// CHECK-LABEL: exec.block @add_product(%arg0: memref<8x8xf32>, %arg1: memref<8x8xf32> {graph.donate = 1 : i64}, %arg2: memref<8x8xf32>, %arg3: memref<8x8xf32>)
// CHECK-NOT: exec.copy
// CHECK: exec.gemm {{.*}} into %arg3 {{.*}} beta = 1.0
// CHECK-NOT: exec.copy
func.func private @add_product(%x: tensor<8x8xf32>, %s: tensor<8x8xf32> {graph.donate = 1 : i64}) -> (tensor<8x8xf32>, tensor<8x8xf32>) {
  %a = graph.dot_accumulate %s, %x, %x, batching_dims = [] x [], contracting_dims = [0] x [0] : (tensor<8x8xf32>, tensor<8x8xf32>, tensor<8x8xf32>) -> tensor<8x8xf32>
  %b = graph.dot_general %x, %x, batching_dims = [] x [], contracting_dims = [1] x [0] : (tensor<8x8xf32>, tensor<8x8xf32>) -> tensor<8x8xf32>
  return %b, %a : tensor<8x8xf32>, tensor<8x8xf32>
}
// CHECK-LABEL: exec.block @calls
// CHECK: exec.gemm {{.*}} into %arg2
// CHECK: exec.call @add_product ins(%arg0, %arg2 {{.*}} outs(%[[A:.*]], %arg2
// CHECK: exec.call @add_product ins(%[[A]], %arg2 {{.*}} outs(%arg1, %arg2
// CHECK-NEXT: exec.return
func.func @calls(%x: tensor<8x8xf32>) -> (tensor<8x8xf32>, tensor<8x8xf32>) {
  %s = graph.dot_general %x, %x, batching_dims = [] x [], contracting_dims = [1] x [0] : (tensor<8x8xf32>, tensor<8x8xf32>) -> tensor<8x8xf32>
  %0:2 = call @add_product(%x, %s) : (tensor<8x8xf32>, tensor<8x8xf32>) -> (tensor<8x8xf32>, tensor<8x8xf32>)
  %1:2 = call @add_product(%0#0, %0#1) : (tensor<8x8xf32>, tensor<8x8xf32>) -> (tensor<8x8xf32>, tensor<8x8xf32>)
  return %1#0, %1#1 : tensor<8x8xf32>, tensor<8x8xf32>
}
// CHECK-LABEL: exec.block @read_later
// CHECK: exec.gemm {{.*}} into %arg3
// CHECK-NEXT: exec.copy %arg3 to %arg2
// CHECK-NEXT: exec.call @add_product ins(%arg0, %arg2 {{.*}} outs(%arg1, %arg2
// CHECK-NEXT: exec.return
func.func @read_later(%x: tensor<8x8xf32>) -> (tensor<8x8xf32>, tensor<8x8xf32>, tensor<8x8xf32>) {
  %s = graph.dot_general %x, %x, batching_dims = [] x [], contracting_dims = [1] x [0] : (tensor<8x8xf32>, tensor<8x8xf32>) -> tensor<8x8xf32>
  %0:2 = call @add_product(%x, %s) : (tensor<8x8xf32>, tensor<8x8xf32>) -> (tensor<8x8xf32>, tensor<8x8xf32>)
  return %0#0, %0#1, %s : tensor<8x8xf32>, tensor<8x8xf32>, tensor<8x8xf32>
}
