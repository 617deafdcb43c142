// Constants and data movement.
// RUN: minigptc-opt %s --run | FileCheck %s

// CHECK-LABEL: @test_constant
func.func @test_constant() -> (tensor<2x2xf32>, tensor<2x2xi32>, tensor<i1>, tensor<2xbf16>, tensor<3xi1>) {
  %0 = graph.constant dense<[[1.0, 2.5], [-3.0, 1.0e-3]]> : tensor<2x2xf32>
  %1 = graph.constant dense<7> : tensor<2x2xi32>
  %2 = graph.constant dense<true> : tensor<i1>
  %3 = graph.constant dense<[1.5, -2.0]> : tensor<2xbf16>
  %4 = graph.constant dense<[true, false, true]> : tensor<3xi1>
  // CHECK-NEXT: tensor<2x2xf32> {{\[}}[1, 2.5], [-3, 0.001]]
  // CHECK-NEXT: tensor<2x2xi32> {{\[}}[7, 7], [7, 7]]
  // CHECK-NEXT: tensor<i1> true
  // CHECK-NEXT: tensor<2xbf16> [1.5, -2]
  // CHECK-NEXT: tensor<3xi1> [true, false, true]
  return %0, %1, %2, %3, %4 : tensor<2x2xf32>, tensor<2x2xi32>, tensor<i1>, tensor<2xbf16>, tensor<3xi1>
}

// CHECK-LABEL: @test_iota
func.func @test_iota() -> (tensor<2x3xi32>, tensor<2x3xf32>, tensor<3xui64>, tensor<2xf16>) {
  %0 = graph.iota dim = 0 : tensor<2x3xi32>
  %1 = graph.iota dim = 1 : tensor<2x3xf32>
  %2 = graph.iota dim = 0 : tensor<3xui64>
  %3 = graph.iota dim = 0 : tensor<2xf16>
  // CHECK-NEXT: {{\[}}[0, 0, 0], [1, 1, 1]]
  // CHECK-NEXT: {{\[}}[0, 1, 2], [0, 1, 2]]
  // CHECK-NEXT: [0, 1, 2]
  // CHECK-NEXT: [0, 1]
  return %0, %1, %2, %3 : tensor<2x3xi32>, tensor<2x3xf32>, tensor<3xui64>, tensor<2xf16>
}

// CHECK-LABEL: @test_broadcast_in_dim
func.func @test_broadcast_in_dim() -> (tensor<2x3xf32>, tensor<2x3xf32>, tensor<2x3xf32>, tensor<2x2xi1>) {
  %row = graph.constant dense<[1.0, 2.0, 3.0]> : tensor<3xf32>
  %column = graph.constant dense<[[1.0], [2.0]]> : tensor<2x1xf32>
  %scalar = graph.constant dense<5.0> : tensor<f32>
  %b = graph.constant dense<[true, false]> : tensor<2xi1>
  %0 = graph.broadcast_in_dim %row, dims = [1] : (tensor<3xf32>) -> tensor<2x3xf32>
  %1 = graph.broadcast_in_dim %column, dims = [0, 1] : (tensor<2x1xf32>) -> tensor<2x3xf32>
  %2 = graph.broadcast_in_dim %scalar, dims = [] : (tensor<f32>) -> tensor<2x3xf32>
  %3 = graph.broadcast_in_dim %b, dims = [0] : (tensor<2xi1>) -> tensor<2x2xi1>
  // CHECK-NEXT: {{\[}}[1, 2, 3], [1, 2, 3]]
  // CHECK-NEXT: {{\[}}[1, 1, 1], [2, 2, 2]]
  // CHECK-NEXT: {{\[}}[5, 5, 5], [5, 5, 5]]
  // CHECK-NEXT: {{\[}}[true, true], [false, false]]
  return %0, %1, %2, %3 : tensor<2x3xf32>, tensor<2x3xf32>, tensor<2x3xf32>, tensor<2x2xi1>
}

