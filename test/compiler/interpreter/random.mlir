// Counter-based random numbers.
// RUN: minigptc-opt %s --run | FileCheck %s
// RUN: minigptc-opt %s --graph-decompose --run | FileCheck %s

// The published words of Philox-4x32-10 for key and counter zero, in order:
// 6627e8d5 e169c58d bc57ac4c 9b00dbd8.
// CHECK-LABEL: @test_random_bits
func.func @test_random_bits() -> (tensor<4xui32>, tensor<2x2xui32>, tensor<1x2xui32>) {
  %key = graph.constant dense<0> : tensor<2xui32>
  %start = graph.constant dense<0> : tensor<1xi64>
  %origin = graph.constant dense<0> : tensor<2xi64>
  %inside = graph.constant dense<[1, 0]> : tensor<2xi64>
  %0 = graph.random_bits %key at %start of [4] : tensor<1xi64> -> tensor<4xui32>
  %1 = graph.random_bits %key at %origin of [2, 2] : tensor<2xi64> -> tensor<2x2xui32>
  // A block draws what the whole tensor has there.
  %2 = graph.random_bits %key at %inside of [2, 2] : tensor<2xi64> -> tensor<1x2xui32>
  // CHECK-NEXT: [1713891541, 3781805453, 3159862348, 2600524760]
  // CHECK-NEXT: {{\[}}[1713891541, 3781805453], [3159862348, 2600524760]]
  // CHECK-NEXT: {{\[}}[3159862348, 2600524760]]
  return %0, %1, %2 : tensor<4xui32>, tensor<2x2xui32>, tensor<1x2xui32>
}

// CHECK-LABEL: @test_random_bits_far
func.func @test_random_bits_far() -> (tensor<2xui32>, tensor<2xui32>) {
  // Elements 2^34 + 1 and 2^34 + 2 of a big tensor: draw 2^32, words 1 and 2.
  %key = graph.constant dense<[1, 2]> : tensor<2xui32>
  %far = graph.constant dense<[17179869185]> : tensor<1xi64>
  %near = graph.constant dense<[1]> : tensor<1xi64>
  %0 = graph.random_bits %key at %far of [20000000000] : tensor<1xi64> -> tensor<2xui32>
  %1 = graph.random_bits %key at %near of [20000000000] : tensor<1xi64> -> tensor<2xui32>
  // CHECK-NEXT: tensor<2xui32> [[FAR:.+]]
  // CHECK-NOT: [[FAR]]
  return %0, %1 : tensor<2xui32>, tensor<2xui32>
}

// CHECK-LABEL: @test_fold_in
func.func @test_fold_in() -> (tensor<2xui32>, tensor<2xui32>, tensor<2xui32>, tensor<2xui32>) {
  %key = graph.constant dense<[1, 2]> : tensor<2xui32>
  %i = graph.constant dense<-1> : tensor<i32>
  %u = graph.constant dense<4294967295> : tensor<ui32>
  %l = graph.constant dense<4294967295> : tensor<i64>
  %m = graph.constant dense<-1> : tensor<i64>
  %0 = graph.fold_in %key, %i : tensor<i32>
  %1 = graph.fold_in %key, %u : tensor<ui32>
  %2 = graph.fold_in %key, %l : tensor<i64>
  %3 = graph.fold_in %key, %m : tensor<i64>
  // Data are zero-extended.
  // CHECK-NEXT: tensor<2xui32> [[KEY:.+]]
  // CHECK-NEXT: tensor<2xui32> [[KEY]]
  // CHECK-NEXT: tensor<2xui32> [[KEY]]
  // CHECK-NOT: [[KEY]]
  return %0, %1, %2, %3 : tensor<2xui32>, tensor<2xui32>, tensor<2xui32>, tensor<2xui32>
}

// CHECK-LABEL: @test_random_uniform
func.func @test_random_uniform() -> (tensor<4xf32>, tensor<4xf64>, tensor<2xbf16>) {
  %key = graph.constant dense<0> : tensor<2xui32>
  %0 = graph.random_uniform %key : tensor<4xf32>
  %1 = graph.random_uniform %key : tensor<4xf64>
  %2 = graph.random_uniform %key : tensor<2xbf16>
  // 0x6627e8 · 2^-24 = 6694888 / 16777216, and so on.
  // CHECK-NEXT: [0.399046, 0.88052, 0.735713, 0.605482]
  // CHECK-NEXT: [0.399046, 0.88052, 0.735713, 0.605482]
  // CHECK-NEXT: [0.398438, 0.878906]
  return %0, %1, %2 : tensor<4xf32>, tensor<4xf64>, tensor<2xbf16>
}

// CHECK-LABEL: @test_random_normal
func.func @test_random_normal() -> tensor<4xf32> {
  %key = graph.constant dense<0> : tensor<2xui32>
  %0 = graph.random_normal %key : tensor<4xf32>
  // The quantiles of the standard normal distribution at those four numbers.
  // CHECK-NEXT: [-0.255816, 1.17759, 0.630184, 0.26756{{.}}]
  return %0 : tensor<4xf32>
}

