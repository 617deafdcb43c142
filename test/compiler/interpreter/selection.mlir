// Comparison, choice and change of type.
// RUN: minigptc-opt %s --run | FileCheck %s

// CHECK-LABEL: @test_compare
func.func @test_compare() -> (tensor<4xi1>, tensor<4xi1>, tensor<4xi1>, tensor<4xi1>, tensor<4xi1>, tensor<4xi1>) {
  %a = graph.constant dense<[1.0, 2.0, -0.0, 0x7FC00000]> : tensor<4xf32>
  %b = graph.constant dense<[2.0, 2.0, 0.0, 0x7FC00000]> : tensor<4xf32>
  %0 = graph.compare EQ, %a, %b : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xi1>
  %1 = graph.compare NE, %a, %b : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xi1>
  %2 = graph.compare LT, %a, %b : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xi1>
  %3 = graph.compare LE, %a, %b : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xi1>
  %4 = graph.compare GT, %b, %a : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xi1>
  %5 = graph.compare GE, %b, %a : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xi1>
  // CHECK-NEXT: [false, true, true, false]
  // NaN differs from everything, itself too; all other comparisons with it are false.
  // CHECK-NEXT: [true, false, false, true]
  // CHECK-NEXT: [true, false, false, false]
  // CHECK-NEXT: [true, true, true, false]
  // CHECK-NEXT: [true, false, false, false]
  // CHECK-NEXT: [true, true, true, false]
  return %0, %1, %2, %3, %4, %5 : tensor<4xi1>, tensor<4xi1>, tensor<4xi1>, tensor<4xi1>, tensor<4xi1>, tensor<4xi1>
}

// CHECK-LABEL: @test_compare_integers
func.func @test_compare_integers() -> (tensor<2xi1>, tensor<2xi1>, tensor<2xi1>) {
  %i = graph.constant dense<[-1, 3]> : tensor<2xi32>
  %j = graph.constant dense<[1, 3]> : tensor<2xi32>
  %u = graph.constant dense<[4294967295, 3]> : tensor<2xui32>
  %v = graph.constant dense<[1, 3]> : tensor<2xui32>
  %p = graph.constant dense<[false, true]> : tensor<2xi1>
  %q = graph.constant dense<[true, true]> : tensor<2xi1>
  %0 = graph.compare LT, %i, %j : (tensor<2xi32>, tensor<2xi32>) -> tensor<2xi1>
  %1 = graph.compare LT, %u, %v : (tensor<2xui32>, tensor<2xui32>) -> tensor<2xi1>
  %2 = graph.compare LT, %p, %q : (tensor<2xi1>, tensor<2xi1>) -> tensor<2xi1>
  // CHECK-NEXT: [true, false]
  // CHECK-NEXT: [false, false]
  // CHECK-NEXT: [true, false]
  return %0, %1, %2 : tensor<2xi1>, tensor<2xi1>, tensor<2xi1>
}

// CHECK-LABEL: @test_is_finite
func.func @test_is_finite() -> (tensor<4xi1>, tensor<2xi1>) {
  %x = graph.constant dense<[1.0, 0x7F800000, 0xFF800000, 0x7FC00000]> : tensor<4xf32>
  %y = graph.constant dense<[1.0, 0x7C00]> : tensor<2xf16>
  %0 = graph.is_finite %x : (tensor<4xf32>) -> tensor<4xi1>
  %1 = graph.is_finite %y : (tensor<2xf16>) -> tensor<2xi1>
  // CHECK-NEXT: [true, false, false, false]
  // CHECK-NEXT: [true, false]
  return %0, %1 : tensor<4xi1>, tensor<2xi1>
}

// CHECK-LABEL: @test_select
func.func @test_select() -> (tensor<3xf32>, tensor<3xi32>) {
  %p = graph.constant dense<[true, false, true]> : tensor<3xi1>
  %scalar = graph.constant dense<false> : tensor<i1>
  %a = graph.constant dense<[1.0, 2.0, 3.0]> : tensor<3xf32>
  %b = graph.constant dense<[0x7FC00000, 5.0, 6.0]> : tensor<3xf32>
  %i = graph.constant dense<[1, 2, 3]> : tensor<3xi32>
  %j = graph.constant dense<[4, 5, 6]> : tensor<3xi32>
  // What is not chosen does not matter.
  %0 = graph.select %p, %a, %b : tensor<3xi1>, tensor<3xf32>
  // A scalar chooses for all elements.
  %1 = graph.select %scalar, %i, %j : tensor<i1>, tensor<3xi32>
  // CHECK-NEXT: [1, 5, 3]
  // CHECK-NEXT: [4, 5, 6]
  return %0, %1 : tensor<3xf32>, tensor<3xi32>
}

