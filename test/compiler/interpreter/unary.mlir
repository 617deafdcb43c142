// Elementwise ops of one operand.
// RUN: minigptc-opt %s --run | FileCheck %s

// CHECK-LABEL: @test_abs
func.func @test_abs() -> (tensor<4xf32>, tensor<3xi8>, tensor<2xui32>) {
  %f = graph.constant dense<[-1.5, 0.0, -0.0, 0xFF800000]> : tensor<4xf32>
  %i = graph.constant dense<[-128, -1, 127]> : tensor<3xi8>
  %u = graph.constant dense<[0, 4294967295]> : tensor<2xui32>
  %0 = graph.abs %f : tensor<4xf32>
  %1 = graph.abs %i : tensor<3xi8>
  %2 = graph.abs %u : tensor<2xui32>
  // CHECK-NEXT: tensor<4xf32> [1.5, 0, 0, inf]
  // The least integer has no positive counterpart and stays.
  // CHECK-NEXT: tensor<3xi8> [-128, 1, 127]
  // CHECK-NEXT: tensor<2xui32> [0, 4294967295]
  return %0, %1, %2 : tensor<4xf32>, tensor<3xi8>, tensor<2xui32>
}

// CHECK-LABEL: @test_cbrt
func.func @test_cbrt() -> tensor<3xf64> {
  %x = graph.constant dense<[27.0, -8.0, 0.001]> : tensor<3xf64>
  %0 = graph.cbrt %x : tensor<3xf64>
  // CHECK-NEXT: [3, -2, 0.1]
  return %0 : tensor<3xf64>
}

// CHECK-LABEL: @test_rounding
func.func @test_rounding() -> (tensor<6xf32>, tensor<6xf32>, tensor<6xf32>) {
  %x = graph.constant dense<[2.5, -2.5, 3.5, -0.5, 1.2, -1.7]> : tensor<6xf32>
  %0 = graph.ceil %x : tensor<6xf32>
  %1 = graph.floor %x : tensor<6xf32>
  %2 = graph.round_nearest_even %x : tensor<6xf32>
  // CHECK-NEXT: [3, -2, 4, -0, 2, -1]
  // CHECK-NEXT: [2, -3, 3, -1, 1, -2]
  // CHECK-NEXT: [2, -2, 4, -0, 1, -2]
  return %0, %1, %2 : tensor<6xf32>, tensor<6xf32>, tensor<6xf32>
}

// CHECK-LABEL: @test_trigonometry
func.func @test_trigonometry() -> (tensor<4xf64>, tensor<4xf64>, tensor<4xf64>) {
  // 0, π/6, 1, and infinity.
  %x = graph.constant dense<[0.0, 0.5235987755982988, 1.0, 0x7FF0000000000000]> : tensor<4xf64>
  %0 = graph.sine %x : tensor<4xf64>
  %1 = graph.cosine %x : tensor<4xf64>
  %2 = graph.tanh %x : tensor<4xf64>
  // CHECK-NEXT: [0, 0.5, 0.841471, nan]
  // CHECK-NEXT: [1, 0.866025, 0.540302, nan]
  // CHECK-NEXT: [0, 0.480473, 0.761594, 1]
  return %0, %1, %2 : tensor<4xf64>, tensor<4xf64>, tensor<4xf64>
}

// CHECK-LABEL: @test_exponentials
func.func @test_exponentials() -> (tensor<4xf32>, tensor<4xf32>, tensor<3xf64>) {
  %x = graph.constant dense<[0.0, 1.0, -1.0, 89.0]> : tensor<4xf32>
  %small = graph.constant dense<[1.0e-20, 1.0, -50.0]> : tensor<3xf64>
  %0 = graph.exponential %x : tensor<4xf32>
  %1 = graph.exponential_minus_one %x : tensor<4xf32>
  %2 = graph.exponential_minus_one %small : tensor<3xf64>
  // CHECK-NEXT: [1, 2.71828, 0.367879, inf]
  // CHECK-NEXT: [0, 1.71828, -0.632121, inf]
  // CHECK-NEXT: [1e-20, 1.71828, -1]
  return %0, %1, %2 : tensor<4xf32>, tensor<4xf32>, tensor<3xf64>
}

// CHECK-LABEL: @test_logarithms
func.func @test_logarithms() -> (tensor<4xf32>, tensor<4xf64>) {
  %x = graph.constant dense<[1.0, 2.0, 0.0, -1.0]> : tensor<4xf32>
  %y = graph.constant dense<[0.0, 1.0e-20, 1.0, -1.0]> : tensor<4xf64>
  %0 = graph.log %x : tensor<4xf32>
  %1 = graph.log_plus_one %y : tensor<4xf64>
  // CHECK-NEXT: [0, 0.693147, -inf, nan]
  // CHECK-NEXT: [0, 1e-20, 0.693147, -inf]
  return %0, %1 : tensor<4xf32>, tensor<4xf64>
}

