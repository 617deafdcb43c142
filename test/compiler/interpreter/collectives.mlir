// RUN: minigptc-opt %s --run | FileCheck %s
// Every device d holds [10d, 10d + 1, …]; "b" is the minor axis: device 2a + b.

dist.mesh @mesh = <["a"=2, "b"=2]>

func.func private @mine() -> tensor<4xf32> {
  %i = dist.axis_index @mesh ["a", "b"] : tensor<i64>
  %d = graph.convert %i : (tensor<i64>) -> tensor<f32>
  %all = graph.broadcast_in_dim %d, dims = [] : (tensor<f32>) -> tensor<4xf32>
  %ten = graph.constant dense<10.0> : tensor<4xf32>
  %tens = graph.multiply %all, %ten : tensor<4xf32>
  %iota = graph.iota dim = 0 : tensor<4xf32>
  %x = graph.add %tens, %iota : tensor<4xf32>
  return %x : tensor<4xf32>
}

// CHECK-LABEL: @test_axis_index
// CHECK-NEXT: device 0: tensor<i64> 0
// CHECK-NEXT: device 0: tensor<i64> 0
// CHECK-NEXT: device 0: tensor<i64> 0
// CHECK-NEXT: device 1: tensor<i64> 1
// CHECK-NEXT: device 1: tensor<i64> 1
// CHECK-NEXT: device 1: tensor<i64> 2
// CHECK-NEXT: device 2: tensor<i64> 0
// CHECK-NEXT: device 2: tensor<i64> 2
// CHECK-NEXT: device 2: tensor<i64> 1
// CHECK-NEXT: device 3: tensor<i64> 1
// CHECK-NEXT: device 3: tensor<i64> 3
// CHECK-NEXT: device 3: tensor<i64> 3
func.func @test_axis_index() -> (tensor<i64>, tensor<i64>, tensor<i64>) {
  %0 = dist.axis_index @mesh ["b"] : tensor<i64>
  %1 = dist.axis_index @mesh ["a", "b"] : tensor<i64>
  %2 = dist.axis_index @mesh ["b", "a"] : tensor<i64>
  return %0, %1, %2 : tensor<i64>, tensor<i64>, tensor<i64>
}

// CHECK-LABEL: @test_all_gather_minor
// CHECK-NEXT: device 0: tensor<8xf32> [0, 1, 2, 3, 10, 11, 12, 13]
// CHECK-NEXT: device 1: tensor<8xf32> [0, 1, 2, 3, 10, 11, 12, 13]
// CHECK-NEXT: device 2: tensor<8xf32> [20, 21, 22, 23, 30, 31, 32, 33]
// CHECK-NEXT: device 3: tensor<8xf32> [20, 21, 22, 23, 30, 31, 32, 33]
func.func @test_all_gather_minor() -> tensor<8xf32> {
  %x = call @mine() : () -> tensor<4xf32>
  %0 = dist.all_gather %x over @mesh ["b"] dims = [0] : (tensor<4xf32>) -> tensor<8xf32>
  return %0 : tensor<8xf32>
}

// CHECK-LABEL: @test_all_gather_both
// CHECK-NEXT: device 0: tensor<2x8xf32> {{\[\[}}0, 1, 20, 21, 10, 11, 30, 31], [2, 3, 22, 23, 12, 13, 32, 33]]
func.func @test_all_gather_both() -> tensor<2x8xf32> {
  %x = call @mine() : () -> tensor<4xf32>
  %y = graph.reshape %x : (tensor<4xf32>) -> tensor<2x2xf32>
  %0 = dist.all_gather %y over @mesh ["b", "a"] dims = [1] : (tensor<2x2xf32>) -> tensor<2x8xf32>
  return %0 : tensor<2x8xf32>
}

// CHECK-LABEL: @test_reduce_scatter
// CHECK-NEXT: device 0: tensor<2xf32> [20, 22]
// CHECK-NEXT: device 0: tensor<1xf32> [60]
// CHECK-NEXT: device 1: tensor<2xf32> [40, 42]
// CHECK-NEXT: device 1: tensor<1xf32> [64]
// CHECK-NEXT: device 2: tensor<2xf32> [24, 26]
// CHECK-NEXT: device 2: tensor<1xf32> [68]
// CHECK-NEXT: device 3: tensor<2xf32> [44, 46]
// CHECK-NEXT: device 3: tensor<1xf32> [72]
func.func @test_reduce_scatter() -> (tensor<2xf32>, tensor<1xf32>) {
  %x = call @mine() : () -> tensor<4xf32>
  %0 = dist.reduce_scatter %x over @mesh ["a"] combine = sum dims = [0] : (tensor<4xf32>) -> tensor<2xf32>
  %1 = dist.reduce_scatter %x over @mesh ["a", "b"] combine = sum dims = [0] : (tensor<4xf32>) -> tensor<1xf32>
  return %0, %1 : tensor<2xf32>, tensor<1xf32>
}

