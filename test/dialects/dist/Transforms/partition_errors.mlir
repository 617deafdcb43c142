// RUN: minigptc-opt %s --dist-partition --split-input-file --verify-diagnostics=only-expected

#rows = #dist.sharding<@mesh, [{"data"}, {}]>
dist.mesh @mesh = <["data"=4]>
// expected-note@+1 {{the operand is defined here}}
func.func @missing(%x: tensor<8x4xf32> {dist.sharding = #rows}) -> tensor<8x4xf32> {
  // expected-error@+1 {{operand 0 is sharded [{'data'}, {}], but is needed [{}, {}]; a dist.reshard is missing}}
  %0 = graph.negate %x : tensor<8x4xf32>
  return %0 : tensor<8x4xf32>
}

// -----

#sum = #dist.sharding<@mesh, [{}], partial = sum ["data"]>
dist.mesh @mesh = <["data"=4]>
// expected-note@+1 {{the operand is defined here}}
func.func private @square(%x: tensor<8xf32> {dist.sharding = #sum}) -> tensor<8xf32> {
  // expected-error@+1 {{operand 0 is still to be combined over devices: [{}] partial sum over 'data'; the op is not linear in it}}
  %0 = graph.exponential %x {dist.shardings = [#sum]} : tensor<8xf32>
  return %0 : tensor<8xf32>
}

// -----

#sum = #dist.sharding<@mesh, [{}], partial = sum ["data"]>
dist.mesh @mesh = <["data"=4]>
func.func private @half(%x: tensor<8xf32> {dist.sharding = #sum}, %y: tensor<8xf32>) -> tensor<8xf32> {
  // expected-error@+1 {{1 of its 2 operands are still to be combined over devices; all or none may be so}}
  %0 = graph.add %x, %y {dist.shardings = [#sum]} : tensor<8xf32>
  return %0 : tensor<8xf32>
}

// -----

dist.mesh @mesh = <["data"=4]>
func.func private @dropped(%x: tensor<8xf32> {dist.sharding = #dist.sharding<@mesh, [{"data"}]>}) -> tensor<f32> {
  // expected-error@+1 {{result 0 is sharded [], but is computed [] partial sum over 'data'; a dist.reshard is missing}}
  %0 = graph.reduce sum, %x, dims = [0] {dist.factors = [["data"]]} : (tensor<8xf32>) -> tensor<f32>
  return %0 : tensor<f32>
}

// -----

dist.mesh @mesh = <["data"=4]>
func.func private @backwards(%x: tensor<8xf32>) -> tensor<8xf32> {
  // expected-error@+1 {{has no way from [{}] to [{}] partial sum over 'data': nothing makes a value partial}}
  %0 = dist.reshard %x to <@mesh, [{}], partial = sum ["data"]> : tensor<8xf32>
  return %0 : tensor<8xf32>
}
