// RUN: minigptc-opt %s --graph-autodiff --graph-simplify-functions --split-input-file --verify-diagnostics=only-expected | FileCheck %s

// Derivatives of manual ops are manual ops of the function's derivatives: what is saved is handed over,
// one device's after the other's, a scalar as a tensor of one element.

dist.mesh @mesh = <["data"=2, "tensor"=2]>

// CHECK-LABEL: func.func private @body.fwd(
// CHECK-LABEL: func.func private @body.bwd(
// CHECK: dist.all_reduce {{.*}} over @mesh ["data"] combine = sum {{.*}} : (tensor<4xf32>)
func.func private @body(%x: tensor<2x4xf32>, %w: tensor<4xf32>) -> tensor<f32> {
  %0 = dist.vary %w over @mesh ["data"] : tensor<4xf32>
  %1 = graph.broadcast_in_dim %0, dims = [1] : (tensor<4xf32>) -> tensor<2x4xf32>
  %2 = graph.multiply %x, %1 : tensor<2x4xf32>
  %3 = graph.reduce sum, %2, dims = [0, 1] : (tensor<2x4xf32>) -> tensor<f32>
  %4 = graph.exponential %3 : tensor<f32>
  %5 = dist.all_reduce %4 over @mesh ["data"] combine = sum : (tensor<f32>) -> tensor<f32>
  return %5 : tensor<f32>
}
// CHECK: func.func private @loss.fwd
// CHECK: dist.manual @body.fwd.1(%arg0, %arg1) over @mesh
// CHECK-SAME: out = [#dist.sharding<@mesh, []>, #dist.sharding<@mesh, [{"data", "tensor"}]>] : (tensor<4x4xf32>, tensor<4xf32>) -> (tensor<f32>, tensor<4xf32>)
// CHECK: func.func private @loss.bwd
// CHECK: dist.manual @body.bwd.1({{.*}}) over @mesh
// CHECK-SAME: out = [#dist.sharding<@mesh, [{}]>]
func.func private @loss(%x: tensor<4x4xf32>, %w: tensor<4xf32>) -> tensor<f32> {
  %0 = dist.manual @body(%x, %w) over @mesh in = [#dist.sharding<@mesh, [{"data"}, {}]>, #dist.sharding<@mesh, [{}]>] out = [#dist.sharding<@mesh, []>] : (tensor<4x4xf32>, tensor<4xf32>) -> tensor<f32>
  return %0 : tensor<f32>
}
func.func @step(%x: tensor<4x4xf32>, %w: tensor<4xf32>) -> (tensor<f32>, tensor<4xf32>) {
  %one = graph.constant dense<1.0> : tensor<f32>
  %0:2 = graph.vjp @loss(%x, %w) cotangents(%one) wrt [1] : (tensor<4x4xf32>, tensor<4xf32>), (tensor<f32>) -> (tensor<f32>, tensor<4xf32>)
  return %0#0, %0#1 : tensor<f32>, tensor<4xf32>
}

// -----

// Each collective's derivative.
dist.mesh @mesh = <["data"=2]>
func.func private @f(%x: tensor<4x4xf32>) -> (tensor<8x4xf32>, tensor<4x2xf32>, tensor<8x2xf32>, tensor<4x4xf32>, tensor<2x4xf32>) {
  %0 = dist.all_gather %x over @mesh ["data"] dims = [0] : (tensor<4x4xf32>) -> tensor<8x4xf32>
  %1 = dist.reduce_scatter %x over @mesh ["data"] combine = sum dims = [1] : (tensor<4x4xf32>) -> tensor<4x2xf32>
  %2 = dist.all_to_all %x over @mesh ["data"] split = [1] concat = [0] : (tensor<4x4xf32>) -> tensor<8x2xf32>
  %3 = dist.collective_permute %x over @mesh ["data"] sources = [-1, 0] : (tensor<4x4xf32>) -> tensor<4x4xf32>
  %4 = dist.all_slice %x over @mesh ["data"] dims = [0] : (tensor<4x4xf32>) -> tensor<2x4xf32>
  return %0, %1, %2, %3, %4 : tensor<8x4xf32>, tensor<4x2xf32>, tensor<8x2xf32>, tensor<4x4xf32>, tensor<2x4xf32>
}
// CHECK-LABEL: func.func private @f.bwd(%arg0: tensor<8x4xf32>, %arg1: tensor<4x2xf32>, %arg2: tensor<8x2xf32>, %arg3: tensor<4x4xf32>, %arg4: tensor<2x4xf32>)
// CHECK: dist.all_gather %arg4 over @mesh ["data"] dims = [0] : (tensor<2x4xf32>) -> tensor<4x4xf32>
// CHECK: dist.collective_permute %arg3 over @mesh ["data"] sources = [1, -1] : (tensor<4x4xf32>) -> tensor<4x4xf32>
// CHECK: dist.all_to_all %arg2 over @mesh ["data"] split = [0] concat = [1] : (tensor<8x2xf32>) -> tensor<4x4xf32>
// CHECK: %[[G:.*]] = dist.all_gather %arg1 over @mesh ["data"] dims = [1] : (tensor<4x2xf32>) -> tensor<4x4xf32>
// CHECK: dist.vary %[[G]] over @mesh ["data"] : tensor<4x4xf32>
// CHECK: dist.all_slice %arg0 over @mesh ["data"] dims = [0] : (tensor<8x4xf32>) -> tensor<4x4xf32>
func.func @step(%x: tensor<4x4xf32>, %a: tensor<8x4xf32>, %b: tensor<4x2xf32>, %c: tensor<8x2xf32>, %d: tensor<4x4xf32>, %e: tensor<2x4xf32>) -> tensor<4x4xf32> {
  %0:6 = graph.vjp @f(%x) cotangents(%a, %b, %c, %d, %e) wrt [0] : (tensor<4x4xf32>), (tensor<8x4xf32>, tensor<4x2xf32>, tensor<8x2xf32>, tensor<4x4xf32>, tensor<2x4xf32>) -> (tensor<8x4xf32>, tensor<4x2xf32>, tensor<8x2xf32>, tensor<4x4xf32>, tensor<2x4xf32>, tensor<4x4xf32>)
  return %0#5 : tensor<4x4xf32>
}

// -----

dist.mesh @mesh = <["data"=2]>
func.func private @f(%x: tensor<4xf32>) -> tensor<4xf32> {
  // expected-error@+1 {{has no derivative: it combines by max, and only sums have one}}
  %0 = dist.all_reduce %x over @mesh ["data"] combine = max : (tensor<4xf32>) -> tensor<4xf32>
  return %0 : tensor<4xf32>
}
func.func @step(%x: tensor<4xf32>) -> tensor<4xf32> {
  %0:2 = graph.vjp @f(%x) cotangents(%x) wrt [0] : (tensor<4xf32>), (tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>)
  return %0#1 : tensor<4xf32>
}

// -----

dist.mesh @mesh = <["data"=2]>
func.func private @f(%x: tensor<4xf32>) -> tensor<4xf32> {
  // expected-error@+1 {{has no derivative: device 0 gives its tensor to more than one}}
  %0 = dist.collective_permute %x over @mesh ["data"] sources = [0, 0] : (tensor<4xf32>) -> tensor<4xf32>
  return %0 : tensor<4xf32>
}
func.func @step(%x: tensor<4xf32>) -> tensor<4xf32> {
  %0:2 = graph.vjp @f(%x) cotangents(%x) wrt [0] : (tensor<4xf32>), (tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>)
  return %0#1 : tensor<4xf32>
}
