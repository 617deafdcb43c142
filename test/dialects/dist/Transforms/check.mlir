// RUN: minigptc-opt %s --dist-check -split-input-file -verify-diagnostics

dist.mesh @mesh = <["data"=2]>
// expected-error @below {{argument 0 has no dist.sharding}}
func.func @unknown(%x: tensor<4xf32>) {
  return
}

// -----

dist.mesh @mesh = <["data"=2]>
// expected-error @below {{result 0 is part of a sum; only results of private functions may be, and what a loop carries}}
func.func @partial_entry(%x: tensor<f32> {dist.sharding = #dist.sharding<@mesh, []>}) -> (tensor<f32> {dist.sharding = #dist.sharding<@mesh, [], partial = sum ["data"]>}) {
  return %x : tensor<f32>
}

// -----

// A sum that is taken for the whole.
dist.mesh @mesh = <["data"=2]>
func.func @missing_sum(%x: tensor<4xf32> {dist.sharding = #dist.sharding<@mesh, [{"data"} ]>}) -> (tensor<f32> {dist.sharding = #dist.sharding<@mesh, []>}) {
  // expected-note @below {{the value is made here}}
  %0 = graph.reduce sum, %x, dims = [0] {dist.factors = [["data"]], dist.shardings = [#dist.sharding<@mesh, [], partial = sum ["data"]>]} : (tensor<4xf32>) -> tensor<f32>
  // expected-error @below {{operand 0 is [] partial sum over 'data', but is needed as []}}
  %1 = graph.exponential %0 {dist.shardings = [#dist.sharding<@mesh, []>]} : tensor<f32>
  return %1 : tensor<f32>
}

// -----

dist.mesh @mesh = <["data"=2]>
func.func @not_linear(%x: tensor<4xf32> {dist.sharding = #dist.sharding<@mesh, [{"data"} ]>}) -> (tensor<f32> {dist.sharding = #dist.sharding<@mesh, []>}) {
  %0 = graph.reduce sum, %x, dims = [0] {dist.factors = [["data"]], dist.shardings = [#dist.sharding<@mesh, [], partial = sum ["data"]>]} : (tensor<4xf32>) -> tensor<f32>
  // expected-error @below {{is not linear, but gives part of a sum over 'data'}}
  %1 = graph.exponential %0 {dist.shardings = [#dist.sharding<@mesh, [], partial = sum ["data"]>]} : tensor<f32>
  %2 = dist.reshard %1 to <@mesh, []> : tensor<f32>
  return %2 : tensor<f32>
}

// -----

// Partial times partial.
dist.mesh @mesh = <["data"=2]>
func.func @product(%x: tensor<4xf32> {dist.sharding = #dist.sharding<@mesh, [{"data"} ]>}) -> (tensor<f32> {dist.sharding = #dist.sharding<@mesh, []>}) {
  %0 = graph.reduce sum, %x, dims = [0] {dist.factors = [["data"]], dist.shardings = [#dist.sharding<@mesh, [], partial = sum ["data"]>]} : (tensor<4xf32>) -> tensor<f32>
  // expected-error @below {{gives part of a sum over 'data', which 2 of its operands are; it is linear in one alone}}
  %1 = graph.multiply %0, %0 {dist.shardings = [#dist.sharding<@mesh, [], partial = sum ["data"]>]} : tensor<f32>
  %2 = dist.reshard %1 to <@mesh, []> : tensor<f32>
  return %2 : tensor<f32>
}

// -----

// Partial plus whole.
dist.mesh @mesh = <["data"=2]>
// expected-note @below {{the value is made here}}
func.func @sum(%x: tensor<4xf32> {dist.sharding = #dist.sharding<@mesh, [{"data"} ]>}, %y: tensor<f32> {dist.sharding = #dist.sharding<@mesh, []>}) -> (tensor<f32> {dist.sharding = #dist.sharding<@mesh, []>}) {
  %0 = graph.reduce sum, %x, dims = [0] {dist.factors = [["data"]], dist.shardings = [#dist.sharding<@mesh, [], partial = sum ["data"]>]} : (tensor<4xf32>) -> tensor<f32>
  // expected-error @below {{operand 1 is [], but is needed as [] partial sum over 'data'}}
  %1 = graph.add %0, %y {dist.shardings = [#dist.sharding<@mesh, [], partial = sum ["data"]>]} : tensor<f32>
  %2 = dist.reshard %1 to <@mesh, []> : tensor<f32>
  return %2 : tensor<f32>
}

// -----

// The sum of a cut product is not said to be partial.
dist.mesh @mesh = <["data"=2]>
func.func @forgotten(%x: tensor<4xf32> {dist.sharding = #dist.sharding<@mesh, [{"data"} ]>}) -> (tensor<f32> {dist.sharding = #dist.sharding<@mesh, []>}) {
  // expected-error @below {{result 0 is [], but by the op's factors [] partial sum over 'data'}}
  %0 = graph.reduce sum, %x, dims = [0] {dist.factors = [["data"]], dist.shardings = [#dist.sharding<@mesh, []>]} : (tensor<4xf32>) -> tensor<f32>
  return %0 : tensor<f32>
}

// -----

dist.mesh @mesh = <["data"=2]>
func.func @nothing_to_sum(%x: tensor<f32> {dist.sharding = #dist.sharding<@mesh, []>}) -> (tensor<f32> {dist.sharding = #dist.sharding<@mesh, []>}) {
  // expected-error @below {{nothing makes a value part of a sum over 'data'}}
  %0 = dist.reshard %x to <@mesh, [], partial = sum ["data"]> {dist.shardings = [#dist.sharding<@mesh, [], partial = sum ["data"]>]} : tensor<f32>
  %1 = dist.reshard %0 to <@mesh, []> : tensor<f32>
  return %1 : tensor<f32>
}

// -----

// Axes for more factors than the op has.
dist.mesh @mesh = <["data"=2]>
func.func @factors(%x: tensor<4xf32> {dist.sharding = #dist.sharding<@mesh, [{"data"} ]>}) -> (tensor<4xf32> {dist.sharding = #dist.sharding<@mesh, [{"data"} ]>}) {
  // expected-error @below {{has 1 factors, but dist.factors = [["data"], []] is for 2}}
  %0 = graph.negate %x {dist.factors = [["data"], []], dist.shardings = [#dist.sharding<@mesh, [{"data"} ]>]} : tensor<4xf32>
  return %0 : tensor<4xf32>
}

// -----

// What one device does with its part has no place among whole tensors.
dist.mesh @mesh = <["data"=2]>
func.func @collective(%x: tensor<4xf32> {dist.sharding = #dist.sharding<@mesh, [{} ]>}) {
  // expected-error @below {{speaks of one device's part, among whole tensors; it belongs into the function of a dist.manual}}
  %0 = dist.all_reduce %x over @mesh ["data"] combine = sum : (tensor<4xf32>) -> tensor<4xf32>
  return
}

// -----

dist.mesh @mesh = <["data"=2]>
func.func private @body(%x: tensor<2xf32>) -> tensor<2xf32> attributes {dist.local} { return %x : tensor<2xf32> }
func.func @manual(%x: tensor<4xf32> {dist.sharding = #dist.sharding<@mesh, [{"data"} ]>}) {
  // expected-error @below {{has parts along 'data', but its dist.factors say otherwise}}
  %0 = dist.manual @body(%x) over @mesh in = [#dist.sharding<@mesh, [{"data"}]>] out = [#dist.sharding<@mesh, [{"data"}]>] {dist.shardings = [#dist.sharding<@mesh, [{"data"}]>]} : (tensor<4xf32>) -> tensor<4xf32>
  return
}

// -----

// A loop: what comes back as it did not go in, what is cut where it counts, ones that are part of a sum.
dist.mesh @mesh = <["data"=2]>
// expected-error @below {{argument 0 is #dist.sharding<@mesh, [{}]>, but comes back as #dist.sharding<@mesh, [{"data"}]>; what a loop carries has one sharding}}
func.func private @body(%sum: tensor<4xf32> {graph.donate = 0 : i64, dist.sharding = #dist.sharding<@mesh, [{} ]>}) -> (tensor<4xf32> {dist.sharding = #dist.sharding<@mesh, [{"data"} ]>}) {
  return %sum : tensor<4xf32>
}

// -----

dist.mesh @mesh = <["data"=2]>
func.func private @body(%x: tensor<2xf32> {dist.sharding = #dist.sharding<@mesh, [{"data"} ]>}) -> (tensor<2xf32> {dist.sharding = #dist.sharding<@mesh, [{"data"} ]>}) {
  return %x : tensor<2xf32>
}
func.func @parts(%x: tensor<4xf32> {dist.sharding = #dist.sharding<@mesh, [{"data"} ]>}) {
  // expected-error @below {{stacks result 0 along dimension 0, which 'data' cuts}}
  %0 = graph.scan @body() carried() cut(%x) count = 2 {dist.shardings = [#dist.sharding<@mesh, [{"data"} ]>]} : (tensor<4xf32>) -> tensor<4xf32>
  return
}

// -----

dist.mesh @mesh = <["data"=2]>
func.func @ones() {
  // expected-error @below {{is not linear, but gives part of a sum over 'data'}}
  %0 = graph.constant {dist.shardings = [#dist.sharding<@mesh, [{} ], partial = sum ["data"]>]} dense<1.0> : tensor<4xf32>
  return
}