// CHECK-LABEL: @test_logistic
func.func @test_logistic() -> tensor<5xf32> {
  // Neither end overflows.
  %x = graph.constant dense<[0.0, 1.0, -1.0, 1000.0, -1000.0]> : tensor<5xf32>
  %0 = graph.logistic %x : tensor<5xf32>
  // CHECK-NEXT: [0.5, 0.731059, 0.268941, 1, 0]
  return %0 : tensor<5xf32>
}

// CHECK-LABEL: @test_erf
func.func @test_erf() -> tensor<4xf32> {
  %x = graph.constant dense<[0.0, 0.5, -1.0, 10.0]> : tensor<4xf32>
  %0 = graph.erf %x : tensor<4xf32>
  // CHECK-NEXT: [0, 0.5205, -0.842701, 1]
  return %0 : tensor<4xf32>
}

// CHECK-LABEL: @test_roots
func.func @test_roots() -> (tensor<4xf32>, tensor<4xf32>) {
  %x = graph.constant dense<[4.0, 0.25, 0.0, -1.0]> : tensor<4xf32>
  %0 = graph.sqrt %x : tensor<4xf32>
  %1 = graph.rsqrt %x : tensor<4xf32>
  // CHECK-NEXT: [2, 0.5, 0, nan]
  // CHECK-NEXT: [0.5, 2, inf, nan]
  return %0, %1 : tensor<4xf32>, tensor<4xf32>
}

// CHECK-LABEL: @test_negate
func.func @test_negate() -> (tensor<3xf32>, tensor<3xi32>, tensor<2xui32>) {
  %f = graph.constant dense<[1.5, 0.0, -2.0]> : tensor<3xf32>
  %i = graph.constant dense<[5, -7, -2147483648]> : tensor<3xi32>
  %u = graph.constant dense<[0, 1]> : tensor<2xui32>
  %0 = graph.negate %f : tensor<3xf32>
  %1 = graph.negate %i : tensor<3xi32>
  %2 = graph.negate %u : tensor<2xui32>
  // CHECK-NEXT: [-1.5, -0, 2]
  // CHECK-NEXT: [-5, 7, -2147483648]
  // CHECK-NEXT: [0, 4294967295]
  return %0, %1, %2 : tensor<3xf32>, tensor<3xi32>, tensor<2xui32>
}

// CHECK-LABEL: @test_sign
func.func @test_sign() -> (tensor<4xf32>, tensor<3xi64>, tensor<2xui64>) {
  %f = graph.constant dense<[2.5, -0.0, -3.0, 0x7FC00000]> : tensor<4xf32>
  %i = graph.constant dense<[-9, 0, 9]> : tensor<3xi64>
  %u = graph.constant dense<[0, 18446744073709551615]> : tensor<2xui64>
  %0 = graph.sign %f : tensor<4xf32>
  %1 = graph.sign %i : tensor<3xi64>
  %2 = graph.sign %u : tensor<2xui64>
  // CHECK-NEXT: [1, -0, -1, nan]
  // CHECK-NEXT: [-1, 0, 1]
  // CHECK-NEXT: [0, 1]
  return %0, %1, %2 : tensor<4xf32>, tensor<3xi64>, tensor<2xui64>
}

// CHECK-LABEL: @test_not
func.func @test_not() -> (tensor<2xi1>, tensor<3xi8>, tensor<2xui32>) {
  %b = graph.constant dense<[true, false]> : tensor<2xi1>
  %i = graph.constant dense<[0, -1, 5]> : tensor<3xi8>
  %u = graph.constant dense<[0, 5]> : tensor<2xui32>
  %0 = graph.not %b : tensor<2xi1>
  %1 = graph.not %i : tensor<3xi8>
  %2 = graph.not %u : tensor<2xui32>
  // CHECK-NEXT: [false, true]
  // CHECK-NEXT: [-1, 0, -6]
  // CHECK-NEXT: [4294967295, 4294967290]
  return %0, %1, %2 : tensor<2xi1>, tensor<3xi8>, tensor<2xui32>
}

// Results are rounded to the element type, once.
// CHECK-LABEL: @test_narrow_floats
func.func @test_narrow_floats() -> (tensor<2xbf16>, tensor<3xf16>) {
  %b = graph.constant dense<[1.0, 100.0]> : tensor<2xbf16>
  %h = graph.constant dense<[1.0, 12.0, 5.0]> : tensor<3xf16>
  %0 = graph.exponential %b : tensor<2xbf16>
  %1 = graph.exponential %h : tensor<3xf16>
  // e = 2.71828 lies between 2.703125 and 2.71875 in bf16.
  // CHECK-NEXT: [2.71875, inf]
  // CHECK-NEXT: [2.71875, inf, 148.375]
  return %0, %1 : tensor<2xbf16>, tensor<3xf16>
}
