// RUN: minigptc-opt %s --graph-accumulate-dots | FileCheck %s

// A chain of products, in program order; the first one is memory that dies.
// CHECK-LABEL: func @gradients
// CHECK: %[[A:.*]] = graph.dot_general %arg0, %arg3
// CHECK: %[[B:.*]] = graph.dot_accumulate %[[A]], %arg1, %arg3
// CHECK: %[[C:.*]] = graph.dot_accumulate %[[B]], %arg2, %arg3
// CHECK: return %[[C]]
func.func @gradients(%q: tensor<8x4xf32>, %k: tensor<8x4xf32>, %v: tensor<8x4xf32>, %w: tensor<4x4xf32>) -> tensor<8x4xf32> {
  %a = graph.dot_general %q, %w, batching_dims = [] x [], contracting_dims = [1] x [1] : (tensor<8x4xf32>, tensor<4x4xf32>) -> tensor<8x4xf32>
  %b = graph.dot_general %k, %w, batching_dims = [] x [], contracting_dims = [1] x [1] : (tensor<8x4xf32>, tensor<4x4xf32>) -> tensor<8x4xf32>
  %c = graph.dot_general %v, %w, batching_dims = [] x [], contracting_dims = [1] x [1] : (tensor<8x4xf32>, tensor<4x4xf32>) -> tensor<8x4xf32>
  %0 = graph.add %b, %a : tensor<8x4xf32>
  %1 = graph.add %0, %c : tensor<8x4xf32>
  return %1 : tensor<8x4xf32>
}

// An argument belongs to the caller, unless it is donated.
// CHECK-LABEL: func @argument
// CHECK: graph.add
// CHECK: graph.dot_accumulate %arg1
func.func @argument(%x: tensor<8x4xf32>, %y: tensor<8x4xf32> {graph.donate = 1 : i64}, %w: tensor<4x4xf32>) -> (tensor<8x4xf32>, tensor<8x4xf32>) {
  %a = graph.dot_general %x, %w, batching_dims = [] x [], contracting_dims = [1] x [1] : (tensor<8x4xf32>, tensor<4x4xf32>) -> tensor<8x4xf32>
  %b = graph.dot_general %x, %w, batching_dims = [] x [], contracting_dims = [1] x [0] : (tensor<8x4xf32>, tensor<4x4xf32>) -> tensor<8x4xf32>
  %0 = graph.add %x, %a : tensor<8x4xf32>
  %1 = graph.add %y, %b : tensor<8x4xf32>
  return %0, %1 : tensor<8x4xf32>, tensor<8x4xf32>
}

// Other readers: the product is needed by itself; the summand after the sum; a view of it, perhaps.
// CHECK-LABEL: func @readers
// CHECK-NOT: graph.dot_accumulate
func.func private @f() -> tensor<8x4xf32>
func.func @readers(%x: tensor<8x4xf32>, %w: tensor<4x4xf32>) -> (tensor<8x4xf32>, tensor<8x4xf32>, tensor<8x4xf32>, tensor<8x4xf32>, tensor<32xf32>) {
  %a = graph.dot_general %x, %w, batching_dims = [] x [], contracting_dims = [1] x [1] : (tensor<8x4xf32>, tensor<4x4xf32>) -> tensor<8x4xf32>
  %b = graph.dot_general %x, %w, batching_dims = [] x [], contracting_dims = [1] x [0] : (tensor<8x4xf32>, tensor<4x4xf32>) -> tensor<8x4xf32>
  %c = graph.dot_general %w, %x, batching_dims = [] x [], contracting_dims = [1] x [1] : (tensor<4x4xf32>, tensor<8x4xf32>) -> tensor<4x8xf32>
  %d = graph.transpose %c, dims = [1, 0] : (tensor<4x8xf32>) -> tensor<8x4xf32>
  %y = call @f() : () -> tensor<8x4xf32>
  %z = call @f() : () -> tensor<8x4xf32>
  %flat = graph.reshape %z : (tensor<8x4xf32>) -> tensor<32xf32>
  %0 = graph.add %a, %d : tensor<8x4xf32>
  %1 = graph.add %y, %b : tensor<8x4xf32>
  %2 = graph.negate %y : tensor<8x4xf32>
  %e = graph.dot_general %x, %w, batching_dims = [] x [], contracting_dims = [1] x [0] : (tensor<8x4xf32>, tensor<4x4xf32>) -> tensor<8x4xf32>
  %3 = graph.add %z, %e : tensor<8x4xf32>
  return %0, %1, %2, %3, %flat : tensor<8x4xf32>, tensor<8x4xf32>, tensor<8x4xf32>, tensor<8x4xf32>, tensor<32xf32>
}

