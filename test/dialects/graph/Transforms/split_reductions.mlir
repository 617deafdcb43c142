// RUN: minigptc-opt %s --pass-pipeline='builtin.module(func.func(graph-split-reductions))' --split-input-file | FileCheck %s
// RUN: minigptc-opt %s --pass-pipeline='builtin.module(func.func(graph-split-reductions))' --split-input-file > %t
// RUN: minigptc-opt %t --pass-pipeline='builtin.module(func.func(graph-split-reductions))' --split-input-file | diff %t -

// A whole tensor: rows first.
// CHECK-LABEL: func @norm
// CHECK: %[[P:.*]] = graph.reduce {{ *}}sum, %arg0, dims = [1] : (tensor<512x256xf32>) -> tensor<512xf32>
// CHECK: graph.reduce {{ *}}sum, %[[P]], dims = [0] : (tensor<512xf32>) -> tensor<f32>
func.func @norm(%x: tensor<512x256xf32>) -> tensor<f32> {
  %0 = graph.reduce sum, %x, dims = [0, 1] : (tensor<512x256xf32>) -> tensor<f32>
  return %0 : tensor<f32>
}

// -----

// A bias gradient: columns over chunks of rows.
// CHECK-LABEL: func @columns
// CHECK: %[[C:.*]] = graph.reshape %arg0 : (tensor<4096x64xf32>) -> tensor<64x64x64xf32>
// CHECK: %[[P:.*]] = graph.reduce {{ *}}sum, %[[C]], dims = [1] : (tensor<64x64x64xf32>) -> tensor<64x64xf32>
// CHECK: graph.reduce {{ *}}sum, %[[P]], dims = [0] : (tensor<64x64xf32>) -> tensor<64xf32>
func.func @columns(%x: tensor<4096x64xf32>) -> tensor<64xf32> {
  %0 = graph.reduce sum, %x, dims = [0] : (tensor<4096x64xf32>) -> tensor<64xf32>
  return %0 : tensor<64xf32>
}

// -----

// The same, of any rank: all dimensions but the last are rows.
// CHECK-LABEL: func @rank_three
// CHECK: %[[C:.*]] = graph.reshape %arg0 : (tensor<16x128x256xf32>) -> tensor<64x32x256xf32>
// CHECK: %[[P:.*]] = graph.reduce {{ *}}sum, %[[C]], dims = [1] : (tensor<64x32x256xf32>) -> tensor<64x256xf32>
// CHECK: graph.reduce {{ *}}sum, %[[P]], dims = [0] : (tensor<64x256xf32>) -> tensor<256xf32>
func.func @rank_three(%x: tensor<16x128x256xf32>) -> tensor<256xf32> {
  %0 = graph.reduce sum, %x, dims = [0, 1] : (tensor<16x128x256xf32>) -> tensor<256xf32>
  return %0 : tensor<256xf32>
}

// -----

// A prime number of elements: a divisible part and a remainder.
// CHECK-LABEL: func @remainder
// CHECK: %[[M:.*]] = graph.slice %arg0 [0] : [99840] : [1]
// CHECK: %[[C:.*]] = graph.reshape %[[M]] : (tensor<99840xf32>) -> tensor<512x195xf32>
// CHECK: %[[P:.*]] = graph.reduce {{ *}}max, %[[C]], dims = [1]
// CHECK: %[[A:.*]] = graph.reduce {{ *}}max, %[[P]], dims = [0]
// CHECK: %[[R:.*]] = graph.slice %arg0 [99840] : [99991] : [1]
// CHECK: %[[B:.*]] = graph.reduce {{ *}}max, %[[R]], dims = [0]
// CHECK: graph.maximum %[[A]], %[[B]]
func.func @remainder(%x: tensor<99991xf32>) -> tensor<f32> {
  %0 = graph.reduce max, %x, dims = [0] : (tensor<99991xf32>) -> tensor<f32>
  return %0 : tensor<f32>
}

// -----

// Partial sums of bf16 are kept in f32, as one sum would be.
// CHECK-LABEL: func @narrow
// CHECK: %[[W:.*]] = graph.convert %arg0 : (tensor<512x256xbf16>) -> tensor<512x256xf32>
// CHECK: graph.reduce {{ *}}sum, %[[W]], dims = [1]
// CHECK: %[[S:.*]] = graph.reduce {{ *}}sum, {{.*}} -> tensor<f32>
// CHECK: graph.convert %[[S]] : (tensor<f32>) -> tensor<bf16>
func.func @narrow(%x: tensor<512x256xbf16>) -> tensor<bf16> {
  %0 = graph.reduce sum, %x, dims = [0, 1] : (tensor<512x256xbf16>) -> tensor<bf16>
  return %0 : tensor<bf16>
}

// -----

// Enough results, enough rows, or few elements: one step.
// CHECK-LABEL: func @unchanged
// CHECK-COUNT-3: graph.reduce
// CHECK-NOT: graph.reduce
// CHECK: return
func.func @unchanged(%x: tensor<2048x512xf32>, %y: tensor<100x100xf32>, %z: tensor<128x50257xf32>) -> (tensor<2048xf32>, tensor<f32>, tensor<128xf32>) {
  %0 = graph.reduce sum, %x, dims = [1] : (tensor<2048x512xf32>) -> tensor<2048xf32>
  %1 = graph.reduce sum, %y, dims = [0, 1] : (tensor<100x100xf32>) -> tensor<f32>
  %2 = graph.reduce max, %z, dims = [1] : (tensor<128x50257xf32>) -> tensor<128xf32>
  return %0, %1, %2 : tensor<2048xf32>, tensor<f32>, tensor<128xf32>
}