// CHECK-LABEL: @test_all_reduce
// CHECK-NEXT: device 0: tensor<4xf32> [60, 64, 68, 72]
// CHECK-NEXT: device 0: tensor<4xf32> [10, 11, 12, 13]
// CHECK-NEXT: device 1: tensor<4xf32> [60, 64, 68, 72]
// CHECK-NEXT: device 1: tensor<4xf32> [10, 11, 12, 13]
// CHECK-NEXT: device 2: tensor<4xf32> [60, 64, 68, 72]
// CHECK-NEXT: device 2: tensor<4xf32> [30, 31, 32, 33]
func.func @test_all_reduce() -> (tensor<4xf32>, tensor<4xf32>) {
  %x = call @mine() : () -> tensor<4xf32>
  %0 = dist.all_reduce %x over @mesh ["a", "b"] combine = sum : (tensor<4xf32>) -> tensor<4xf32>
  %1 = dist.all_reduce %x over @mesh ["b"] combine = max : (tensor<4xf32>) -> tensor<4xf32>
  return %0, %1 : tensor<4xf32>, tensor<4xf32>
}

// CHECK-LABEL: @test_all_to_all
// CHECK-NEXT: device 0: tensor<4x1xf32> {{\[\[}}0], [2], [10], [12]]
// CHECK-NEXT: device 1: tensor<4x1xf32> {{\[\[}}1], [3], [11], [13]]
// CHECK-NEXT: device 2: tensor<4x1xf32> {{\[\[}}20], [22], [30], [32]]
// CHECK-NEXT: device 3: tensor<4x1xf32> {{\[\[}}21], [23], [31], [33]]
func.func @test_all_to_all() -> tensor<4x1xf32> {
  %x = call @mine() : () -> tensor<4xf32>
  %y = graph.reshape %x : (tensor<4xf32>) -> tensor<2x2xf32>
  %0 = dist.all_to_all %y over @mesh ["b"] split = [1] concat = [0] : (tensor<2x2xf32>) -> tensor<4x1xf32>
  return %0 : tensor<4x1xf32>
}

// CHECK-LABEL: @test_collective_permute
// CHECK-NEXT: device 0: tensor<4xf32> [0, 0, 0, 0]
// CHECK-NEXT: device 1: tensor<4xf32> [0, 1, 2, 3]
// CHECK-NEXT: device 2: tensor<4xf32> [10, 11, 12, 13]
// CHECK-NEXT: device 3: tensor<4xf32> [20, 21, 22, 23]
func.func @test_collective_permute() -> tensor<4xf32> {
  %x = call @mine() : () -> tensor<4xf32>
  %0 = dist.collective_permute %x over @mesh ["a", "b"] sources = [-1, 0, 1, 2] : (tensor<4xf32>) -> tensor<4xf32>
  return %0 : tensor<4xf32>
}

// CHECK-LABEL: @test_all_slice
// CHECK-NEXT: device 0: tensor<2xf32> [0, 1]
// CHECK-NEXT: device 0: tensor<1xf32> [0]
// CHECK-NEXT: device 1: tensor<2xf32> [10, 11]
// CHECK-NEXT: device 1: tensor<1xf32> [12]
// CHECK-NEXT: device 2: tensor<2xf32> [22, 23]
// CHECK-NEXT: device 2: tensor<1xf32> [21]
// CHECK-NEXT: device 3: tensor<2xf32> [32, 33]
// CHECK-NEXT: device 3: tensor<1xf32> [33]
func.func @test_all_slice() -> (tensor<2xf32>, tensor<1xf32>) {
  %x = call @mine() : () -> tensor<4xf32>
  %0 = dist.all_slice %x over @mesh ["a"] dims = [0] : (tensor<4xf32>) -> tensor<2xf32>
  %1 = dist.all_slice %x over @mesh ["b", "a"] dims = [0] : (tensor<4xf32>) -> tensor<1xf32>
  return %0, %1 : tensor<2xf32>, tensor<1xf32>
}