// A value with an earlier reader is in memory; one without is part of the sum's kernel.
// CHECK-LABEL: func @residual
// CHECK: %[[S:.*]] = graph.add
// CHECK: graph.reduce sum, %[[S]]
// CHECK: graph.dot_accumulate %[[S]]
// CHECK: graph.dot_general
// CHECK: graph.add
func.func @residual(%x: tensor<8x4xf32>, %y: tensor<8x4xf32>, %w: tensor<4x4xf32>) -> (tensor<8xf32>, tensor<8x4xf32>, tensor<8x4xf32>) {
  %s = graph.add %x, %y : tensor<8x4xf32>
  %r = graph.reduce sum, %s, dims = [1] : (tensor<8x4xf32>) -> tensor<8xf32>
  %a = graph.dot_general %x, %w, batching_dims = [] x [], contracting_dims = [1] x [1] : (tensor<8x4xf32>, tensor<4x4xf32>) -> tensor<8x4xf32>
  %0 = graph.add %s, %a : tensor<8x4xf32>
  %p = graph.multiply %x, %y : tensor<8x4xf32>
  %b = graph.dot_general %y, %w, batching_dims = [] x [], contracting_dims = [1] x [1] : (tensor<8x4xf32>, tensor<4x4xf32>) -> tensor<8x4xf32>
  %1 = graph.add %p, %b : tensor<8x4xf32>
  return %r, %0, %1 : tensor<8xf32>, tensor<8x4xf32>, tensor<8x4xf32>
}

// A product of bf16 is rounded before it is added: in place, the sum would be rounded alone.
// CHECK-LABEL: func @narrow
// CHECK-NOT: graph.dot_accumulate
func.func @narrow(%x: tensor<8x4xbf16>, %w: tensor<4x4xbf16>) -> tensor<8x4xbf16> {
  %a = graph.dot_general %x, %w, batching_dims = [] x [], contracting_dims = [1] x [1] : (tensor<8x4xbf16>, tensor<4x4xbf16>) -> tensor<8x4xbf16>
  %b = graph.dot_general %x, %w, batching_dims = [] x [], contracting_dims = [1] x [0] : (tensor<8x4xbf16>, tensor<4x4xbf16>) -> tensor<8x4xbf16>
  %0 = graph.add %a, %b : tensor<8x4xbf16>
  return %0 : tensor<8x4xbf16>
}

// One that keeps its sums in f32 is not.
// CHECK-LABEL: func @sums
// CHECK: graph.dot_accumulate %arg0, %arg1, %arg2
// CHECK-SAME: (tensor<8x4xf32>, tensor<8x4xbf16>, tensor<4x4xbf16>) -> tensor<8x4xf32>
func.func @sums(%c: tensor<8x4xf32> {graph.donate = 0 : i64}, %x: tensor<8x4xbf16>, %w: tensor<4x4xbf16>) -> tensor<8x4xf32> {
  %a = graph.dot_general %x, %w, batching_dims = [] x [], contracting_dims = [1] x [1] : (tensor<8x4xbf16>, tensor<4x4xbf16>) -> tensor<8x4xf32>
  %0 = graph.add %c, %a : tensor<8x4xf32>
  return %0 : tensor<8x4xf32>
}
