// RUN: minigptc-opt %s --convert-graph-to-exec --split-input-file | FileCheck %s

func.func private @tanh(%x: tensor<4x4xf32>) -> tensor<4x4xf32> attributes {exec.kernel} {
  %0 = graph.tanh %x : tensor<4x4xf32>
  return %0 : tensor<4x4xf32>
}
func.func private @transpose(%x: tensor<4x4xf32>) -> tensor<4x4xf32> attributes {exec.kernel} {
  %0 = graph.transpose %x, dims = [1, 0] : (tensor<4x4xf32>) -> tensor<4x4xf32>
  return %0 : tensor<4x4xf32>
}

// An elementwise kernel writes over the input that dies with it (%1 over %0);
// a transposition may not; the last result is the caller's buffer.
// CHECK-LABEL: exec.block @chain(%arg0: memref<4x4xf32>, %arg1: memref<4x4xf32>) inputs 1 frame 128
// CHECK: %[[A:.*]] = exec.frame 0
// CHECK: exec.launch @tanh ins(%arg0 {{.*}} outs(%[[A]]
// CHECK: %[[B:.*]] = exec.frame 0
// CHECK: exec.launch @tanh ins(%[[A]] {{.*}} outs(%[[B]]
// CHECK: %[[C:.*]] = exec.frame 64
// CHECK: exec.launch @transpose ins(%[[B]] {{.*}} outs(%[[C]]
// CHECK-NOT: exec.frame
// CHECK: exec.launch @transpose ins(%[[C]] {{.*}} outs(%arg1
// CHECK-NEXT: exec.return
func.func private @chain(%x: tensor<4x4xf32>) -> tensor<4x4xf32> {
  %0 = call @tanh(%x) : (tensor<4x4xf32>) -> tensor<4x4xf32>
  %1 = call @tanh(%0) : (tensor<4x4xf32>) -> tensor<4x4xf32>
  %2 = call @transpose(%1) : (tensor<4x4xf32>) -> tensor<4x4xf32>
  %3 = call @transpose(%2) : (tensor<4x4xf32>) -> tensor<4x4xf32>
  return %3 : tensor<4x4xf32>
}

// A callee's frame lies in the caller's, beside what is alive. The callee writes
// its result last, hence over its dying argument.
// CHECK-LABEL: exec.block @caller
// CHECK-SAME: frame 192
// CHECK: %[[A:.*]] = exec.frame 128
// CHECK: exec.call @chain ins(%arg0 {{.*}} outs(%[[A]] {{.*}} frame 0
// CHECK: %[[B:.*]] = exec.frame 128
// CHECK: exec.call @chain ins(%[[A]] {{.*}} outs(%[[B]] {{.*}} frame 0
func.func private @caller(%x: tensor<4x4xf32>) -> tensor<4x4xf32> {
  %0 = call @chain(%x) : (tensor<4x4xf32>) -> tensor<4x4xf32>
  %1 = call @chain(%0) : (tensor<4x4xf32>) -> tensor<4x4xf32>
  %2 = call @tanh(%1) : (tensor<4x4xf32>) -> tensor<4x4xf32>
  return %2 : tensor<4x4xf32>
}

// -----

// Products, views, constants, results that are arguments, a result twice.
func.func private @tanh(%x: tensor<2x8xf32>) -> tensor<2x8xf32> attributes {exec.kernel} {
  %0 = graph.tanh %x : tensor<2x8xf32>
  return %0 : tensor<2x8xf32>
}
// CHECK-LABEL: exec.block @mixed
// CHECK-SAME: inputs 2
// CHECK: %[[C:.*]] = exec.constant dense<[1.0{{.*}}]> : tensor<3xf32> : memref<3xf32>
// CHECK: %[[W:.*]] = exec.view %arg1 : memref<3x8xf32> to memref<3x2x4xf32>
// CHECK: exec.gemm %arg0 [3, 1] [] x %[[W]] [8, 1] [] into %[[D:.*]] [8, 1] [] m = 2 n = 8 k = 3 batch = []
// CHECK: %[[O:.*]] = exec.view %arg2 : memref<16xf32> to memref<2x8xf32>
// CHECK: exec.launch @tanh {{.*}} outs(%[[O]]
// CHECK: exec.copy %arg0 to %arg3
// CHECK: exec.copy %{{.*}} to %arg4
// CHECK: exec.copy %[[C]] to %arg5
// CHECK-NEXT: exec.return
func.func @mixed(%x: tensor<2x3xf32>, %w: tensor<3x8xf32>) -> (tensor<16xf32>, tensor<2x3xf32>, tensor<16xf32>, tensor<3xf32>) attributes {graph.entry} {
  %c = graph.constant dense<[1.0, 2.0, 3.0]> : tensor<3xf32>
  %w3 = graph.reshape %w : (tensor<3x8xf32>) -> tensor<3x2x4xf32>
  %d = graph.dot_general %x, %w3, batching_dims = [] x [], contracting_dims = [1] x [0] : (tensor<2x3xf32>, tensor<3x2x4xf32>) -> tensor<2x2x4xf32>
  %d2 = graph.reshape %d : (tensor<2x2x4xf32>) -> tensor<2x8xf32>
  %t = call @tanh(%d2) : (tensor<2x8xf32>) -> tensor<2x8xf32>
  %flat = graph.reshape %t : (tensor<2x8xf32>) -> tensor<16xf32>
  return %flat, %x, %flat, %c : tensor<16xf32>, tensor<2x3xf32>, tensor<16xf32>, tensor<3xf32>
}

// -----

// Heads as batch dimensions; free dimensions apart in memory as one more.
// CHECK-LABEL: exec.block @heads
// CHECK: exec.gemm %arg0 [64, 1] [512, 16] x %arg1 [1, 64] [512, 16] into %arg2 [8, 1] [256, 64] m = 8 n = 8 k = 16 batch = [2, 4]
// CHECK-LABEL: exec.block @apart
// CHECK: exec.gemm %arg0 [1, 5] [20] x %arg1 [2, 1] [0] into %arg2 [2, 1] [10] m = 5 n = 2 k = 4 batch = [3]
func.func @heads(%q: tensor<2x8x4x16xf32>, %k: tensor<2x8x4x16xf32>) -> tensor<2x4x8x8xf32> {
  %s = graph.dot_general %q, %k, batching_dims = [0, 2] x [0, 2], contracting_dims = [3] x [3] : (tensor<2x8x4x16xf32>, tensor<2x8x4x16xf32>) -> tensor<2x4x8x8xf32>
  return %s : tensor<2x4x8x8xf32>
}
func.func @apart(%x: tensor<3x4x5xf32>, %w: tensor<4x2xf32>) -> tensor<3x5x2xf32> {
  %s = graph.dot_general %x, %w, batching_dims = [] x [], contracting_dims = [1] x [0] : (tensor<3x4x5xf32>, tensor<4x2xf32>) -> tensor<3x5x2xf32>
  return %s : tensor<3x5x2xf32>
}
