// RUN: minigptc-opt %s --minigptc-to-spmd -split-input-file | FileCheck %s

// Sums of gradients wait until the loop is through: one all-reduce, with that of the loss, and none in the
// body. What the loop starts with is zero, and so part of any sum.
// CHECK-LABEL: func.func private @micro(
// CHECK-SAME: tensor<4x6xf32> {dist.sharding = #dist.sharding<@mesh, [{}, {}], partial = sum ["data"]>, graph.donate = 0 : i64}
// CHECK-SAME: tensor<f32> {dist.sharding = #dist.sharding<@mesh, [], partial = sum ["data"]>, graph.donate = 1 : i64}
// CHECK-SAME: tensor<1x4x4xf32>
// CHECK-NOT: dist.all_reduce
// CHECK-LABEL: func.func @replicated
// CHECK: graph.scan @micro({{.*}}, tensor<3x4x4xf32>) -> (tensor<4x6xf32>, tensor<f32>)
// CHECK-NEXT: dist.all_reduce %{{.*}}#0, %{{.*}}#1 over @mesh ["data"]
// CHECK-SAME: why = "what 'dot_general' sums is spread over 'data', and 'multiply' needs the sum"
// CHECK-NOT: dist.all_reduce
module attributes {minigptc.stage = "step"} {
dist.mesh @mesh = <["data"=2]>
func.func private @grad(%w: tensor<4x6xf32>, %x: tensor<8x4xf32>) -> (tensor<4x6xf32>, tensor<f32>) {
  %y = graph.dot_general %x, %w, batching_dims = [] x [], contracting_dims = [1] x [0] : (tensor<8x4xf32>, tensor<4x6xf32>) -> tensor<8x6xf32>
  %g = graph.dot_general %x, %y, batching_dims = [] x [], contracting_dims = [0] x [0] : (tensor<8x4xf32>, tensor<8x6xf32>) -> tensor<4x6xf32>
  %l = graph.reduce sum, %y, dims = [0, 1] : (tensor<8x6xf32>) -> tensor<f32>
  return %g, %l : tensor<4x6xf32>, tensor<f32>
}
func.func private @micro(%w: tensor<4x6xf32>, %sum: tensor<4x6xf32> {graph.donate = 0 : i64}, %loss: tensor<f32> {graph.donate = 1 : i64}, %x: tensor<1x8x4xf32>) -> (tensor<4x6xf32>, tensor<f32>) {
  %r = graph.reshape %x : (tensor<1x8x4xf32>) -> tensor<8x4xf32>
  %0:2 = call @grad(%w, %r) : (tensor<4x6xf32>, tensor<8x4xf32>) -> (tensor<4x6xf32>, tensor<f32>)
  %1 = graph.add %sum, %0#0 : tensor<4x6xf32>
  %2 = graph.add %loss, %0#1 : tensor<f32>
  return %1, %2 : tensor<4x6xf32>, tensor<f32>
}
func.func @replicated(%w: tensor<4x6xf32> {graph.donate = 0 : i64, graph.name = "state.params.w", dist.stored = "w", dist.sharding = #dist.sharding<@mesh, [{}, {} ]>},
    %x: tensor<3x8x4xf32> {dist.sharding = #dist.sharding<@mesh, [{}, {"data"}, {} ]>, graph.name = "batch.x"})
    -> (tensor<4x6xf32> {graph.name = "state.params.w"}, tensor<f32> {graph.name = "loss"}) attributes {graph.entry} {
  %zero = graph.constant dense<0.0> : tensor<4x6xf32>
  %none = graph.constant dense<0.0> : tensor<f32>
  %0:2 = graph.scan @micro(%w) carried(%zero, %none) cut(%x) count = 3 : (tensor<4x6xf32>, tensor<4x6xf32>, tensor<f32>, tensor<3x8x4xf32>) -> (tensor<4x6xf32>, tensor<f32>)
  %s = graph.multiply %0#0, %0#0 : tensor<4x6xf32>
  %1 = graph.subtract %w, %s : tensor<4x6xf32>
  return %1, %0#1 : tensor<4x6xf32>, tensor<f32>
}
}

// -----

// State that is stored in parts: so is the sum, and each call scatters what it adds. The loss still waits.
// CHECK-LABEL: func.func private @grad(
// CHECK: dist.all_gather %arg0
// CHECK: dist.reduce_scatter
// CHECK-LABEL: func.func private @micro(
// CHECK-SAME: tensor<2x6xf32> {dist.sharding = #dist.sharding<@mesh, [{"data"}, {}]>, graph.donate = 0 : i64}
// CHECK-SAME: tensor<f32> {dist.sharding = #dist.sharding<@mesh, [], partial = sum ["data"]>, graph.donate = 1 : i64}
// CHECK: graph.add {{.*}} : tensor<2x6xf32>
// CHECK-LABEL: func.func @stored
// CHECK: graph.constant dense<0.000000e+00> : tensor<2x6xf32>
// CHECK: dist.all_reduce %{{.*}} over @mesh ["data"] combine = sum {{.*}} : (tensor<f32>) -> tensor<f32>
// CHECK-NOT: dist.
// CHECK: return
module attributes {minigptc.stage = "step"} {
dist.mesh @mesh = <["data"=2]>
func.func private @grad(%w: tensor<4x6xf32>, %x: tensor<8x4xf32>) -> (tensor<4x6xf32>, tensor<f32>) {
  %y = graph.dot_general %x, %w, batching_dims = [] x [], contracting_dims = [1] x [0] : (tensor<8x4xf32>, tensor<4x6xf32>) -> tensor<8x6xf32>
  %g = graph.dot_general %x, %y, batching_dims = [] x [], contracting_dims = [0] x [0] : (tensor<8x4xf32>, tensor<8x6xf32>) -> tensor<4x6xf32>
  %l = graph.reduce sum, %y, dims = [0, 1] : (tensor<8x6xf32>) -> tensor<f32>
  return %g, %l : tensor<4x6xf32>, tensor<f32>
}
func.func private @micro(%w: tensor<4x6xf32>, %sum: tensor<4x6xf32> {graph.donate = 0 : i64}, %loss: tensor<f32> {graph.donate = 1 : i64}, %x: tensor<1x8x4xf32>) -> (tensor<4x6xf32>, tensor<f32>) {
  %r = graph.reshape %x : (tensor<1x8x4xf32>) -> tensor<8x4xf32>
  %0:2 = call @grad(%w, %r) : (tensor<4x6xf32>, tensor<8x4xf32>) -> (tensor<4x6xf32>, tensor<f32>)
  %1 = graph.add %sum, %0#0 : tensor<4x6xf32>
  %2 = graph.add %loss, %0#1 : tensor<f32>
  return %1, %2 : tensor<4x6xf32>, tensor<f32>
}
func.func @stored(%w: tensor<4x6xf32> {graph.donate = 0 : i64, graph.name = "state.params.w", dist.stored = "w", dist.sharding = #dist.sharding<@mesh, [{"data"}, {} ]>},
    %x: tensor<3x8x4xf32> {dist.sharding = #dist.sharding<@mesh, [{}, {"data"}, {} ]>, graph.name = "batch.x"})
    -> (tensor<4x6xf32> {graph.name = "state.params.w"}, tensor<f32> {graph.name = "loss"}) attributes {graph.entry} {
  %zero = graph.constant dense<0.0> : tensor<4x6xf32>
  %none = graph.constant dense<0.0> : tensor<f32>
  %0:2 = graph.scan @micro(%w) carried(%zero, %none) cut(%x) count = 3 : (tensor<4x6xf32>, tensor<4x6xf32>, tensor<f32>, tensor<3x8x4xf32>) -> (tensor<4x6xf32>, tensor<f32>)
  %s = graph.multiply %0#0, %0#0 : tensor<4x6xf32>
  %1 = graph.subtract %w, %s : tensor<4x6xf32>
  return %1, %0#1 : tensor<4x6xf32>, tensor<f32>
}
}

// -----

// What a body reads otherwise than as a sum, or does not start with zeros, is summed in each call. The dimension
// along which a loop counts is made whole before it; what is stacked is cut as its parts are.
// CHECK-LABEL: func.func private @body(
// CHECK: dist.all_reduce
// CHECK-LABEL: func.func @counted
// CHECK: dist.all_to_all %arg1 over @mesh ["x"] split = [1] concat = [0]
// CHECK: graph.scan @body({{.*}} -> (tensor<4xf32>, tensor<4x4x4xf32>)
module attributes {minigptc.stage = "step"} {
dist.mesh @mesh = <["x"=2]>
func.func private @body(%sum: tensor<4xf32> {graph.donate = 0 : i64}, %x: tensor<1x8x4xf32>, %y: tensor<1x8x4xf32>) -> (tensor<4xf32>, tensor<1x8x4xf32>) {
  %e = graph.exponential %sum : tensor<4xf32>
  %p = graph.reduce sum, %x, dims = [0, 1] : (tensor<1x8x4xf32>) -> tensor<4xf32>
  %1 = graph.add %e, %p : tensor<4xf32>
  %2 = graph.add %x, %y : tensor<1x8x4xf32>
  return %1, %2 : tensor<4xf32>, tensor<1x8x4xf32>
}
func.func @counted(%x: tensor<4x8x4xf32> {dist.sharding = #dist.sharding<@mesh, [{}, {"x"}, {} ]>, graph.name = "x"},
    %y: tensor<4x8x4xf32> {dist.sharding = #dist.sharding<@mesh, [{"x"}, {}, {} ]>, graph.name = "y"})
    -> (tensor<4xf32> {graph.name = "s"}, tensor<4x8x4xf32> {graph.name = "z", dist.sharding = #dist.sharding<@mesh, [{}, {"x"}, {} ]>}) attributes {graph.entry} {
  %zero = graph.constant dense<0.0> : tensor<4xf32>
  %0:2 = graph.scan @body() carried(%zero) cut(%x, %y) count = 4 : (tensor<4xf32>, tensor<4x8x4xf32>, tensor<4x8x4xf32>) -> (tensor<4xf32>, tensor<4x8x4xf32>)
  return %0#0, %0#1 : tensor<4xf32>, tensor<4x8x4xf32>
}
}
