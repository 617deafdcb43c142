// RUN: minigptc-opt %s --split-input-file --verify-diagnostics=only-expected | minigptc-opt --split-input-file | FileCheck %s

// CHECK-LABEL: func @activations
func.func @activations(%x: tensor<2x3xf32>) {
  // CHECK: graph.relu %arg0 : tensor<2x3xf32>
  %0 = graph.relu %x : tensor<2x3xf32>
  // CHECK: graph.silu %arg0 : tensor<2x3xf32>
  %1 = graph.silu %x : tensor<2x3xf32>
  // CHECK: graph.gelu %arg0 : tensor<2x3xf32>
  %2 = graph.gelu %x : tensor<2x3xf32>
  // CHECK: graph.gelu %arg0 {approximate = true} : tensor<2x3xf32>
  %3 = graph.gelu %x {approximate = true} : tensor<2x3xf32>
  // CHECK: graph.softmax %arg0, dim = 1 : tensor<2x3xf32>
  %4 = graph.softmax %x, dim = 1 : tensor<2x3xf32>
  return
}

// -----

func.func @softmax_dim(%x: tensor<2x3xf32>) {
  // expected-error@+1 {{'graph.softmax' op dim [-1] holds -1, which is not in [0, 2)}}
  %0 = graph.softmax %x, dim = -1 : tensor<2x3xf32>
  return
}

// -----

// CHECK-LABEL: func @norms
func.func @norms(%x: tensor<2x3xf32>, %s: tensor<3xf32>) {
  // CHECK: graph.layer_norm %arg0, %arg1, %arg1 epsilon = 9.9999999999999995E-7 : tensor<2x3xf32>, tensor<3xf32>, tensor<3xf32>
  %0 = graph.layer_norm %x, %s, %s epsilon = 1.0e-6 : tensor<2x3xf32>, tensor<3xf32>, tensor<3xf32>
  // CHECK: graph.rms_norm %arg0, %arg1 epsilon = 1.000000e-05 : tensor<2x3xf32>, tensor<3xf32>
  %1 = graph.rms_norm %x, %s epsilon = 1.0e-5 : tensor<2x3xf32>, tensor<3xf32>
  return
}

// -----

// expected-note@+1 {{bias f32[2] is defined here}}
func.func @bias(%x: tensor<2x3xf32>, %s: tensor<3xf32>, %b: tensor<2xf32>) {
  // expected-error@+1 {{'graph.layer_norm' op bias f32[2] must have the shape [3], the last dimension of operand f32[2,3]}}
  %0 = graph.layer_norm %x, %s, %b epsilon = 1.0e-6 : tensor<2x3xf32>, tensor<3xf32>, tensor<2xf32>
  return
}

// -----

func.func @norm_of_scalar(%x: tensor<f32>, %s: tensor<1xf32>) {
  // expected-error@+1 {{operand f32[] has no last dimension to normalise over}}
  %0 = graph.rms_norm %x, %s epsilon = 1.0e-6 : tensor<f32>, tensor<1xf32>
  return
}

// -----

func.func @epsilon(%x: tensor<3xf32>, %s: tensor<3xf32>) {
  // expected-error@+1 {{epsilon must be finite and not negative}}
  %0 = graph.rms_norm %x, %s epsilon = -1.0 : tensor<3xf32>, tensor<3xf32>
  return
}

// -----

// CHECK-LABEL: func @rope
func.func @rope(%x: tensor<2x3x4x6xf32>, %p: tensor<3xi32>) {
  // CHECK: graph.rope %arg0, %arg1 theta = 1.000000e+04 : tensor<2x3x4x6xf32>, tensor<3xi32>
  %0 = graph.rope %x, %p theta = 1.0e4 : tensor<2x3x4x6xf32>, tensor<3xi32>
  // CHECK: graph.rope %arg0, %arg1 theta = 1.000000e+04 inverse : tensor<2x3x4x6xf32>, tensor<3xi32>
  %1 = graph.rope %x, %p theta = 1.0e4 inverse : tensor<2x3x4x6xf32>, tensor<3xi32>
  return
}

// -----

func.func @odd(%x: tensor<2x3x4x5xf32>, %p: tensor<3xi32>) {
  // expected-error@+1 {{the last dimension of operand f32[2,3,4,5] must be even: its elements are turned in pairs}}
  %0 = graph.rope %x, %p theta = 1.0e4 : tensor<2x3x4x5xf32>, tensor<3xi32>
  return
}

// -----

func.func @positions(%x: tensor<2x3x4x6xf32>, %p: tensor<4xi32>) {
  // expected-error@+1 {{positions i32[4] must have the shape [3], one position per element of dimension 1}}
  %0 = graph.rope %x, %p theta = 1.0e4 : tensor<2x3x4x6xf32>, tensor<4xi32>
  return
}

// -----

func.func @rope_rank(%x: tensor<3x4x6xf32>, %p: tensor<3xi32>) {
  // expected-error@+1 {{operand f32[3,4,6] must have 4 dimensions, [batch, sequence, heads, head size]}}
  %0 = graph.rope %x, %p theta = 1.0e4 : tensor<3x4x6xf32>, tensor<3xi32>
  return
}

// -----

func.func @theta(%x: tensor<2x3x4x6xf32>, %p: tensor<3xi32>) {
  // expected-error@+1 {{theta must be positive and finite}}
  %0 = graph.rope %x, %p theta = 0.0 : tensor<2x3x4x6xf32>, tensor<3xi32>
  return
}

