// RUN: minigptc-opt %s --graph-decompose --canonicalize --cse | FileCheck %s
// What the ops mean is tested by running them: test/compiler/interpreter.

// CHECK-LABEL: func @relu
func.func @relu(%x: tensor<4xf32>) -> tensor<4xf32> {
  // CHECK: %[[ZERO:.*]] = graph.constant dense<0.000000e+00> : tensor<4xf32>
  // CHECK: %[[Y:.*]] = graph.maximum %arg0, %[[ZERO]]
  // CHECK: return %[[Y]]
  %0 = graph.relu %x : tensor<4xf32>
  return %0 : tensor<4xf32>
}

// Statistics of bf16 are computed in f32, and the maximum is finite, so that a
// row of -inf gives zeros.
// CHECK-LABEL: func @softmax
func.func @softmax(%x: tensor<2x3xbf16>) -> tensor<2x3xbf16> {
  // CHECK: %[[LEAST:.*]] = graph.constant dense<-3.40282347E+38> : tensor<2xf32>
  // CHECK: %[[WIDE:.*]] = graph.convert %arg0 : (tensor<2x3xbf16>) -> tensor<2x3xf32>
  // CHECK: %[[MAX:.*]] = graph.reduce max, %[[WIDE]], dims = [1]
  // CHECK: graph.maximum %[[MAX]], %[[LEAST]]
  // CHECK: graph.exponential {{.*}} : tensor<2x3xf32>
  // CHECK: graph.divide
  // CHECK: graph.convert {{.*}} : (tensor<2x3xf32>) -> tensor<2x3xbf16>
  %0 = graph.softmax %x, dim = 1 : tensor<2x3xbf16>
  return %0 : tensor<2x3xbf16>
}

// Composites in called functions and in regions go too.
// CHECK-LABEL: func @fused
func.func @fused(%x: tensor<4xf32>) -> tensor<4xf32> {
  // CHECK: graph.fusion
  // CHECK: graph.logistic
  // CHECK: graph.multiply
  // CHECK-NOT: graph.silu
  %0 = graph.fusion(%x) : (tensor<4xf32>) -> tensor<4xf32> {
  ^bb0(%a: tensor<4xf32>):
    %1 = graph.silu %a : tensor<4xf32>
    graph.yield %1 : tensor<4xf32>
  }
  return %0 : tensor<4xf32>
}

// The variance is two-pass: the mean is subtracted before squaring.
// CHECK-LABEL: func @layer_norm
func.func @layer_norm(%x: tensor<2x3xf32>, %s: tensor<3xf32>) -> tensor<2x3xf32> {
  // CHECK: graph.reduce sum, %arg0
  // CHECK: %[[CENTRED:.*]] = graph.subtract %arg0,
  // CHECK: %[[SQUARE:.*]] = graph.multiply %[[CENTRED]], %[[CENTRED]]
  // CHECK: graph.reduce sum, %[[SQUARE]]
  // CHECK: graph.rsqrt
  %0 = graph.layer_norm %x, %s, %s epsilon = 1.0e-5 : tensor<2x3xf32>, tensor<3xf32>, tensor<3xf32>
  return %0 : tensor<2x3xf32>
}

// No [queries, keys] mask where every query attends to every key.
// CHECK-LABEL: func @attention
func.func @attention(%q: tensor<1x2x2x4xf32>, %k: tensor<1x3x1x4xf32>) -> tensor<1x2x2x4xf32> {
  // CHECK-NOT: graph.select
  // CHECK: graph.dot_general {{.*}} -> tensor<1x1x2x2x3xf32>
  // CHECK-NOT: graph.select
  // CHECK: graph.dot_general {{.*}} -> tensor<1x1x2x2x4xf32>
  %0:2 = graph.attention %q, %k, %k scale = 0.5 kind = none
      : tensor<1x2x2x4xf32>, tensor<1x3x1x4xf32>, tensor<1x3x1x4xf32> -> tensor<1x2x2x4xf32>, tensor<1x2x2xf32>
  return %0#0 : tensor<1x2x2x4xf32>
}

// The mask is a function of the key alone.
// CHECK-LABEL: func @dropout
func.func @dropout(%x: tensor<4xf32>, %key: tensor<2xui32>) -> tensor<4xf32> {
  // CHECK-DAG: graph.constant dense<2147483648> : tensor<4xui32>
  // CHECK-DAG: graph.constant dense<2.000000e+00> : tensor<4xf32>
  // CHECK: graph.random_bits %arg1 at %{{.*}} of [4]
  // CHECK: graph.compare GE
  // CHECK: graph.select
  %0 = graph.dropout %x, %key rate = 0.5 : tensor<4xf32>
  return %0 : tensor<4xf32>
}
