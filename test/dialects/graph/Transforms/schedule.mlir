// RUN: minigptc-opt %s --pass-pipeline='builtin.module(func.func(graph-schedule))' | FileCheck %s

func.func private @grow(%x: tensor<4xf32>) -> tensor<8192xf32> attributes {exec.kernel} {
  %0 = graph.broadcast_in_dim %x, dims = [0] : (tensor<4xf32>) -> tensor<4x2048xf32>
  %1 = graph.reshape %0 : (tensor<4x2048xf32>) -> tensor<8192xf32>
  return %1 : tensor<8192xf32>
}
func.func private @shrink(%x: tensor<8192xf32>) -> tensor<f32> attributes {exec.kernel} {
  %0 = graph.reduce sum, %x, dims = [0] : (tensor<8192xf32>) -> tensor<f32>
  return %0 : tensor<f32>
}

// Each large value is read before the next is made.
// CHECK-LABEL: func.func @order
// CHECK: %[[A:.*]] = call @grow(%arg0)
// CHECK-NEXT: call @shrink(%[[A]])
// CHECK-NEXT: %[[B:.*]] = call @grow(%arg1)
// CHECK-NEXT: call @shrink(%[[B]])
func.func @order(%x: tensor<4xf32>, %y: tensor<4xf32>) -> (tensor<f32>, tensor<f32>) {
  %a = call @grow(%x) : (tensor<4xf32>) -> tensor<8192xf32>
  %b = call @grow(%y) : (tensor<4xf32>) -> tensor<8192xf32>
  %0 = call @shrink(%a) : (tensor<8192xf32>) -> tensor<f32>
  %1 = call @shrink(%b) : (tensor<8192xf32>) -> tensor<f32>
  return %0, %1 : tensor<f32>, tensor<f32>
}

// Nothing to gain: the order stays.
// CHECK-LABEL: func.func @stays
// CHECK: call @shrink(%arg1)
// CHECK-NEXT: call @shrink(%arg0)
func.func @stays(%x: tensor<8192xf32>, %y: tensor<8192xf32>) -> (tensor<f32>, tensor<f32>) {
  %0 = call @shrink(%y) : (tensor<8192xf32>) -> tensor<f32>
  %1 = call @shrink(%x) : (tensor<8192xf32>) -> tensor<f32>
  return %0, %1 : tensor<f32>, tensor<f32>
}

// Small results of equal calls are made together, where their operands are there.
// CHECK-LABEL: func @gathered
func.func @gathered(%a: tensor<8192xf32>, %b: tensor<8192xf32>) -> tensor<f32> {
  // CHECK-NEXT: call @partial(%arg0)
  // CHECK-NEXT: call @partial(%arg1)
  // CHECK-NEXT: call @whole
  // CHECK-NEXT: call @whole
  // CHECK-NEXT: graph.add
  // CHECK-NEXT: call @whole
  %0 = call @partial(%a) : (tensor<8192xf32>) -> tensor<16xf32>
  %1 = call @whole(%0) : (tensor<16xf32>) -> tensor<f32>
  %2 = call @partial(%b) : (tensor<8192xf32>) -> tensor<16xf32>
  %3 = call @whole(%2) : (tensor<16xf32>) -> tensor<f32>
  %4 = graph.add %0, %2 : tensor<16xf32>
  %5 = call @whole(%4) : (tensor<16xf32>) -> tensor<f32>
  %6 = graph.add %1, %3 : tensor<f32>
  %7 = graph.add %6, %5 : tensor<f32>
  return %7 : tensor<f32>
}
func.func private @partial(tensor<8192xf32>) -> tensor<16xf32>
func.func private @whole(tensor<16xf32>) -> tensor<f32>
