// Elementwise ops of two operands.
// RUN: minigptc-opt %s --run | FileCheck %s

// CHECK-LABEL: @test_add
func.func @test_add() -> (tensor<2xf32>, tensor<2xi8>, tensor<1xui32>, tensor<1xi64>) {
  %a = graph.constant dense<[1.5, 16777216.0]> : tensor<2xf32>
  %b = graph.constant dense<[2.25, 1.0]> : tensor<2xf32>
  %i = graph.constant dense<[127, -128]> : tensor<2xi8>
  %j = graph.constant dense<[1, -1]> : tensor<2xi8>
  %u = graph.constant dense<[4294967295]> : tensor<1xui32>
  %v = graph.constant dense<[2]> : tensor<1xui32>
  %l = graph.constant dense<[9223372036854775807]> : tensor<1xi64>
  %m = graph.constant dense<[1]> : tensor<1xi64>
  %0 = graph.add %a, %b : tensor<2xf32>
  %1 = graph.add %i, %j : tensor<2xi8>
  %2 = graph.add %u, %v : tensor<1xui32>
  %3 = graph.add %l, %m : tensor<1xi64>
  // f32 has no 2^24 + 1.
  // CHECK-NEXT: [3.75, 1.67772e+07]
  // Integers wrap around.
  // CHECK-NEXT: [-128, 127]
  // CHECK-NEXT: [1]
  // CHECK-NEXT: [-9223372036854775808]
  return %0, %1, %2, %3 : tensor<2xf32>, tensor<2xi8>, tensor<1xui32>, tensor<1xi64>
}

// CHECK-LABEL: @test_subtract
func.func @test_subtract() -> (tensor<2xf64>, tensor<1xui64>, tensor<1xi32>, tensor<1xf32>) {
  %a = graph.constant dense<[1.5, 0x7FF0000000000000]> : tensor<2xf64>
  %b = graph.constant dense<[2.25, 0x7FF0000000000000]> : tensor<2xf64>
  %u = graph.constant dense<[1]> : tensor<1xui64>
  %v = graph.constant dense<[2]> : tensor<1xui64>
  %i = graph.constant dense<[-2147483648]> : tensor<1xi32>
  %j = graph.constant dense<[1]> : tensor<1xi32>
  %one = graph.constant dense<1.0> : tensor<1xf32>
  %tiny = graph.constant dense<1.0e-8> : tensor<1xf32>
  %sum = graph.add %one, %tiny : tensor<1xf32>
  %0 = graph.subtract %a, %b : tensor<2xf64>
  %1 = graph.subtract %u, %v : tensor<1xui64>
  %2 = graph.subtract %i, %j : tensor<1xi32>
  %3 = graph.subtract %sum, %one : tensor<1xf32>
  // CHECK-NEXT: [-0.75, nan]
  // CHECK-NEXT: [18446744073709551615]
  // CHECK-NEXT: [2147483647]
  // Each f32 op rounds: the small summand is gone.
  // CHECK-NEXT: [0]
  return %0, %1, %2, %3 : tensor<2xf64>, tensor<1xui64>, tensor<1xi32>, tensor<1xf32>
}

// CHECK-LABEL: @test_multiply
func.func @test_multiply() -> (tensor<2xf32>, tensor<1xi32>, tensor<1xui32>, tensor<1xbf16>) {
  %a = graph.constant dense<[1.5, 0x7F800000]> : tensor<2xf32>
  %b = graph.constant dense<[-2.0, 0.0]> : tensor<2xf32>
  %i = graph.constant dense<[65536]> : tensor<1xi32>
  %u = graph.constant dense<[4294967295]> : tensor<1xui32>
  %h = graph.constant dense<[1.0078125]> : tensor<1xbf16>
  %0 = graph.multiply %a, %b : tensor<2xf32>
  %1 = graph.multiply %i, %i : tensor<1xi32>
  %2 = graph.multiply %u, %u : tensor<1xui32>
  %3 = graph.multiply %h, %h : tensor<1xbf16>
  // CHECK-NEXT: [-3, nan]
  // CHECK-NEXT: [0]
  // CHECK-NEXT: [1]
  // (1 + 2^-7)² = 1 + 2^-6 + 2^-14, rounded to 8 bits.
  // CHECK-NEXT: [1.01562]
  return %0, %1, %2, %3 : tensor<2xf32>, tensor<1xi32>, tensor<1xui32>, tensor<1xbf16>
}

