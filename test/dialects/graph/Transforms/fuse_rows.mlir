// Row kernels: elementwise ops, row reductions and broadcasts that walk the same
// rows are one kernel.
// RUN: minigptc-opt %s --minigptc-to-fuse --split-input-file | FileCheck %s

// CHECK-LABEL: func @rms_norm
// CHECK-COUNT-1: graph.fusion
// CHECK-NOT: graph.fusion
// CHECK: return
func.func @rms_norm(%x: tensor<16x128x256xf32>, %scale: tensor<256xf32>) -> tensor<16x128x256xf32> attributes {graph.entry} {
  %y = graph.rms_norm %x, %scale epsilon = 1.0e-5 : tensor<16x128x256xf32>, tensor<256xf32>
  return %y : tensor<16x128x256xf32>
}

// -----

// The gradient, and the sums for the scale over chunks of rows: one walk. The
// chunks' sums are added up by a second kernel.
// CHECK-LABEL: func @rms_norm_grad
// CHECK: %[[F:.*]]:2 = graph.fusion({{.*}}) : ({{.*}}) -> (tensor<64x256xf32>, tensor<16x128x256xf32>)
// CHECK: graph.fusion(%[[F]]#0) : (tensor<64x256xf32>) -> tensor<256xf32>
// CHECK-NOT: graph.fusion
// CHECK: return
func.func private @f(%x: tensor<16x128x256xf32>, %scale: tensor<256xf32>) -> tensor<16x128x256xf32> {
  %y = graph.rms_norm %x, %scale epsilon = 1.0e-5 : tensor<16x128x256xf32>, tensor<256xf32>
  return %y : tensor<16x128x256xf32>
}
func.func @rms_norm_grad(%x: tensor<16x128x256xf32>, %scale: tensor<256xf32>, %dy: tensor<16x128x256xf32>) -> (tensor<16x128x256xf32>, tensor<256xf32>) attributes {graph.entry} {
  %y:3 = graph.vjp @f(%x, %scale) cotangents(%dy) wrt [0, 1] : (tensor<16x128x256xf32>, tensor<256xf32>), (tensor<16x128x256xf32>) -> (tensor<16x128x256xf32>, tensor<16x128x256xf32>, tensor<256xf32>)
  return %y#1, %y#2 : tensor<16x128x256xf32>, tensor<256xf32>
}

// -----

// Two column sums of one walk, and the two kernels that finish them.
// CHECK-LABEL: func @layer_norm_grad
// CHECK: %[[F:.*]]:3 = graph.fusion({{.*}}) : ({{.*}}) -> ({{.*}}tensor<16x128x256xf32>)
// CHECK: graph.fusion(%[[F]]#{{[01]}}) : (tensor<64x256xf32>) -> tensor<256xf32>
// CHECK: graph.fusion(%[[F]]#{{[01]}}) : (tensor<64x256xf32>) -> tensor<256xf32>
// CHECK-NOT: graph.fusion
// CHECK: return
func.func private @f(%x: tensor<16x128x256xf32>, %scale: tensor<256xf32>, %bias: tensor<256xf32>) -> tensor<16x128x256xf32> {
  %y = graph.layer_norm %x, %scale, %bias epsilon = 1.0e-5 : tensor<16x128x256xf32>, tensor<256xf32>, tensor<256xf32>
  return %y : tensor<16x128x256xf32>
}
func.func @layer_norm_grad(%x: tensor<16x128x256xf32>, %scale: tensor<256xf32>, %bias: tensor<256xf32>, %dy: tensor<16x128x256xf32>) -> (tensor<16x128x256xf32>, tensor<256xf32>, tensor<256xf32>) attributes {graph.entry} {
  %y:4 = graph.vjp @f(%x, %scale, %bias) cotangents(%dy) wrt [0, 1, 2] : (tensor<16x128x256xf32>, tensor<256xf32>, tensor<256xf32>), (tensor<16x128x256xf32>) -> (tensor<16x128x256xf32>, tensor<16x128x256xf32>, tensor<256xf32>, tensor<256xf32>)
  return %y#1, %y#2, %y#3 : tensor<16x128x256xf32>, tensor<256xf32>, tensor<256xf32>
}

// -----

// CHECK-LABEL: func @softmax
// CHECK-COUNT-1: graph.fusion
// CHECK-NOT: graph.fusion
// CHECK: return
func.func @softmax(%x: tensor<64x64xf32>) -> tensor<64x64xf32> attributes {graph.entry} {
  %y = graph.softmax %x, dim = 1 : tensor<64x64xf32>
  return %y : tensor<64x64xf32>
}

// -----

// The sum is a result, too: the residual stream goes on.
// CHECK-LABEL: func @residual
// CHECK: %[[F:.*]]:2 = graph.fusion
// CHECK-NOT: graph.fusion
// CHECK: return %[[F]]#
func.func @residual(%x: tensor<128x256xf32>, %r: tensor<128x256xf32>, %scale: tensor<256xf32>, %bias: tensor<256xf32>) -> (tensor<128x256xf32>, tensor<128x256xf32>) attributes {graph.entry} {
  %s = graph.add %x, %r : tensor<128x256xf32>
  %y = graph.layer_norm %s, %scale, %bias epsilon = 1.0e-5 : tensor<128x256xf32>, tensor<256xf32>, tensor<256xf32>
  return %s, %y : tensor<128x256xf32>, tensor<128x256xf32>
}

// -----

