// Reductions, products, gather, scatter, embedding.
// RUN: minigptc-opt %s --run | FileCheck %s

// CHECK-LABEL: @test_reduce
func.func @test_reduce() -> (tensor<2xf32>, tensor<3xf32>, tensor<f32>, tensor<2xf32>, tensor<2xf32>, tensor<2x3xf32>) {
  %x = graph.constant dense<[[1.0, -2.0, 3.0], [4.0, 5.0, 6.0]]> : tensor<2x3xf32>
  %0 = graph.reduce sum, %x, dims = [1] : (tensor<2x3xf32>) -> tensor<2xf32>
  %1 = graph.reduce max, %x, dims = [0] : (tensor<2x3xf32>) -> tensor<3xf32>
  %2 = graph.reduce sum, %x, dims = [0, 1] : (tensor<2x3xf32>) -> tensor<f32>
  %3 = graph.reduce prod, %x, dims = [1] : (tensor<2x3xf32>) -> tensor<2xf32>
  %4 = graph.reduce min, %x, dims = [1] : (tensor<2x3xf32>) -> tensor<2xf32>
  %5 = graph.reduce sum, %x, dims = [] : (tensor<2x3xf32>) -> tensor<2x3xf32>
  // CHECK-NEXT: [2, 15]
  // CHECK-NEXT: [4, 5, 6]
  // CHECK-NEXT: tensor<f32> 17
  // CHECK-NEXT: [-6, 120]
  // CHECK-NEXT: [-2, 4]
  // CHECK-NEXT: {{\[}}[1, -2, 3], [4, 5, 6]]
  return %0, %1, %2, %3, %4, %5 : tensor<2xf32>, tensor<3xf32>, tensor<f32>, tensor<2xf32>, tensor<2xf32>, tensor<2x3xf32>
}

// CHECK-LABEL: @test_reduce_middle
func.func @test_reduce_middle() -> tensor<2x2xi32> {
  %x = graph.constant dense<[[[1, 2], [3, 4]], [[5, 6], [7, 8]]]> : tensor<2x2x2xi32>
  %0 = graph.reduce sum, %x, dims = [1] : (tensor<2x2x2xi32>) -> tensor<2x2xi32>
  // CHECK-NEXT: {{\[}}[4, 6], [12, 14]]
  return %0 : tensor<2x2xi32>
}

// CHECK-LABEL: @test_reduce_integers
func.func @test_reduce_integers() -> (tensor<i8>, tensor<i32>, tensor<ui32>, tensor<ui32>) {
  %i = graph.constant dense<[100, 100]> : tensor<2xi8>
  %j = graph.constant dense<[-5, 3]> : tensor<2xi32>
  %u = graph.constant dense<[4294967295, 3]> : tensor<2xui32>
  %0 = graph.reduce sum, %i, dims = [0] : (tensor<2xi8>) -> tensor<i8>
  %1 = graph.reduce max, %j, dims = [0] : (tensor<2xi32>) -> tensor<i32>
  %2 = graph.reduce max, %u, dims = [0] : (tensor<2xui32>) -> tensor<ui32>
  %3 = graph.reduce prod, %u, dims = [0] : (tensor<2xui32>) -> tensor<ui32>
  // CHECK-NEXT: tensor<i8> -56
  // CHECK-NEXT: tensor<i32> 3
  // CHECK-NEXT: tensor<ui32> 4294967295
  // CHECK-NEXT: tensor<ui32> 4294967293
  return %0, %1, %2, %3 : tensor<i8>, tensor<i32>, tensor<ui32>, tensor<ui32>
}

// CHECK-LABEL: @test_reduce_predicates
func.func @test_reduce_predicates() -> (tensor<3xi1>, tensor<3xi1>) {
  %p = graph.constant dense<[[false, false], [false, true], [true, true]]> : tensor<3x2xi1>
  %0 = graph.reduce any, %p, dims = [1] : (tensor<3x2xi1>) -> tensor<3xi1>
  %1 = graph.reduce all, %p, dims = [1] : (tensor<3x2xi1>) -> tensor<3xi1>
  // CHECK-NEXT: [false, true, true]
  // CHECK-NEXT: [false, false, true]
  return %0, %1 : tensor<3xi1>, tensor<3xi1>
}