// CHECK-LABEL: @test_divide
func.func @test_divide() -> (tensor<4xf32>, tensor<5xi32>, tensor<2xui32>) {
  %a = graph.constant dense<[1.0, -1.0, 0.0, 7.0]> : tensor<4xf32>
  %b = graph.constant dense<[0.0, 0.0, 0.0, 2.0]> : tensor<4xf32>
  %i = graph.constant dense<[7, -7, 7, 5, -2147483648]> : tensor<5xi32>
  %j = graph.constant dense<[2, 2, -2, 0, -1]> : tensor<5xi32>
  %u = graph.constant dense<[4294967295, 3]> : tensor<2xui32>
  %v = graph.constant dense<[2, 0]> : tensor<2xui32>
  %0 = graph.divide %a, %b : tensor<4xf32>
  %1 = graph.divide %i, %j : tensor<5xi32>
  %2 = graph.divide %u, %v : tensor<2xui32>
  // CHECK-NEXT: [inf, -inf, nan, 3.5]
  // Integers truncate towards zero; division by zero sets all bits.
  // CHECK-NEXT: [3, -3, -3, -1, -2147483648]
  // CHECK-NEXT: [2147483647, 4294967295]
  return %0, %1, %2 : tensor<4xf32>, tensor<5xi32>, tensor<2xui32>
}

// CHECK-LABEL: @test_remainder
func.func @test_remainder() -> (tensor<4xf32>, tensor<5xi32>, tensor<2xui32>) {
  %a = graph.constant dense<[7.5, -7.5, 7.5, 1.0]> : tensor<4xf32>
  %b = graph.constant dense<[2.0, 2.0, -2.0, 0.0]> : tensor<4xf32>
  %i = graph.constant dense<[7, -7, 7, 5, -2147483648]> : tensor<5xi32>
  %j = graph.constant dense<[3, 3, -3, 0, -1]> : tensor<5xi32>
  %u = graph.constant dense<[4294967295, 3]> : tensor<2xui32>
  %v = graph.constant dense<[10, 0]> : tensor<2xui32>
  %0 = graph.remainder %a, %b : tensor<4xf32>
  %1 = graph.remainder %i, %j : tensor<5xi32>
  %2 = graph.remainder %u, %v : tensor<2xui32>
  // The sign is the dividend's.
  // CHECK-NEXT: [1.5, -1.5, 1.5, nan]
  // CHECK-NEXT: [1, -1, 1, 5, 0]
  // CHECK-NEXT: [5, 3]
  return %0, %1, %2 : tensor<4xf32>, tensor<5xi32>, tensor<2xui32>
}

// CHECK-LABEL: @test_maximum
func.func @test_maximum() -> (tensor<4xf32>, tensor<2xi32>, tensor<2xui32>, tensor<4xi1>) {
  %a = graph.constant dense<[1.0, 0x7FC00000, 3.0, -0.0]> : tensor<4xf32>
  %b = graph.constant dense<[2.0, 1.0, 0x7FC00000, 0.0]> : tensor<4xf32>
  %i = graph.constant dense<[-1, 3]> : tensor<2xi32>
  %j = graph.constant dense<[1, 2]> : tensor<2xi32>
  %u = graph.constant dense<[4294967295, 3]> : tensor<2xui32>
  %v = graph.constant dense<[1, 2]> : tensor<2xui32>
  %p = graph.constant dense<[false, false, true, true]> : tensor<4xi1>
  %q = graph.constant dense<[false, true, false, true]> : tensor<4xi1>
  %0 = graph.maximum %a, %b : tensor<4xf32>
  %1 = graph.maximum %i, %j : tensor<2xi32>
  %2 = graph.maximum %u, %v : tensor<2xui32>
  %3 = graph.maximum %p, %q : tensor<4xi1>
  // NaN wins on either side.
  // CHECK-NEXT: [2, nan, nan, 0]
  // CHECK-NEXT: [1, 3]
  // CHECK-NEXT: [4294967295, 3]
  // CHECK-NEXT: [false, true, true, true]
  return %0, %1, %2, %3 : tensor<4xf32>, tensor<2xi32>, tensor<2xui32>, tensor<4xi1>
}