// CHECK-LABEL: @test_random_truncated_normal
func.func @test_random_truncated_normal() -> (tensor<4xf32>, tensor<f32>, tensor<f32>, tensor<i1>) {
  %key = graph.constant dense<0> : tensor<2xui32>
  %0 = graph.random_truncated_normal %key {low = -1.0 : f64, high = 1.0 : f64} : tensor<4xf32>
  %1 = graph.random_truncated_normal %key {low = -0.5 : f64, high = 2.0 : f64} : tensor<10000xf32>
  %low = graph.reduce min, %1, dims = [0] : (tensor<10000xf32>) -> tensor<f32>
  %high = graph.reduce max, %1, dims = [0] : (tensor<10000xf32>) -> tensor<f32>
  %finite = graph.is_finite %1 : (tensor<10000xf32>) -> tensor<10000xi1>
  %all = graph.reduce all, %finite, dims = [0] : (tensor<10000xi1>) -> tensor<i1>
  // Φ⁻¹(Φ(-1) + u (Φ(1) - Φ(-1))).
  // CHECK-NEXT: [-0.17362{{.}}, 0.70558{{.}}, 0.41497{{.}}, 0.18149{{.}}]
  // CHECK-NEXT: -0.49{{.*}}
  // CHECK-NEXT: {{1.9.*|2}}
  // CHECK-NEXT: true
  return %0, %low, %high, %all : tensor<4xf32>, tensor<f32>, tensor<f32>, tensor<i1>
}

// CHECK-LABEL: @test_moments
func.func @test_moments() -> (tensor<f32>, tensor<f32>) {
  %key = graph.constant dense<[42, 0]> : tensor<2xui32>
  %x = graph.random_normal %key : tensor<100000xf32>
  %square = graph.multiply %x, %x : tensor<100000xf32>
  %n = graph.constant dense<100000.0> : tensor<f32>
  %s1 = graph.reduce sum, %x, dims = [0] : (tensor<100000xf32>) -> tensor<f32>
  %s2 = graph.reduce sum, %square, dims = [0] : (tensor<100000xf32>) -> tensor<f32>
  %mean = graph.divide %s1, %n : tensor<f32>
  %variance = graph.divide %s2, %n : tensor<f32>
  // Within 0.01, three standard deviations of the mean.
  // CHECK-NEXT: {{-?(0.00|[0-9.]+e-)}}
  // CHECK-NEXT: {{0.99|1.00|1$}}
  return %mean, %variance : tensor<f32>, tensor<f32>
}

// CHECK-LABEL: @test_dropout
func.func @test_dropout() -> (tensor<4xf32>, tensor<4xf32>, tensor<4xf32>) {
  // An element stays if its bits are at least rate · 2^32: 0.399 0.88 0.736 0.605 stay or not.
  %key = graph.constant dense<0> : tensor<2xui32>
  %x = graph.constant dense<[1.0, 2.0, 3.0, 4.0]> : tensor<4xf32>
  %0 = graph.dropout %x, %key rate = 0.5 : tensor<4xf32>
  %1 = graph.dropout %x, %key rate = 0.75 : tensor<4xf32>
  %2 = graph.dropout %x, %key rate = 0.0 : tensor<4xf32>
  // CHECK-NEXT: [0, 4, 6, 8]
  // CHECK-NEXT: [0, 8, 0, 0]
  // CHECK-NEXT: [1, 2, 3, 4]
  return %0, %1, %2 : tensor<4xf32>, tensor<4xf32>, tensor<4xf32>
}

// What is drawn in parts is what the whole is: differences of the rows are zero.
// CHECK-LABEL: @test_parts
func.func @test_parts() -> (tensor<2x3xf32>, tensor<2xf32>, tensor<2x1xf32>, tensor<2x3xf32>) {
  %key = graph.constant dense<[5, 6]> : tensor<2xui32>
  %last = graph.constant dense<2> : tensor<i64>
  %0 = graph.random_uniform %key : tensor<6x3xf32>
  %1 = graph.random_uniform %key part %last of 3 : tensor<2x3xf32>
  %2 = graph.slice %0 [4, 0] : [6, 3] : [1, 1] : (tensor<6x3xf32>) -> tensor<2x3xf32>
  %3 = graph.subtract %1, %2 : tensor<2x3xf32>
  %4 = graph.random_normal %key : tensor<6xf32>
  %5 = graph.random_normal %key part %last of 3 : tensor<2xf32>
  %6 = graph.slice %4 [4] : [6] : [1] : (tensor<6xf32>) -> tensor<2xf32>
  %7 = graph.subtract %5, %6 : tensor<2xf32>
  %8 = graph.random_truncated_normal %key {low = -1.0, high = 2.0} : tensor<6x1xf32>
  %9 = graph.random_truncated_normal %key part %last of 3 {low = -1.0, high = 2.0} : tensor<2x1xf32>
  %10 = graph.slice %8 [4, 0] : [6, 1] : [1, 1] : (tensor<6x1xf32>) -> tensor<2x1xf32>
  %11 = graph.subtract %9, %10 : tensor<2x1xf32>
  %12 = graph.dropout %0, %key rate = 0.5 : tensor<6x3xf32>
  %13 = graph.dropout %1, %key part %last of 3 rate = 0.5 : tensor<2x3xf32>
  %14 = graph.slice %12 [4, 0] : [6, 3] : [1, 1] : (tensor<6x3xf32>) -> tensor<2x3xf32>
  %d3 = graph.subtract %13, %14 : tensor<2x3xf32>
  // CHECK-NEXT: {{\[}}[0, 0, 0], [0, 0, 0]]
  // CHECK-NEXT: [0, 0]
  // CHECK-NEXT: {{\[}}[0], [0]]
  // CHECK-NEXT: {{\[}}[0, 0, 0], [0, 0, 0]]
  return %3, %7, %11, %d3 : tensor<2x3xf32>, tensor<2xf32>, tensor<2x1xf32>, tensor<2x3xf32>
}
