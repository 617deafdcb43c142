// RUN: minigptc-opt %s --minigptc-to-shard | FileCheck %s --check-prefix=SHARD
// RUN: minigptc-opt %s --minigptc-to-spmd | FileCheck %s --check-prefix=SPMD

// A manual op through propagation and partitioner: its operands are brought to its specs, its results
// are as it says, and it is its function.

dist.mesh @mesh = <["data"=2, "tensor"=2]>

func.func private @body(%x: tensor<4x8xf32>, %w: tensor<8x3xf32>) -> tensor<4x3xf32> {
  %0 = dist.vary %w over @mesh ["data"] : tensor<8x3xf32>
  %1 = dist.all_gather %x over @mesh ["tensor"] dims = [1] : (tensor<4x8xf32>) -> tensor<4x16xf32>
  %2 = graph.slice %1 [0, 0] : [4, 8] : [1, 1] : (tensor<4x16xf32>) -> tensor<4x8xf32>
  %3 = graph.dot_general %2, %0, batching_dims = [] x [], contracting_dims = [1] x [0] : (tensor<4x8xf32>, tensor<8x3xf32>) -> tensor<4x3xf32>
  return %3 : tensor<4x3xf32>
}

// Operand 0 comes whole and is cut by devices; operand 1 comes cut along the other dimension. What
// is computed of the result follows it.
// SHARD-LABEL: func.func @step
// SHARD: dist.reshard %arg0 to <@mesh, [{"data"}, {"tensor"}]>
// SHARD-SAME: why = "the shardMap computes its part along 'tensor'", annotation = "the specs of shardMap"
// SHARD: dist.reshard %arg1 to <@mesh, [{}, {"tensor"}]>
// SHARD: dist.manual @body
// SHARD-SAME: dist.factors = {{\[\[}}"data"], ["tensor"],
// SHARD-SAME: dist.shardings = [#dist.sharding<@mesh, [{"data"}, {"tensor"}]>]
// SHARD: graph.exponential {{.*}}dist.shardings = [#dist.sharding<@mesh, [{"data"}, {"tensor"}]>]

// SPMD-NOT: @body
// SPMD-LABEL: func.func @step(%arg0: tensor<8x16xf32>
// SPMD-DAG: dist.all_slice %arg0
// SPMD-DAG: dist.all_to_all %arg1
// SPMD: dist.all_gather {{.*}} over @mesh ["tensor"] dims = [1] : (tensor<4x8xf32>) -> tensor<4x16xf32>
// SPMD-NOT: dist.vary
// SPMD: graph.dot_general {{.*}} -> tensor<4x3xf32>
// SPMD: graph.exponential {{.*}} : tensor<4x3xf32>
func.func @step(%x: tensor<8x16xf32> {graph.name = "x"},
                %w: tensor<8x6xf32> {graph.name = "w", dist.sharding = #dist.sharding<@mesh, [{"tensor"}, {}]>})
    -> tensor<8x6xf32> attributes {graph.entry} {
  %0 = dist.manual @body(%x, %w) over @mesh
      in = [#dist.sharding<@mesh, [{"data"}, {"tensor"}]>, #dist.sharding<@mesh, [{}, {"tensor"}]>]
      out = [#dist.sharding<@mesh, [{"data"}, {"tensor"}]>] : (tensor<8x16xf32>, tensor<8x6xf32>) -> tensor<8x6xf32>
  %1 = graph.exponential %0 : tensor<8x6xf32>
  return %1 : tensor<8x6xf32>
}

// One function of two manual ops stays one; nothing of it is cut.
// SPMD: func.func private @twice(
// SPMD-LABEL: func.func @shared
// SPMD-COUNT-2: call @twice(
func.func private @twice(%x: tensor<4xf32>) -> tensor<4xf32> {
  %0 = dist.all_reduce %x over @mesh ["data"] combine = sum : (tensor<4xf32>) -> tensor<4xf32>
  return %0 : tensor<4xf32>
}
func.func @shared(%x: tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>) attributes {graph.entry} {
  %0 = dist.manual @twice(%x) over @mesh in = [#dist.sharding<@mesh, [{}]>] out = [#dist.sharding<@mesh, [{}]>] : (tensor<4xf32>) -> tensor<4xf32>
  %1 = dist.manual @twice(%0) over @mesh in = [#dist.sharding<@mesh, [{}]>] out = [#dist.sharding<@mesh, [{}]>] : (tensor<4xf32>) -> tensor<4xf32>
  return %0, %1 : tensor<4xf32>, tensor<4xf32>
}