// CHECK-LABEL: @test_reshape
func.func @test_reshape() -> (tensor<3x2xi32>, tensor<1x6xi32>) {
  %x = graph.constant dense<[[1, 2, 3], [4, 5, 6]]> : tensor<2x3xi32>
  %0 = graph.reshape %x : (tensor<2x3xi32>) -> tensor<3x2xi32>
  %1 = graph.reshape %x : (tensor<2x3xi32>) -> tensor<1x6xi32>
  // CHECK-NEXT: {{\[}}[1, 2], [3, 4], [5, 6]]
  // CHECK-NEXT: {{\[}}[1, 2, 3, 4, 5, 6]]
  return %0, %1 : tensor<3x2xi32>, tensor<1x6xi32>
}

// CHECK-LABEL: @test_transpose
func.func @test_transpose() -> (tensor<3x2xi32>, tensor<2x1x3xi8>) {
  %x = graph.constant dense<[[1, 2, 3], [4, 5, 6]]> : tensor<2x3xi32>
  %y = graph.constant dense<[[[1, 2], [3, 4], [5, 6]]]> : tensor<1x3x2xi8>
  %0 = graph.transpose %x, dims = [1, 0] : (tensor<2x3xi32>) -> tensor<3x2xi32>
  // Result dimension i is operand dimension dims[i].
  %1 = graph.transpose %y, dims = [2, 0, 1] : (tensor<1x3x2xi8>) -> tensor<2x1x3xi8>
  // CHECK-NEXT: {{\[}}[1, 4], [2, 5], [3, 6]]
  // CHECK-NEXT: {{\[}}[{{\[}}1, 3, 5]], {{\[}}[2, 4, 6]]]
  return %0, %1 : tensor<3x2xi32>, tensor<2x1x3xi8>
}

// CHECK-LABEL: @test_slice
func.func @test_slice() -> (tensor<2x2xi32>, tensor<1x2xi32>) {
  %x = graph.constant dense<[[1, 2, 3, 4], [5, 6, 7, 8], [9, 10, 11, 12]]> : tensor<3x4xi32>
  %0 = graph.slice %x [1, 2] : [3, 4] : [1, 1] : (tensor<3x4xi32>) -> tensor<2x2xi32>
  %1 = graph.slice %x [0, 0] : [1, 4] : [1, 3] : (tensor<3x4xi32>) -> tensor<1x2xi32>
  // CHECK-NEXT: {{\[}}[7, 8], [11, 12]]
  // CHECK-NEXT: {{\[}}[1, 4]]
  return %0, %1 : tensor<2x2xi32>, tensor<1x2xi32>
}

// CHECK-LABEL: @test_dynamic_slice
func.func @test_dynamic_slice() -> (tensor<2x2xi32>, tensor<2x2xi32>) {
  %x = graph.constant dense<[[1, 2, 3, 4], [5, 6, 7, 8], [9, 10, 11, 12]]> : tensor<3x4xi32>
  %one = graph.constant dense<1> : tensor<i32>
  %far = graph.constant dense<99> : tensor<i32>
  %negative = graph.constant dense<-4> : tensor<i32>
  %0 = graph.dynamic_slice %x[%one, %one] sizes = [2, 2] : (tensor<3x4xi32>, tensor<i32>, tensor<i32>) -> tensor<2x2xi32>
  // Starts are clamped so that the block lies inside.
  %1 = graph.dynamic_slice %x[%negative, %far] sizes = [2, 2] : (tensor<3x4xi32>, tensor<i32>, tensor<i32>) -> tensor<2x2xi32>
  // CHECK-NEXT: {{\[}}[6, 7], [10, 11]]
  // CHECK-NEXT: {{\[}}[3, 4], [7, 8]]
  return %0, %1 : tensor<2x2xi32>, tensor<2x2xi32>
}