// CHECK-LABEL: @test_reduce_special_values
func.func @test_reduce_special_values() -> (tensor<f32>, tensor<f32>, tensor<f32>, tensor<bf16>, tensor<f32>) {
  %x = graph.constant dense<[1.0, 0x7FC00000, 3.0]> : tensor<3xf32>
  %empty = graph.constant dense<[]> : tensor<0xf32>
  // 0.1 in f32, a million times; added up in f32 it would be 100958.
  %tenth = graph.constant dense<0.1> : tensor<1000000xf32>
  // A sum of bf16 stops growing at 256 if it is kept in bf16.
  %ones = graph.constant dense<1.0> : tensor<1000xbf16>
  %0 = graph.reduce max, %x, dims = [0] : (tensor<3xf32>) -> tensor<f32>
  %1 = graph.reduce max, %empty, dims = [0] : (tensor<0xf32>) -> tensor<f32>
  %2 = graph.reduce sum, %tenth, dims = [0] : (tensor<1000000xf32>) -> tensor<f32>
  %3 = graph.reduce sum, %ones, dims = [0] : (tensor<1000xbf16>) -> tensor<bf16>
  %4 = graph.reduce prod, %empty, dims = [0] : (tensor<0xf32>) -> tensor<f32>
  // CHECK-NEXT: nan
  // The neutral element.
  // CHECK-NEXT: -inf
  // CHECK-NEXT: 100000
  // CHECK-NEXT: 1000
  // CHECK-NEXT: 1
  return %0, %1, %2, %3, %4 : tensor<f32>, tensor<f32>, tensor<f32>, tensor<bf16>, tensor<f32>
}

// CHECK-LABEL: @test_dot_general
func.func @test_dot_general() -> (tensor<2x2xf32>, tensor<2x2xf32>, tensor<f32>, tensor<2x2xf32>, tensor<2x2xi32>) {
  %a = graph.constant dense<[[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]]> : tensor<2x3xf32>
  %b = graph.constant dense<[[1.0, 0.0], [0.0, 1.0], [2.0, -1.0]]> : tensor<3x2xf32>
  %v = graph.constant dense<[1.0, 2.0]> : tensor<2xf32>
  %i = graph.constant dense<[[1, 2], [3, 4]]> : tensor<2x2xi32>
  %0 = graph.dot_general %a, %b, batching_dims = [] x [], contracting_dims = [1] x [0] : (tensor<2x3xf32>, tensor<3x2xf32>) -> tensor<2x2xf32>
  %1 = graph.dot_general %a, %a, batching_dims = [] x [], contracting_dims = [1] x [1] : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<2x2xf32>
  %2 = graph.dot_general %v, %v, batching_dims = [] x [], contracting_dims = [0] x [0] : (tensor<2xf32>, tensor<2xf32>) -> tensor<f32>
  %3 = graph.dot_general %v, %v, batching_dims = [] x [], contracting_dims = [] x [] : (tensor<2xf32>, tensor<2xf32>) -> tensor<2x2xf32>
  %4 = graph.dot_general %i, %i, batching_dims = [] x [], contracting_dims = [1] x [0] : (tensor<2x2xi32>, tensor<2x2xi32>) -> tensor<2x2xi32>
  // CHECK-NEXT: {{\[}}[7, -1], [16, -1]]
  // CHECK-NEXT: {{\[}}[14, 32], [32, 77]]
  // CHECK-NEXT: tensor<f32> 5
  // CHECK-NEXT: {{\[}}[1, 2], [2, 4]]
  // CHECK-NEXT: {{\[}}[7, 10], [15, 22]]
  return %0, %1, %2, %3, %4 : tensor<2x2xf32>, tensor<2x2xf32>, tensor<f32>, tensor<2x2xf32>, tensor<2x2xi32>
}

