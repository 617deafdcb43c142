// A training step of one layer on a (2, 2) mesh, as the partitioner leaves it: the weights are
// stored in two parts, the batch is cut in two. MeshProgramTest.cpp runs it.
module attributes {minigptc.stage = "spmd", minigptc.metadata = "{}"} {
  dist.mesh @mesh = <["data"=2, "tensor"=2]>

  func.func @step(
      %w: tensor<3x4xf32> {graph.name = "state.w", graph.donate = 0 : i64,
          dist.sharding = #dist.sharding<@mesh, [{"tensor"}, {}]>, dist.global_type = tensor<6x4xf32>},
      %count: tensor<i64> {graph.name = "state.count", graph.donate = 1 : i64},
      %x: tensor<4x6xf32> {graph.name = "x",
          dist.sharding = #dist.sharding<@mesh, [{"data"}, {}]>, dist.global_type = tensor<8x6xf32>})
      -> (tensor<3x4xf32> {graph.name = "state.w",
              dist.sharding = #dist.sharding<@mesh, [{"tensor"}, {}]>, dist.global_type = tensor<6x4xf32>},
          tensor<i64> {graph.name = "state.count"},
          tensor<f32> {graph.name = "loss", dist.sharding = #dist.sharding<@mesh, []>},
          tensor<1xi64> {graph.name = "device",
              dist.sharding = #dist.sharding<@mesh, [{"data", "tensor"}]>, dist.global_type = tensor<4xi64>})
      attributes {graph.entry} {
    %whole = dist.all_gather %w over @mesh ["tensor"] dims = [0] : (tensor<3x4xf32>) -> tensor<6x4xf32>
    %y = graph.dot_general %x, %whole, batching_dims = [] x [], contracting_dims = [1] x [0]
        : (tensor<4x6xf32>, tensor<6x4xf32>) -> tensor<4x4xf32>
    %squares = graph.multiply %y, %y : tensor<4x4xf32>
    %part = graph.reduce sum, %squares, dims = [0, 1] : (tensor<4x4xf32>) -> tensor<f32>
    %dw = graph.dot_general %x, %y, batching_dims = [] x [], contracting_dims = [0] x [0]
        : (tensor<4x6xf32>, tensor<4x4xf32>) -> tensor<6x4xf32>
    %loss, %grad = dist.all_reduce %part, %dw over @mesh ["data"] combine = sum
        : (tensor<f32>, tensor<6x4xf32>) -> (tensor<f32>, tensor<6x4xf32>)
    %mine = dist.all_slice %grad over @mesh ["tensor"] dims = [0] : (tensor<6x4xf32>) -> tensor<3x4xf32>
    %rate = graph.constant dense<0.5> : tensor<3x4xf32>
    %delta = graph.multiply %mine, %rate : tensor<3x4xf32>
    %next = graph.subtract %w, %delta : tensor<3x4xf32>
    %one = graph.constant dense<1> : tensor<i64>
    %counted = graph.add %count, %one : tensor<i64>
    %index = dist.axis_index @mesh ["data", "tensor"] : tensor<i64>
    %device = graph.reshape %index : (tensor<i64>) -> tensor<1xi64>
    return %next, %counted, %loss, %device : tensor<3x4xf32>, tensor<i64>, tensor<f32>, tensor<1xi64>
  }
}
