// RUN: minigptc-opt %s --dist-specialize --split-input-file --verify-diagnostics

dist.mesh @mesh = <["data"=2]>
// Both have one place on each device.
// expected-error@+1 {{donates argument 0, which is sharded as #dist.sharding<@mesh, [{"data"}, {}]>, to result 0, which is as #dist.sharding<@mesh, [{}, {"data"}]>}}
func.func @f(%x: tensor<4x4xf32> {dist.sharding = #dist.sharding<@mesh, [{"data"}, {} ]>, graph.donate = 0})
    -> (tensor<4x4xf32> {dist.sharding = #dist.sharding<@mesh, [{}, {"data"} ]>}) {
  return %x : tensor<4x4xf32>
}