// Result dimensions: batching, those left of lhs, those left of rhs.
// CHECK-LABEL: @test_dot_general_batched
func.func @test_dot_general_batched() -> (tensor<2x1x2xf32>, tensor<2x2xf32>) {
  // lhs [B, M=1, K=2], rhs [K=2, B, N=2].
  %a = graph.constant dense<[[[1.0, 2.0]], [[3.0, 4.0]]]> : tensor<2x1x2xf32>
  %b = graph.constant dense<[[[1.0, 2.0], [3.0, 4.0]], [[5.0, 6.0], [7.0, 8.0]]]> : tensor<2x2x2xf32>
  %0 = graph.dot_general %a, %b, batching_dims = [0] x [1], contracting_dims = [2] x [0] : (tensor<2x1x2xf32>, tensor<2x2x2xf32>) -> tensor<2x1x2xf32>
  // Two contracted dimensions: lhs [M=2, 2, 1], rhs [1, 2, N=2] by dims 1 x 1 and 2 x 0.
  %c = graph.constant dense<[[[1.0], [2.0]], [[3.0], [4.0]]]> : tensor<2x2x1xf32>
  %d = graph.constant dense<[[[1.0, 2.0], [3.0, 4.0]]]> : tensor<1x2x2xf32>
  %1 = graph.dot_general %c, %d, batching_dims = [] x [], contracting_dims = [1, 2] x [1, 0] : (tensor<2x2x1xf32>, tensor<1x2x2xf32>) -> tensor<2x2xf32>
  // CHECK-NEXT: {{\[}}[{{\[}}11, 14]], {{\[}}[37, 44]]]
  // CHECK-NEXT: {{\[}}[7, 10], [15, 22]]
  return %0, %1 : tensor<2x1x2xf32>, tensor<2x2xf32>
}

// CHECK-LABEL: @test_dot_general_accumulates_wider
func.func @test_dot_general_accumulates_wider() -> (tensor<bf16>, tensor<f32>) {
  %ones = graph.constant dense<1.0> : tensor<1000xbf16>
  %big = graph.constant dense<[16777216.0, 1.0, 1.0]> : tensor<3xf32>
  %units = graph.constant dense<1.0> : tensor<3xf32>
  %0 = graph.dot_general %ones, %ones, batching_dims = [] x [], contracting_dims = [0] x [0] : (tensor<1000xbf16>, tensor<1000xbf16>) -> tensor<bf16>
  %1 = graph.dot_general %big, %units, batching_dims = [] x [], contracting_dims = [0] x [0] : (tensor<3xf32>, tensor<3xf32>) -> tensor<f32>
  %minus = graph.constant dense<-16777216.0> : tensor<f32>
  %2 = graph.add %1, %minus : tensor<f32>
  // CHECK-NEXT: 1000
  // 2^24 + 1 + 1: the ones are not lost.
  // CHECK-NEXT: 2
  return %0, %2 : tensor<bf16>, tensor<f32>
}

// CHECK-LABEL: @test_gather
func.func @test_gather() -> (tensor<3x2xf32>, tensor<2x2xf32>, tensor<2xf32>, tensor<2x3xf32>) {
  %x = graph.constant dense<[[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]]> : tensor<3x2xf32>
  %rows = graph.constant dense<[[2], [0], [2]]> : tensor<3x1xi32>
  // Clamped into range.
  %outside = graph.constant dense<[[-7], [9]]> : tensor<2x1xi64>
  %pairs = graph.constant dense<[[1, 1], [0, 5]]> : tensor<2x2xi32>
  %columns = graph.constant dense<[[1], [0]]> : tensor<2x1xui32>
  %0 = graph.gather %x[%rows] dims = [0] : (tensor<3x2xf32>, tensor<3x1xi32>) -> tensor<3x2xf32>
  %1 = graph.gather %x[%outside] dims = [0] : (tensor<3x2xf32>, tensor<2x1xi64>) -> tensor<2x2xf32>
  %2 = graph.gather %x[%pairs] dims = [0, 1] : (tensor<3x2xf32>, tensor<2x2xi32>) -> tensor<2xf32>
  %3 = graph.gather %x[%columns] dims = [1] : (tensor<3x2xf32>, tensor<2x1xui32>) -> tensor<2x3xf32>
  // CHECK-NEXT: {{\[}}[5, 6], [1, 2], [5, 6]]
  // CHECK-NEXT: {{\[}}[1, 2], [5, 6]]
  // CHECK-NEXT: [4, 2]
  // CHECK-NEXT: {{\[}}[2, 4, 6], [1, 3, 5]]
  return %0, %1, %2, %3 : tensor<3x2xf32>, tensor<2x2xf32>, tensor<2xf32>, tensor<2x3xf32>
}