// CHECK-LABEL: @test_minimum
func.func @test_minimum() -> (tensor<4xf32>, tensor<2xi32>, tensor<2xui32>, tensor<4xi1>) {
  %a = graph.constant dense<[1.0, 0x7FC00000, 3.0, 0.0]> : tensor<4xf32>
  %b = graph.constant dense<[2.0, 1.0, 0x7FC00000, -0.0]> : tensor<4xf32>
  %i = graph.constant dense<[-1, 3]> : tensor<2xi32>
  %j = graph.constant dense<[1, 2]> : tensor<2xi32>
  %u = graph.constant dense<[4294967295, 3]> : tensor<2xui32>
  %v = graph.constant dense<[1, 2]> : tensor<2xui32>
  %p = graph.constant dense<[false, false, true, true]> : tensor<4xi1>
  %q = graph.constant dense<[false, true, false, true]> : tensor<4xi1>
  %0 = graph.minimum %a, %b : tensor<4xf32>
  %1 = graph.minimum %i, %j : tensor<2xi32>
  %2 = graph.minimum %u, %v : tensor<2xui32>
  %3 = graph.minimum %p, %q : tensor<4xi1>
  // CHECK-NEXT: [1, nan, nan, -0]
  // CHECK-NEXT: [-1, 2]
  // CHECK-NEXT: [1, 2]
  // CHECK-NEXT: [false, false, false, true]
  return %0, %1, %2, %3 : tensor<4xf32>, tensor<2xi32>, tensor<2xui32>, tensor<4xi1>
}

// CHECK-LABEL: @test_power
func.func @test_power() -> tensor<5xf32> {
  %a = graph.constant dense<[2.0, 9.0, -2.0, 0.0, -1.0]> : tensor<5xf32>
  %b = graph.constant dense<[10.0, 0.5, 3.0, 0.0, 0.5]> : tensor<5xf32>
  %0 = graph.power %a, %b : tensor<5xf32>
  // CHECK-NEXT: [1024, 3, -8, 1, nan]
  return %0 : tensor<5xf32>
}

// CHECK-LABEL: @test_bitwise
func.func @test_bitwise() -> (tensor<2xi8>, tensor<2xi8>, tensor<2xi8>, tensor<1xui32>, tensor<4xi1>, tensor<4xi1>, tensor<4xi1>) {
  %a = graph.constant dense<[12, -1]> : tensor<2xi8>
  %b = graph.constant dense<[10, 7]> : tensor<2xi8>
  %u = graph.constant dense<[4042322160]> : tensor<1xui32>
  %v = graph.constant dense<[4294901760]> : tensor<1xui32>
  %p = graph.constant dense<[false, false, true, true]> : tensor<4xi1>
  %q = graph.constant dense<[false, true, false, true]> : tensor<4xi1>
  %0 = graph.and %a, %b : tensor<2xi8>
  %1 = graph.or %a, %b : tensor<2xi8>
  %2 = graph.xor %a, %b : tensor<2xi8>
  %3 = graph.and %u, %v : tensor<1xui32>
  %4 = graph.and %p, %q : tensor<4xi1>
  %5 = graph.or %p, %q : tensor<4xi1>
  %6 = graph.xor %p, %q : tensor<4xi1>
  // CHECK-NEXT: [8, 7]
  // CHECK-NEXT: [14, -1]
  // CHECK-NEXT: [6, -8]
  // CHECK-NEXT: [4042260480]
  // CHECK-NEXT: [false, false, false, true]
  // CHECK-NEXT: [false, true, true, true]
  // CHECK-NEXT: [false, true, true, false]
  return %0, %1, %2, %3, %4, %5, %6 : tensor<2xi8>, tensor<2xi8>, tensor<2xi8>, tensor<1xui32>, tensor<4xi1>, tensor<4xi1>, tensor<4xi1>
}

// A shift by the width or more, or by a negative number, shifts everything out.
// CHECK-LABEL: @test_shifts
func.func @test_shifts() -> (tensor<4xi32>, tensor<4xi32>, tensor<4xi32>, tensor<2xui32>, tensor<2xui32>) {
  %a = graph.constant dense<[3, -8, -8, 5]> : tensor<4xi32>
  %b = graph.constant dense<[4, 1, 32, -1]> : tensor<4xi32>
  %u = graph.constant dense<[2147483648, 1]> : tensor<2xui32>
  %v = graph.constant dense<[31, 40]> : tensor<2xui32>
  %0 = graph.shift_left %a, %b : tensor<4xi32>
  %1 = graph.shift_right_logical %a, %b : tensor<4xi32>
  %2 = graph.shift_right_arithmetic %a, %b : tensor<4xi32>
  %3 = graph.shift_right_logical %u, %v : tensor<2xui32>
  %4 = graph.shift_right_arithmetic %u, %v : tensor<2xui32>
  // CHECK-NEXT: [48, -16, 0, 0]
  // CHECK-NEXT: [0, 2147483644, 0, 0]
  // CHECK-NEXT: [0, -4, -1, 0]
  // CHECK-NEXT: [1, 0]
  // The top bit is the sign, of unsigned numbers too.
  // CHECK-NEXT: [4294967295, 0]
  return %0, %1, %2, %3, %4 : tensor<4xi32>, tensor<4xi32>, tensor<4xi32>, tensor<2xui32>, tensor<2xui32>
}
