// RUN: minigptc-opt %s --dist-specialize | FileCheck %s

// Two layers store a matrix alike and share a function; a third stores it otherwise.
// CHECK: func.func private @layer(%{{.*}}: tensor<4x4xf32> {dist.sharding = #dist.sharding<@mesh, [{"data"}, {}]>, dist.stored = "*.w"}, %{{.*}}: tensor<2x4xf32>)
// CHECK: func.func private @layer_0(%{{.*}}: tensor<4x4xf32> {dist.sharding = #dist.sharding<@mesh, [{}, {"data"}]>, dist.stored = "c.w"}, %{{.*}}: tensor<2x4xf32>)
// A donated result is stored as its argument, what has no annotation is whole.
// CHECK: func.func @step(
// CHECK-SAME: %[[X:.*]]: tensor<2x4xf32> {dist.sharding = #dist.sharding<@mesh, [{}, {}]>})
// CHECK-SAME: -> (tensor<4x4xf32> {dist.sharding = #dist.sharding<@mesh, [{"data"}, {}]>}, tensor<2x4xf32> {dist.sharding = #dist.sharding<@mesh, [{}, {}]>})
// CHECK: call @layer(
// CHECK: call @layer(
// A matrix that is converted first is the same matrix.
// CHECK: call @layer_0(
dist.mesh @mesh = <["data"=2]>
func.func private @layer(%w: tensor<4x4xf32>, %x: tensor<2x4xf32>) -> tensor<2x4xf32> {
  %0 = graph.dot_general %x, %w, batching_dims = [] x [], contracting_dims = [1] x [0] : (tensor<2x4xf32>, tensor<4x4xf32>) -> tensor<2x4xf32>
  return %0 : tensor<2x4xf32>
}
func.func @step(
    %a: tensor<4x4xf32> {dist.sharding = #dist.sharding<@mesh, [{"data"}, {} ]>, dist.stored = "params.a.w", graph.donate = 0},
    %b: tensor<4x4xf32> {dist.sharding = #dist.sharding<@mesh, [{"data"}, {} ]>, dist.stored = "params.b.w"},
    %c: tensor<4x4xbf16> {dist.sharding = #dist.sharding<@mesh, [{}, {"data"} ]>, dist.stored = "params.c.w"},
    %x: tensor<2x4xf32>) -> (tensor<4x4xf32>, tensor<2x4xf32>) {
  %0 = call @layer(%a, %x) : (tensor<4x4xf32>, tensor<2x4xf32>) -> tensor<2x4xf32>
  %1 = call @layer(%b, %0) : (tensor<4x4xf32>, tensor<2x4xf32>) -> tensor<2x4xf32>
  %w = graph.convert %c : (tensor<4x4xbf16>) -> tensor<4x4xf32>
  %2 = call @layer(%w, %1) : (tensor<4x4xf32>, tensor<2x4xf32>) -> tensor<2x4xf32>
  %3 = graph.negate %2 : tensor<2x4xf32>
  return %a, %3 : tensor<4x4xf32>, tensor<2x4xf32>
}
