// RUN: minigptc-opt %s --minigptc-to-spmd -split-input-file | FileCheck %s

// What enters both functions of a branch, and what they give, is cut alike; each makes its own sums,
// and the predicate, which all devices need, is known to all.
// CHECK-LABEL: func.func private @double(%arg0: tensor<4x8xf32>
// CHECK-SAME: -> (tensor<4x8xf32>
// CHECK-LABEL: func.func private @center(%arg0: tensor<4x8xf32>
// CHECK: dist.all_reduce %{{.*}} over @mesh ["x"]
// CHECK: return %{{.*}} : tensor<4x8xf32>
// CHECK-LABEL: func.func @branch
// CHECK: dist.all_reduce %{{.*}} over @mesh ["x"] combine = max
// CHECK: %[[P:.*]] = graph.compare
// CHECK: graph.cond %[[P]] then @double else @center(%arg0) : (tensor<i1>, tensor<4x8xf32>) -> tensor<4x8xf32>
module attributes {minigptc.stage = "step"} {
dist.mesh @mesh = <["x"=2]>
func.func private @double(%x: tensor<8x8xf32>) -> tensor<8x8xf32> {
  %0 = graph.add %x, %x : tensor<8x8xf32>
  return %0 : tensor<8x8xf32>
}
func.func private @center(%x: tensor<8x8xf32>) -> tensor<8x8xf32> {
  %0 = graph.reduce sum, %x, dims = [0] : (tensor<8x8xf32>) -> tensor<8xf32>
  %1 = graph.broadcast_in_dim %0, dims = [1] : (tensor<8xf32>) -> tensor<8x8xf32>
  %2 = graph.subtract %x, %1 : tensor<8x8xf32>
  return %2 : tensor<8x8xf32>
}
func.func @branch(%x: tensor<8x8xf32> {dist.sharding = #dist.sharding<@mesh, [{"x"}, {}]>, graph.name = "x"})
    -> (tensor<8x8xf32> {dist.sharding = #dist.sharding<@mesh, [{"x"}, {}]>}) attributes {graph.entry} {
  %limit = graph.constant dense<1.0> : tensor<f32>
  %most = graph.reduce max, %x, dims = [0, 1] : (tensor<8x8xf32>) -> tensor<f32>
  %p = graph.compare GT, %most, %limit : (tensor<f32>, tensor<f32>) -> tensor<i1>
  %0 = graph.cond %p then @double else @center(%x) : (tensor<i1>, tensor<8x8xf32>) -> tensor<8x8xf32>
  return %0 : tensor<8x8xf32>
}
}

// -----

// Sums that both functions leave to be made are made once, behind the branch.
// CHECK-LABEL: func.func private @gradient
// CHECK-NOT: dist.all_reduce
// CHECK-LABEL: func.func private @half
// CHECK-NOT: dist.all_reduce
// CHECK-LABEL: func.func @sums
// CHECK: %[[G:.*]] = graph.cond
// CHECK-NEXT: dist.all_reduce %[[G]] over @mesh ["x"]
module attributes {minigptc.stage = "step"} {
dist.mesh @mesh = <["x"=2]>
func.func private @gradient(%x: tensor<8x4xf32>) -> tensor<4x4xf32> {
  %0 = graph.dot_general %x, %x, batching_dims = [] x [], contracting_dims = [0] x [0] : (tensor<8x4xf32>, tensor<8x4xf32>) -> tensor<4x4xf32>
  return %0 : tensor<4x4xf32>
}
func.func private @half(%x: tensor<8x4xf32>) -> tensor<4x4xf32> {
  %0 = call @gradient(%x) : (tensor<8x4xf32>) -> tensor<4x4xf32>
  %half = graph.constant dense<0.5> : tensor<4x4xf32>
  %1 = graph.multiply %0, %half : tensor<4x4xf32>
  return %1 : tensor<4x4xf32>
}
func.func @sums(%p: tensor<i1>, %x: tensor<8x4xf32> {dist.sharding = #dist.sharding<@mesh, [{"x"}, {}]>, graph.name = "x"})
    -> tensor<4x4xf32> attributes {graph.entry} {
  %0 = graph.cond %p then @gradient else @half(%x) : (tensor<i1>, tensor<8x4xf32>) -> tensor<4x4xf32>
  return %0 : tensor<4x4xf32>
}
}

// -----

// A loop without a known number of rounds carries its parts and its sums from round to round; the
// condition gets them, and all devices find the same.
// CHECK-LABEL: func.func private @holds(%arg0: tensor<4x4xf32>
// CHECK: dist.all_reduce %{{.*}} over @mesh ["x"] combine = max
// CHECK-LABEL: func.func private @next(%arg0: tensor<4x4xf32>
// CHECK-NOT: dist.all_reduce
// CHECK-LABEL: func.func @loop
// CHECK: %[[R:.*]]:2 = graph.while @holds @next() carried(%{{.*}}, %{{.*}}) : (tensor<4x4xf32>, tensor<4x4xf32>) -> (tensor<4x4xf32>, tensor<4x4xf32>)
// CHECK: dist.all_reduce %[[R]]#1 over @mesh ["x"]
module attributes {minigptc.stage = "step"} {
dist.mesh @mesh = <["x"=2]>
func.func private @holds(%x: tensor<8x4xf32>, %sum: tensor<4x4xf32>) -> tensor<i1> {
  %limit = graph.constant dense<1.0> : tensor<f32>
  %most = graph.reduce max, %x, dims = [0, 1] : (tensor<8x4xf32>) -> tensor<f32>
  %p = graph.compare GT, %most, %limit : (tensor<f32>, tensor<f32>) -> tensor<i1>
  return %p : tensor<i1>
}
func.func private @next(%x: tensor<8x4xf32> {graph.donate = 0 : i64}, %sum: tensor<4x4xf32> {graph.donate = 1 : i64}) -> (tensor<8x4xf32>, tensor<4x4xf32>) {
  %half = graph.constant dense<0.5> : tensor<8x4xf32>
  %0 = graph.multiply %x, %half : tensor<8x4xf32>
  %1 = graph.dot_general %x, %x, batching_dims = [] x [], contracting_dims = [0] x [0] : (tensor<8x4xf32>, tensor<8x4xf32>) -> tensor<4x4xf32>
  %2 = graph.add %sum, %1 : tensor<4x4xf32>
  return %0, %2 : tensor<8x4xf32>, tensor<4x4xf32>
}
func.func @loop(%x: tensor<8x4xf32> {dist.sharding = #dist.sharding<@mesh, [{"x"}, {}]>, graph.name = "x"})
    -> tensor<4x4xf32> attributes {graph.entry} {
  %zero = graph.constant dense<0.0> : tensor<4x4xf32>
  %0:2 = graph.while @holds @next() carried(%x, %zero) : (tensor<8x4xf32>, tensor<4x4xf32>) -> (tensor<8x4xf32>, tensor<4x4xf32>)
  return %0#1 : tensor<4x4xf32>
}
}