// CHECK-LABEL: @test_dynamic_update_slice
func.func @test_dynamic_update_slice() -> (tensor<2x3xi32>, tensor<2x3xi32>, tensor<2x3xi32>) {
  %x = graph.constant dense<0> : tensor<2x3xi32>
  %block = graph.constant dense<[[1, 2]]> : tensor<1x2xi32>
  %one = graph.constant dense<1> : tensor<i64>
  %far = graph.constant dense<99> : tensor<i64>
  %zero = graph.constant dense<0> : tensor<i64>
  %0 = graph.dynamic_update_slice %x, %block[%one, %zero] : (tensor<2x3xi32>, tensor<1x2xi32>, tensor<i64>, tensor<i64>) -> tensor<2x3xi32>
  %1 = graph.dynamic_update_slice %x, %block[%zero, %far] : (tensor<2x3xi32>, tensor<1x2xi32>, tensor<i64>, tensor<i64>) -> tensor<2x3xi32>
  // CHECK-NEXT: {{\[}}[0, 0, 0], [1, 2, 0]]
  // CHECK-NEXT: {{\[}}[0, 1, 2], [0, 0, 0]]
  // The operand itself is a value: it does not change.
  // CHECK-NEXT: {{\[}}[0, 0, 0], [0, 0, 0]]
  return %0, %1, %x : tensor<2x3xi32>, tensor<2x3xi32>, tensor<2x3xi32>
}

// CHECK-LABEL: @test_concatenate
func.func @test_concatenate() -> (tensor<2x3xi32>, tensor<3x1xi32>) {
  %a = graph.constant dense<[[1], [2]]> : tensor<2x1xi32>
  %b = graph.constant dense<[[3, 4], [5, 6]]> : tensor<2x2xi32>
  %c = graph.constant dense<[[7]]> : tensor<1x1xi32>
  %0 = graph.concatenate %a, %b dim = 1 : (tensor<2x1xi32>, tensor<2x2xi32>) -> tensor<2x3xi32>
  %1 = graph.concatenate %c, %a dim = 0 : (tensor<1x1xi32>, tensor<2x1xi32>) -> tensor<3x1xi32>
  // CHECK-NEXT: {{\[}}[1, 3, 4], [2, 5, 6]]
  // CHECK-NEXT: {{\[}}[7], [1], [2]]
  return %0, %1 : tensor<2x3xi32>, tensor<3x1xi32>
}

// CHECK-LABEL: @test_pad
func.func @test_pad() -> (tensor<6xi32>, tensor<7xi32>, tensor<2xi32>, tensor<3x3xf32>, tensor<3xi32>) {
  %x = graph.constant dense<[1, 2, 3]> : tensor<3xi32>
  %zero = graph.constant dense<0> : tensor<i32>
  %m = graph.constant dense<[[1.0, 2.0]]> : tensor<1x2xf32>
  %nine = graph.constant dense<9.0> : tensor<f32>
  %0 = graph.pad %x, %zero, low = [1], high = [2], interior = [0] : (tensor<3xi32>, tensor<i32>) -> tensor<6xi32>
  %1 = graph.pad %x, %zero, low = [0], high = [0], interior = [2] : (tensor<3xi32>, tensor<i32>) -> tensor<7xi32>
  // Negative amounts cut off.
  %2 = graph.pad %x, %zero, low = [-2], high = [1], interior = [0] : (tensor<3xi32>, tensor<i32>) -> tensor<2xi32>
  %3 = graph.pad %m, %nine, low = [1, 0], high = [1, 1], interior = [0, 0] : (tensor<1x2xf32>, tensor<f32>) -> tensor<3x3xf32>
  %4 = graph.pad %x, %zero, low = [-1], high = [-1], interior = [1] : (tensor<3xi32>, tensor<i32>) -> tensor<3xi32>
  // CHECK-NEXT: [0, 1, 2, 3, 0, 0]
  // CHECK-NEXT: [1, 0, 0, 2, 0, 0, 3]
  // CHECK-NEXT: [3, 0]
  // CHECK-NEXT: {{\[}}[9, 9, 9], [1, 2, 9], [9, 9, 9]]
  // 1 0 2 0 3 without its ends.
  // CHECK-NEXT: [0, 2, 0]
  return %0, %1, %2, %3, %4 : tensor<6xi32>, tensor<7xi32>, tensor<2xi32>, tensor<3x3xf32>, tensor<3xi32>
}