// -----

// CHECK-LABEL: func @tables
func.func @tables(%t: tensor<10x4xf32>, %ids: tensor<2x3xi32>, %l: tensor<2x3x10xbf16>) {
  // CHECK: graph.embedding %arg0, %arg1 : (tensor<10x4xf32>, tensor<2x3xi32>) -> tensor<2x3x4xf32>
  %0 = graph.embedding %t, %ids : (tensor<10x4xf32>, tensor<2x3xi32>) -> tensor<2x3x4xf32>
  // CHECK: graph.softmax_cross_entropy %arg2, %arg1 : (tensor<2x3x10xbf16>, tensor<2x3xi32>) -> tensor<2x3xf32>
  %1 = graph.softmax_cross_entropy %l, %ids : (tensor<2x3x10xbf16>, tensor<2x3xi32>) -> tensor<2x3xf32>
  // CHECK: graph.softmax_cross_entropy %arg2, %arg1 ignore -100 :
  %2 = graph.softmax_cross_entropy %l, %ids ignore -100 : (tensor<2x3x10xbf16>, tensor<2x3xi32>) -> tensor<2x3xf32>
  return
}

// -----

func.func @table_rank(%t: tensor<10xf32>, %ids: tensor<2x3xi32>) {
  // expected-error@+1 {{table f32[10] must have 2 dimensions, [vocabulary, width]}}
  %0 = graph.embedding %t, %ids : (tensor<10xf32>, tensor<2x3xi32>) -> tensor<2x3xf32>
  return
}

// -----

func.func @targets(%l: tensor<2x3x10xf32>, %t: tensor<2x4xi32>) {
  // expected-error@+1 {{targets i32[2,4] must have the shape [2,3], that of logits f32[2,3,10] without its last dimension}}
  %0 = graph.softmax_cross_entropy %l, %t : (tensor<2x3x10xf32>, tensor<2x4xi32>) -> tensor<2x3xf32>
  return
}

// -----

func.func @no_classes(%l: tensor<2x0xf32>, %t: tensor<2xi32>) {
  // expected-error@+1 {{logits f32[2,0] need a last dimension of classes}}
  %0 = graph.softmax_cross_entropy %l, %t : (tensor<2x0xf32>, tensor<2xi32>) -> tensor<2xf32>
  return
}

// -----

// CHECK-LABEL: func @dropout
func.func @dropout(%x: tensor<4xf32>, %key: tensor<2xui32>) {
  // CHECK: graph.dropout %arg0, %arg1 rate = 1.000000e-01 : tensor<4xf32>
  %0 = graph.dropout %x, %key rate = 0.1 : tensor<4xf32>
  return
}

// -----

func.func @rate(%x: tensor<4xf32>, %key: tensor<2xui32>) {
  // expected-error@+1 {{rate 1.000000 must be in [0, 1)}}
  %0 = graph.dropout %x, %key rate = 1.0 : tensor<4xf32>
  return
}

// -----

!t = tensor<4xf32>
!s = tensor<f32>
// CHECK-LABEL: func @adamw
func.func @adamw(%p: !t, %g: tensor<4xbf16>, %m: !t, %v: !t, %lr: !s, %c1: !s, %c2: !s) {
  // CHECK: graph.adamw_update %arg0, %arg1, %arg2, %arg3, %arg4, %arg5, %arg6
  %0:3 = graph.adamw_update %p, %g, %m, %v, %lr, %c1, %c2 {beta1 = 0.9, beta2 = 0.95, epsilon = 1.0e-8, weightDecay = 0.1}
      : (!t, tensor<4xbf16>, !t, !t, !s, !s, !s) -> (!t, !t, !t)
  return
}

// -----

!t = tensor<4xf32>
!s = tensor<f32>
func.func @gradient(%p: !t, %g: tensor<5xf32>, %lr: !s) {
  // expected-error@+1 {{'graph.adamw_update' op grad f32[5] must have the shape [4], that of param f32[4]}}
  %0:3 = graph.adamw_update %p, %g, %p, %p, %lr, %lr, %lr {beta1 = 0.9, beta2 = 0.95, epsilon = 1.0e-8, weightDecay = 0.1}
      : (!t, tensor<5xf32>, !t, !t, !s, !s, !s) -> (!t, !t, !t)
  return
}

// -----

!t = tensor<4xf32>
!s = tensor<f32>
func.func @beta(%p: !t, %lr: !s) {
  // expected-error@+1 {{beta2 1.000000 must be in [0, 1)}}
  %0:3 = graph.adamw_update %p, %p, %p, %p, %lr, %lr, %lr {beta1 = 0.9, beta2 = 1.0, epsilon = 1.0e-8, weightDecay = 0.1}
      : (!t, !t, !t, !t, !s, !s, !s) -> (!t, !t, !t)
  return
}

// -----

!t = tensor<4xf32>
!s = tensor<f32>
func.func @learning_rate(%p: !t, %lr: !s) {
  // expected-error@+1 {{learningRate f32[4] must be a scalar}}
  %0:3 = graph.adamw_update %p, %p, %p, %p, %p, %lr, %lr {beta1 = 0.9, beta2 = 0.9, epsilon = 1.0e-8, weightDecay = 0.1}
      : (!t, !t, !t, !t, !t, !s, !s) -> (!t, !t, !t)
  return
}
