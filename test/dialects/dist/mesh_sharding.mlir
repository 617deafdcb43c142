// RUN: minigptc-opt %s --split-input-file --verify-diagnostics=only-expected | minigptc-opt --split-input-file | FileCheck %s

// CHECK: dist.mesh @mesh = <["data"=4, "tensor"=2]>
dist.mesh @mesh = <["data"=4, "tensor"=2]>

// CHECK-LABEL: func private @shardings
// CHECK-SAME: %arg0: tensor<8x4xf32> {dist.sharding = #dist.sharding<@mesh, [{"data"}, {"tensor", ?}]>}
// CHECK-SAME: %arg1: tensor<f32> {dist.sharding = #dist.sharding<@mesh, []>}
// CHECK-SAME: %arg2: tensor<8x4x4xf32> {dist.sharding = #dist.sharding<@mesh, [{"tensor", "data"}, {}, {?}]>}
// CHECK-SAME: -> (tensor<8x4xf32> {dist.sharding = #dist.sharding<@mesh, [{}, {}], replicated = ["data"], partial = sum ["tensor"]>})
func.func private @shardings(%x: tensor<8x4xf32> {dist.sharding = #dist.sharding<@mesh, [{"data"}, {"tensor", ?}]>},
    %s: tensor<f32> {dist.sharding = #dist.sharding<@mesh, []>},
    %y: tensor<8x4x4xf32> {dist.sharding = #dist.sharding<@mesh, [{"tensor", "data"}, {}, {?}]>})
    -> (tensor<8x4xf32> {dist.sharding = #dist.sharding<@mesh, [{}, {}], replicated = ["data"], partial = sum ["tensor"]>}) {
  // CHECK: dist.constraint %arg0 <@mesh, [{"data"}, {}]> : tensor<8x4xf32>
  %0 = dist.constraint %x <@mesh, [{"data"}, {}]> : tensor<8x4xf32>
  // CHECK: dist.reshard %{{.*}} to <@mesh, [{}, {}], partial = max ["data"]> : tensor<8x4xf32>
  %1 = dist.reshard %0 to <@mesh, [{}, {}], partial = max ["data"]> : tensor<8x4xf32>
  // CHECK: graph.add {{.*}} {dist.factors = {{\[\[}}"data"], []], dist.origins = [#dist.origin<why = "w", annotation = "a", instead = "", tensor = "t">], dist.shardings = [#dist.sharding<@mesh, [{"data"}, {}]>]}
  %2 = graph.add %x, %x {dist.factors = [["data"], []], dist.shardings = [#dist.sharding<@mesh, [{"data"}, {}]>],
      dist.origins = [#dist.origin<why = "w", annotation = "a", instead = "", tensor = "t">]} : tensor<8x4xf32>
  return %2 : tensor<8x4xf32>
}

// -----

// expected-error@+1 {{an axis of a mesh has no name}}
dist.mesh @mesh = <[""=4]>

// -----

// expected-error@+1 {{a mesh has axis 'x' twice}}
dist.mesh @mesh = <["x"=4, "x"=2]>

// -----

// expected-error@+1 {{axis 'x' has size 0; sizes are at least 1, and a mesh has at most 1048576 devices}}
dist.mesh @mesh = <["x"=0]>

// -----

// expected-error@+1 {{axis 'y' has size 65536; sizes are at least 1, and a mesh has at most 1048576 devices}}
dist.mesh @mesh = <["x"=65536, "y"=65536]>

// -----

dist.mesh @mesh = <["x"=2]>
// expected-error@+1 {{a sharding uses axis 'x' twice}}
func.func private @f(%x: tensor<4x4xf32> {dist.sharding = #dist.sharding<@mesh, [{"x"}, {"x"}]>})

// -----

dist.mesh @mesh = <["x"=2]>
// expected-error@+1 {{a sharding uses axis 'x' twice}}
func.func private @f(%x: tensor<4x4xf32> {dist.sharding = #dist.sharding<@mesh, [{"x"}, {}], partial = sum ["x"]>})

// -----

// expected-error@+1 {{argument 0 has 3 : i64 instead of a #dist.sharding}}
func.func private @f(%x: tensor<4xf32> {dist.sharding = 3 : i64})

// -----

// expected-error@+1 {{argument 0 is sharded over @mesh, but there is no such mesh}}
func.func private @f(%x: tensor<4xf32> {dist.sharding = #dist.sharding<@mesh, [{}]>})

// -----

dist.mesh @mesh = <["x"=2]>
// expected-error@+1 {{result 0 f32[4] is sharded as one of 2 dimensions}}
func.func private @f() -> (tensor<4xf32> {dist.sharding = #dist.sharding<@mesh, [{}, {}]>})

// -----

// expected-note@+1 {{the mesh is #dist.mesh<["x"=2]>}}
dist.mesh @mesh = <["x"=2]>
// expected-error@+1 {{argument 0 is sharded over axis 'y', which the mesh does not have}}
func.func private @f(%x: tensor<4xf32> {dist.sharding = #dist.sharding<@mesh, [{"y"}]>})

// -----

// expected-note@+1 {{the mesh is}}
dist.mesh @mesh = <["x"=2]>
func.func @f(%x: tensor<4xf32>) {
  // expected-error@+1 {{the result is sharded over axis 'z', which the mesh does not have}}
  %0 = dist.constraint %x <@mesh, [{}], replicated = ["z"]> : tensor<4xf32>
  return
}

// -----

dist.mesh @mesh = <["x"=2]>
func.func @f(%x: tensor<4xf32>) {
  // expected-error@+1 {{the result f32[4] is sharded as one of 2 dimensions}}
  %0 = dist.reshard %x to <@mesh, [{}, {}]> : tensor<4xf32>
  return
}

// -----

dist.mesh @mesh = <["x"=2]>
func.func @f(%x: tensor<4xf32>) {
  // expected-error@+1 {{has 1 results, but dist.shardings = []}}
  %0 = graph.negate %x {dist.shardings = []} : tensor<4xf32>
  return
}

// -----

dist.mesh @mesh = <["x"=2]>
func.func @f(%x: tensor<4xf32>) {
  // expected-error@+1 {{result 0 f32[4] is sharded as one of 0 dimensions}}
  %0 = graph.negate %x {dist.shardings = [#dist.sharding<@mesh, []>]} : tensor<4xf32>
  return
}

// -----

// expected-note@+1 {{the first is here}}
dist.mesh @mesh = <["x"=4]>
// expected-error@+1 {{is a second mesh; a module has one}}
dist.mesh @other = <["x"=4]>

// -----

dist.mesh @mesh = <["x"=4]>
func.func @f(%x: tensor<8xf32>) -> tensor<8xf32> {
  // expected-error@+1 {{dist.factors = [["y"]] names "y", which is no axis of #dist.mesh<["x"=4]>}}
  %0 = graph.negate %x {dist.factors = [["y"]]} : tensor<8xf32>
  return %0 : tensor<8xf32>
}

// -----

dist.mesh @mesh = <["x"=4]>
func.func @f(%x: tensor<8x8xf32>) -> tensor<8x8xf32> {
  // expected-error@+1 {{names "x" twice}}
  %0 = graph.negate %x {dist.factors = [["x"], ["x"]]} : tensor<8x8xf32>
  return %0 : tensor<8x8xf32>
}

// -----

dist.mesh @mesh = <["x"=4]>
func.func @f(%x: tensor<8xf32>) -> tensor<8xf32> {
  // expected-error@+1 {{dist.factors = 7 : i64 is no list of axes per factor}}
  %0 = graph.negate %x {dist.factors = 7} : tensor<8xf32>
  return %0 : tensor<8xf32>
}

// -----

func.func @f(%x: tensor<8xf32>) -> tensor<8xf32> {
  // expected-error@+1 {{needs a mesh, but the module has none}}
  %0 = graph.negate %x {dist.factors = [["x"]]} : tensor<8xf32>
  return %0 : tensor<8xf32>
}