// CHECK-LABEL: @test_convert_float_to_integer
func.func @test_convert_float_to_integer() -> (tensor<6xi32>, tensor<6xi8>, tensor<6xui32>, tensor<6xi1>, tensor<2xi64>) {
  %x = graph.constant dense<[1.9, -1.9, 3.0e10, -3.0e10, 0x7FC00000, 0.25]> : tensor<6xf32>
  %big = graph.constant dense<[1.0e30, -1.0e30]> : tensor<2xf64>
  %0 = graph.convert %x : (tensor<6xf32>) -> tensor<6xi32>
  %1 = graph.convert %x : (tensor<6xf32>) -> tensor<6xi8>
  %2 = graph.convert %x : (tensor<6xf32>) -> tensor<6xui32>
  %3 = graph.convert %x : (tensor<6xf32>) -> tensor<6xi1>
  %4 = graph.convert %big : (tensor<2xf64>) -> tensor<2xi64>
  // Truncation towards zero, saturation, NaN to zero.
  // CHECK-NEXT: [1, -1, 2147483647, -2147483648, 0, 0]
  // CHECK-NEXT: [1, -1, 127, -128, 0, 0]
  // CHECK-NEXT: [1, 0, 4294967295, 0, 0, 0]
  // Nonzero is true.
  // CHECK-NEXT: [true, true, true, true, true, true]
  // CHECK-NEXT: [9223372036854775807, -9223372036854775808]
  return %0, %1, %2, %3, %4 : tensor<6xi32>, tensor<6xi8>, tensor<6xui32>, tensor<6xi1>, tensor<2xi64>
}

// CHECK-LABEL: @test_convert_integers
func.func @test_convert_integers() -> (tensor<3xi8>, tensor<3xui32>, tensor<3xf32>, tensor<3xi1>, tensor<2xi32>, tensor<1xf64>) {
  %i = graph.constant dense<[-1, 300, 0]> : tensor<3xi32>
  %p = graph.constant dense<[true, false]> : tensor<2xi1>
  %u = graph.constant dense<[18446744073709551615]> : tensor<1xui64>
  %0 = graph.convert %i : (tensor<3xi32>) -> tensor<3xi8>
  %1 = graph.convert %i : (tensor<3xi32>) -> tensor<3xui32>
  %2 = graph.convert %i : (tensor<3xi32>) -> tensor<3xf32>
  %3 = graph.convert %i : (tensor<3xi32>) -> tensor<3xi1>
  %4 = graph.convert %p : (tensor<2xi1>) -> tensor<2xi32>
  %5 = graph.convert %u : (tensor<1xui64>) -> tensor<1xf64>
  // Integers keep their low bits.
  // CHECK-NEXT: [-1, 44, 0]
  // CHECK-NEXT: [4294967295, 300, 0]
  // CHECK-NEXT: [-1, 300, 0]
  // CHECK-NEXT: [true, true, false]
  // CHECK-NEXT: [1, 0]
  // CHECK-NEXT: [1.84467e+19]
  return %0, %1, %2, %3, %4, %5 : tensor<3xi8>, tensor<3xui32>, tensor<3xf32>, tensor<3xi1>, tensor<2xi32>, tensor<1xf64>
}

// CHECK-LABEL: @test_convert_floats
func.func @test_convert_floats() -> (tensor<3xbf16>, tensor<3xf16>, tensor<3xf64>) {
  // 1 + 2^-8 is halfway between two bf16, 1 + 3·2^-8 too: ties go to even.
  %x = graph.constant dense<[1.00390625, 1.01171875, 70000.0]> : tensor<3xf32>
  %0 = graph.convert %x : (tensor<3xf32>) -> tensor<3xbf16>
  %1 = graph.convert %x : (tensor<3xf32>) -> tensor<3xf16>
  %2 = graph.convert %x : (tensor<3xf32>) -> tensor<3xf64>
  // CHECK-NEXT: [1, 1.01562, 70144]
  // CHECK-NEXT: [1.00391, 1.01172, inf]
  // CHECK-NEXT: [1.00391, 1.01172, 70000]
  return %0, %1, %2 : tensor<3xbf16>, tensor<3xf16>, tensor<3xf64>
}

// CHECK-LABEL: @test_bitcast_convert
func.func @test_bitcast_convert() -> (tensor<2xui32>, tensor<2xf32>, tensor<1xi64>) {
  %x = graph.constant dense<[1.0, -2.0]> : tensor<2xf32>
  %i = graph.constant dense<[1065353216, 1073741824]> : tensor<2xi32>
  %d = graph.constant dense<[1.0]> : tensor<1xf64>
  %0 = graph.bitcast_convert %x : (tensor<2xf32>) -> tensor<2xui32>
  %1 = graph.bitcast_convert %i : (tensor<2xi32>) -> tensor<2xf32>
  %2 = graph.bitcast_convert %d : (tensor<1xf64>) -> tensor<1xi64>
  // CHECK-NEXT: [1065353216, 3221225472]
  // CHECK-NEXT: [1, 2]
  // CHECK-NEXT: [4607182418800017408]
  return %0, %1, %2 : tensor<2xui32>, tensor<2xf32>, tensor<1xi64>
}