// CHECK-LABEL: func @swiglu_grad
// CHECK: %[[F:.*]]:2 = graph.fusion
// CHECK-NOT: graph.fusion
// CHECK: return
func.func private @f(%a: tensor<128x256xf32>, %b: tensor<128x256xf32>) -> tensor<128x256xf32> {
  %s = graph.silu %a : tensor<128x256xf32>
  %h = graph.multiply %s, %b : tensor<128x256xf32>
  return %h : tensor<128x256xf32>
}
func.func @swiglu_grad(%a: tensor<128x256xf32>, %b: tensor<128x256xf32>, %dh: tensor<128x256xf32>) -> (tensor<128x256xf32>, tensor<128x256xf32>) attributes {graph.entry} {
  %h:3 = graph.vjp @f(%a, %b) cotangents(%dh) wrt [0, 1] : (tensor<128x256xf32>, tensor<128x256xf32>), (tensor<128x256xf32>) -> (tensor<128x256xf32>, tensor<128x256xf32>, tensor<128x256xf32>)
  return %h#1, %h#2 : tensor<128x256xf32>, tensor<128x256xf32>
}

// -----

// Losses and their gradient: one walk over the logits.
// CHECK-LABEL: func @cross_entropy
// CHECK: %[[F:.*]]:2 = graph.fusion
// CHECK-NOT: graph.fusion
// CHECK: return
func.func private @f(%x: tensor<128x1000xf32>, %t: tensor<128xi32>) -> tensor<128xf32> {
  %l = graph.softmax_cross_entropy %x, %t ignore -100 : (tensor<128x1000xf32>, tensor<128xi32>) -> tensor<128xf32>
  return %l : tensor<128xf32>
}
func.func @cross_entropy(%x: tensor<128x1000xf32>, %t: tensor<128xi32>, %ct: tensor<128xf32>) -> (tensor<128xf32>, tensor<128x1000xf32>) attributes {graph.entry} {
  %l:2 = graph.vjp @f(%x, %t) cotangents(%ct) wrt [0] : (tensor<128x1000xf32>, tensor<128xi32>), (tensor<128xf32>) -> (tensor<128xf32>, tensor<128x1000xf32>)
  return %l#0, %l#1 : tensor<128xf32>, tensor<128x1000xf32>
}

// -----

// The scale of the gradients is computed by each update's kernel; the parameter
// and its moments are one kernel.
// CHECK-LABEL: func @update
// CHECK: %[[F:.*]]:3 = graph.fusion
// CHECK: graph.minimum {{.*}} : tensor<f32>
// CHECK-NOT: graph.fusion
// CHECK: return %[[F]]#
func.func @update(%p: tensor<256x256xf32>, %g: tensor<256x256xf32>, %m: tensor<256x256xf32>, %v: tensor<256x256xf32>, %norm: tensor<f32>, %rate: tensor<f32>, %c1: tensor<f32>, %c2: tensor<f32>) -> (tensor<256x256xf32>, tensor<256x256xf32>, tensor<256x256xf32>) attributes {graph.entry} {
  %one = graph.constant dense<1.0> : tensor<f32>
  %ratio = graph.divide %one, %norm : tensor<f32>
  %clip = graph.minimum %ratio, %one : tensor<f32>
  %all = graph.broadcast_in_dim %clip, dims = [] : (tensor<f32>) -> tensor<256x256xf32>
  %scaled = graph.multiply %g, %all : tensor<256x256xf32>
  %p1, %m1, %v1 = graph.adamw_update %p, %scaled, %m, %v, %rate, %c1, %c2
      {beta1 = 0.9, beta2 = 0.95, epsilon = 1.0e-8, weightDecay = 0.1}
      : (tensor<256x256xf32>, tensor<256x256xf32>, tensor<256x256xf32>, tensor<256x256xf32>, tensor<f32>, tensor<f32>, tensor<f32>)
      -> (tensor<256x256xf32>, tensor<256x256xf32>, tensor<256x256xf32>)
  return %p1, %m1, %v1 : tensor<256x256xf32>, tensor<256x256xf32>, tensor<256x256xf32>
}

// -----

// The columns of a square are no rows: the maximum of each row is read by a
// broadcast along columns, and needs all rows first.
// CHECK-LABEL: func @transposed_broadcast
// CHECK-COUNT-2: graph.fusion
// CHECK-NOT: graph.fusion
// CHECK: return
func.func @transposed_broadcast(%x: tensor<64x64xf32>) -> tensor<64x64xf32> attributes {graph.entry} {
  %m = graph.reduce max, %x, dims = [1] : (tensor<64x64xf32>) -> tensor<64xf32>
  %b = graph.broadcast_in_dim %m, dims = [1] : (tensor<64xf32>) -> tensor<64x64xf32>
  %y = graph.subtract %x, %b : tensor<64x64xf32>
  return %y : tensor<64x64xf32>
}

// -----

// One long row is the work of many threads, not of one kernel that walks it.
// CHECK-LABEL: func @one_row
// CHECK-COUNT-2: graph.fusion
// CHECK: return
func.func @one_row(%x: tensor<1x30000xf32>) -> tensor<1x30000xf32> attributes {graph.entry} {
  %s = graph.reduce sum, %x, dims = [1] : (tensor<1x30000xf32>) -> tensor<1xf32>
  %b = graph.broadcast_in_dim %s, dims = [0] : (tensor<1xf32>) -> tensor<1x30000xf32>
  %y = graph.divide %x, %b : tensor<1x30000xf32>
  return %y : tensor<1x30000xf32>
}
