// RUN: minigptc-opt %s --dist-project-stages --split-input-file --verify-diagnostics

dist.mesh @mesh = <["stage"=2]>
func.func @mixed(%x: tensor<4xf32>) -> tensor<4xf32> attributes {graph.entry} {
  // expected-note@+1 {{the value of stage 1 is made here}}
  %0 = graph.negate %x {dist.stage = 1 : i64} : tensor<4xf32>
  // expected-error@+1 {{is on stage 0, but reads a value of stage 1; a dist.transfer brings it over}}
  %1 = graph.negate %0 {dist.stage = 0 : i64} : tensor<4xf32>
  return %1 : tensor<4xf32>
}

// -----

dist.mesh @mesh = <["stage"=2]>
func.func @operands(%x: tensor<4xf32>) -> tensor<4xf32> attributes {graph.entry} {
  // expected-note@+1 {{a value of stage 0 is made here}}
  %0 = graph.negate %x {dist.stage = 0 : i64} : tensor<4xf32>
  // expected-note@+1 {{the value of stage 1 is made here}}
  %1 = graph.negate %x {dist.stage = 1 : i64} : tensor<4xf32>
  // expected-error@+1 {{is on stage 0, but reads a value of stage 1}}
  %2 = graph.add %0, %1 : tensor<4xf32>
  return %2 : tensor<4xf32>
}

// -----

dist.mesh @mesh = <["stage"=2]>
func.func @all(%x: tensor<4xf32>) -> tensor<4xf32> attributes {graph.entry} {
  // expected-error@+1 {{sends what every stage has}}
  %0 = dist.transfer %x from 0 to 1 : tensor<4xf32>
  return %0 : tensor<4xf32>
}

// -----

dist.mesh @mesh = <["stage"=2]>
func.func @beyond(%x: tensor<4xf32>) -> tensor<4xf32> attributes {graph.entry} {
  // expected-error@+1 {{is on a stage that the mesh does not have: it has 2}}
  %0 = graph.negate %x {dist.stage = 2 : i64} : tensor<4xf32>
  return %0 : tensor<4xf32>
}

// -----

// The parameter would be changed on one of the stages that use it.
dist.mesh @mesh = <["stage"=2]>
// expected-error@+1 {{uses argument 0 (w) on stages 0, 1, but its new value is made on 1 only}}
func.func @stale(%w: tensor<4xf32> {graph.donate = 0 : i64, graph.name = "w"}) -> tensor<4xf32> attributes {graph.entry} {
  %0 = graph.negate %w {dist.stage = 0 : i64} : tensor<4xf32>
  %1 = dist.transfer %0 from 0 to 1 : tensor<4xf32>
  %2 = graph.add %w, %1 : tensor<4xf32>
  return %2 : tensor<4xf32>
}

// -----

dist.mesh @mesh = <["stage"=2]>
// expected-error@+1 {{result 0 is not where it is made, on stage 1}}
func.func @elsewhere(%w: tensor<4xf32>) -> (tensor<4xf32> {dist.stages = array<i64: 0>}) attributes {graph.entry} {
  %0 = graph.negate %w {dist.stage = 1 : i64} : tensor<4xf32>
  return %0 : tensor<4xf32>
}

// -----

dist.mesh @mesh = <["stage"=2]>
func.func private @inner(%x: tensor<4xf32>) -> tensor<4xf32> {
  // expected-error@+1 {{stands in a function that is no entry}}
  %0 = dist.transfer %x from 0 to 1 : tensor<4xf32>
  return %0 : tensor<4xf32>
}

// -----

func.func @no_mesh(%x: tensor<4xf32>) -> tensor<4xf32> attributes {graph.entry} {
  // expected-error@+1 {{needs a mesh with an axis 'stage'}}
  %0 = dist.transfer %x from 0 to 1 : tensor<4xf32>
  return %0 : tensor<4xf32>
}

// -----

dist.mesh @mesh = <["stage"=2, "data"=2]>
func.func private @f(%x: tensor<4xf32>, %k: tensor<i64>) -> tensor<4xf32> {
  return %x : tensor<4xf32>
}
func.func @step(%w: tensor<4xi32> {graph.donate = 0 : i64, graph.name = "w"}, %x: tensor<4xf32>) -> (tensor<4xi32>, tensor<4xf32>) attributes {graph.entry} {
  %a = graph.negate %x {dist.stage = 0 : i64} : tensor<4xf32>
  // expected-error@+1 {{is on a stage that the mesh does not have: it has 2}}
  %s = dist.share %a from -1 : tensor<4xf32>
  return %w, %s : tensor<4xi32>, tensor<4xf32>
}