// CHECK-LABEL: @test_scatter
func.func @test_scatter() -> (tensor<3x2xf32>, tensor<3x2xf32>, tensor<3x2xf32>, tensor<3xi8>) {
  %x = graph.constant dense<[[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]]> : tensor<3x2xf32>
  %rows = graph.constant dense<[[2], [0], [2]]> : tensor<3x1xi32>
  %updates = graph.constant dense<[[10.0, 20.0], [30.0, 40.0], [50.0, 60.0]]> : tensor<3x2xf32>
  %outside = graph.constant dense<[[-1], [1], [3]]> : tensor<3x1xi32>
  // Repeated indices add up.
  %0 = graph.scatter add, %x[%rows], %updates dims = [0] : (tensor<3x2xf32>, tensor<3x1xi32>, tensor<3x2xf32>) -> tensor<3x2xf32>
  // The last of repeated ones stays.
  %1 = graph.scatter update, %x[%rows], %updates dims = [0] : (tensor<3x2xf32>, tensor<3x1xi32>, tensor<3x2xf32>) -> tensor<3x2xf32>
  // An index out of range drops its slice.
  %2 = graph.scatter add, %x[%outside], %updates dims = [0] : (tensor<3x2xf32>, tensor<3x1xi32>, tensor<3x2xf32>) -> tensor<3x2xf32>
  %i = graph.constant dense<[127, 0, 1]> : tensor<3xi8>
  %j = graph.constant dense<[1, 2, 3]> : tensor<3xi8>
  %3 = graph.scatter add, %i[%rows], %j dims = [0] : (tensor<3xi8>, tensor<3x1xi32>, tensor<3xi8>) -> tensor<3xi8>
  // CHECK-NEXT: {{\[}}[31, 42], [3, 4], [65, 86]]
  // CHECK-NEXT: {{\[}}[30, 40], [3, 4], [50, 60]]
  // CHECK-NEXT: {{\[}}[1, 2], [33, 44], [5, 6]]
  // CHECK-NEXT: [-127, 0, 5]
  return %0, %1, %2, %3 : tensor<3x2xf32>, tensor<3x2xf32>, tensor<3x2xf32>, tensor<3xi8>
}

// CHECK-LABEL: @test_embedding
func.func @test_embedding() -> (tensor<2x2x2xf32>, tensor<2xf32>) {
  %table = graph.constant dense<[[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]]> : tensor<3x2xf32>
  %ids = graph.constant dense<[[0, 2], [1, 1]]> : tensor<2x2xi32>
  %id = graph.constant dense<2> : tensor<i32>
  %0 = graph.embedding %table, %ids : (tensor<3x2xf32>, tensor<2x2xi32>) -> tensor<2x2x2xf32>
  %1 = graph.embedding %table, %id : (tensor<3x2xf32>, tensor<i32>) -> tensor<2xf32>
  // CHECK-NEXT: {{\[}}[{{\[}}1, 2], [5, 6]], {{\[}}[3, 4], [3, 4]]]
  // CHECK-NEXT: [5, 6]
  return %0, %1 : tensor<2x2x2xf32>, tensor<2xf32>
}

// CHECK-LABEL: @test_dot_accumulate
func.func @test_dot_accumulate() -> tensor<2x2xf32> {
  %c = graph.constant dense<[[100.0, 200.0], [300.0, 400.0]]> : tensor<2x2xf32>
  %x = graph.constant dense<[[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]]> : tensor<2x3xf32>
  %y = graph.constant dense<[[1.0, 0.0], [0.0, 1.0], [1.0, 1.0]]> : tensor<3x2xf32>
  // CHECK-NEXT: {{\[}}[104, 205], [310, 411]]
  %0 = graph.dot_accumulate %c, %x, %y, batching_dims = [] x [], contracting_dims = [1] x [0] : (tensor<2x2xf32>, tensor<2x3xf32>, tensor<3x2xf32>) -> tensor<2x2xf32>
  return %0 : tensor<2x2xf32>
}
