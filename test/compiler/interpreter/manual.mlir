// RUN: minigptc-opt %s --run --split-input-file --verify-diagnostics=only-expected | FileCheck %s
// A manual op on whole tensors: what the devices compute of their parts, together. In a module with a
// mesh every device computes it.

dist.mesh @mesh = <["a"=2, "b"=2]>

/// Each element plus 100 times the device's number, and the sum of all parts.
func.func private @body(%x: tensor<1x2xf32>) -> (tensor<1x2xf32>, tensor<1x2xf32>, tensor<1x2xf32>) {
  %i = dist.axis_index @mesh ["a", "b"] : tensor<i64>
  %d = graph.convert %i : (tensor<i64>) -> tensor<f32>
  %all = graph.broadcast_in_dim %d, dims = [] : (tensor<f32>) -> tensor<1x2xf32>
  %hundred = graph.constant dense<100.0> : tensor<1x2xf32>
  %hundreds = graph.multiply %all, %hundred : tensor<1x2xf32>
  %y = graph.add %x, %hundreds : tensor<1x2xf32>
  %sum = dist.all_reduce %x over @mesh ["a"] combine = sum : (tensor<1x2xf32>) -> tensor<1x2xf32>
  %v = dist.vary %sum over @mesh ["a"] : tensor<1x2xf32>
  return %y, %sum, %v : tensor<1x2xf32>, tensor<1x2xf32>, tensor<1x2xf32>
}

// CHECK-LABEL: @test_manual
// CHECK-NEXT: device 0: tensor<2x4xf32> [{{\[}}0, 1, 102, 103], [204, 205, 306, 307]]
// CHECK-NEXT: device 0: tensor<1x4xf32> [{{\[}}4, 6, 8, 10]]
// CHECK-NEXT: device 0: tensor<2x4xf32> [{{\[}}4, 6, 8, 10], [4, 6, 8, 10]]
// CHECK-NEXT: device 1: tensor<2x4xf32> [{{\[}}0, 1, 102, 103], [204, 205, 306, 307]]
func.func @test_manual() -> (tensor<2x4xf32>, tensor<1x4xf32>, tensor<2x4xf32>) {
  %iota = graph.iota dim = 0 : tensor<8xf32>
  %x = graph.reshape %iota : (tensor<8xf32>) -> tensor<2x4xf32>
  %0:3 = dist.manual @body(%x) over @mesh in = [#dist.sharding<@mesh, [{"a"}, {"b"}]>]
      out = [#dist.sharding<@mesh, [{"a"}, {"b"}]>, #dist.sharding<@mesh, [{}, {"b"}]>, #dist.sharding<@mesh, [{"a"}, {"b"}]>]
      : (tensor<2x4xf32>) -> (tensor<2x4xf32>, tensor<1x4xf32>, tensor<2x4xf32>)
  return %0#0, %0#1, %0#2 : tensor<2x4xf32>, tensor<1x4xf32>, tensor<2x4xf32>
}

// -----

// What is said to be the same must be.
dist.mesh @mesh = <["a"=2]>
func.func private @body() -> tensor<i64> {
  %i = dist.axis_index @mesh ["a"] : tensor<i64>
  return %i : tensor<i64>
}
func.func @test_differs() -> tensor<i64> {
  // expected-error@+2 {{device 1 holds other elements than those before it}}
  // expected-error@+1 {{result 0 is not as its sharding says: devices that should return the same do not}}
  %0 = dist.manual @body() over @mesh in = [] out = [#dist.sharding<@mesh, []>] : () -> tensor<i64>
  return %0 : tensor<i64>
}
