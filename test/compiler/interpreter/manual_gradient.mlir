// RUN: minigptc-opt %s --graph-autodiff --run | FileCheck %s
// RUN: minigptc-opt %s --minigptc-to-autodiff --run | FileCheck %s
// RUN: minigptc-opt %s --minigptc-to-shard --run | FileCheck %s
// RUN: minigptc-opt %s --minigptc-to-spmd --run | FileCheck %s
// RUN: minigptc-opt %s --minigptc-to-fuse --run | FileCheck %s

// The loss is the sum over devices of (w · their sum of x)²: 6² + 14². By w, 2 · w · (3² + 7²); by x,
// 2 · w² · each device's sum.

dist.mesh @mesh = <["data"=2, "tensor"=2]>

func.func private @body(%x: tensor<2xf32>, %w: tensor<f32>) -> tensor<f32> {
  %v = dist.vary %w over @mesh ["data"] : tensor<f32>
  %s = graph.reduce sum, %x, dims = [0] : (tensor<2xf32>) -> tensor<f32>
  %p = graph.multiply %s, %v : tensor<f32>
  %q = graph.multiply %p, %p : tensor<f32>
  %r = dist.all_reduce %q over @mesh ["data"] combine = sum : (tensor<f32>) -> tensor<f32>
  return %r : tensor<f32>
}
func.func private @loss(%x: tensor<4xf32>, %w: tensor<f32>) -> tensor<f32> {
  %0 = dist.manual @body(%x, %w) over @mesh in = [#dist.sharding<@mesh, [{"data"}]>, #dist.sharding<@mesh, []>] out = [#dist.sharding<@mesh, []>] : (tensor<4xf32>, tensor<f32>) -> tensor<f32>
  return %0 : tensor<f32>
}
// CHECK-LABEL: @test_gradient
// CHECK-NEXT: device 0: tensor<f32> 232
// CHECK-NEXT: device 0: tensor<4xf32> [24, 24, 56, 56]
// CHECK-NEXT: device 0: tensor<f32> 232
// CHECK-NEXT: device 1: tensor<f32> 232
// CHECK-NEXT: device 1: tensor<4xf32> [24, 24, 56, 56]
func.func @test_gradient() -> (tensor<f32>, tensor<4xf32>, tensor<f32>) {
  %x = graph.constant dense<[1.0, 2.0, 3.0, 4.0]> : tensor<4xf32>
  %w = graph.constant dense<2.0> : tensor<f32>
  %one = graph.constant dense<1.0> : tensor<f32>
  %0:3 = graph.vjp @loss(%x, %w) cotangents(%one) wrt [0, 1] : (tensor<4xf32>, tensor<f32>), (tensor<f32>) -> (tensor<f32>, tensor<4xf32>, tensor<f32>)
  return %0#0, %0#1, %0#2 : tensor<f32>, tensor<4xf32>, tensor<f32>
}
