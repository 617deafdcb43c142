// RUN: minigptc-opt %s --split-input-file --verify-diagnostics=only-expected | minigptc-opt --split-input-file | FileCheck %s

dist.mesh @mesh = <["data"=4, "tensor"=2]>

func.func private @body(%x: tensor<2x4xf32>, %w: tensor<4x3xf32>) -> (tensor<2x3xf32>, tensor<f32>) {
  // CHECK: dist.vary %arg1 over @mesh ["data"] : tensor<4x3xf32>
  %0 = dist.vary %w over @mesh ["data"] : tensor<4x3xf32>
  %1 = graph.dot_general %x, %0, batching_dims = [] x [], contracting_dims = [1] x [0] : (tensor<2x4xf32>, tensor<4x3xf32>) -> tensor<2x3xf32>
  %2 = graph.reduce sum, %1, dims = [0, 1] : (tensor<2x3xf32>) -> tensor<f32>
  %3 = dist.all_reduce %2 over @mesh ["data", "tensor"] combine = sum : (tensor<f32>) -> tensor<f32>
  return %1, %3 : tensor<2x3xf32>, tensor<f32>
}

// CHECK-LABEL: func @manual
func.func @manual(%x: tensor<8x4xf32>, %w: tensor<4x6xf32>) -> (tensor<8x6xf32>, tensor<f32>) {
  // CHECK: %0:2 = dist.manual @body(%arg0, %arg1) over @mesh
  // CHECK-SAME: in = [#dist.sharding<@mesh, [{"data"}, {}]>, #dist.sharding<@mesh, [{}, {"tensor"}]>]
  // CHECK-SAME: out = [#dist.sharding<@mesh, [{"data"}, {"tensor"}]>, #dist.sharding<@mesh, []>]
  // CHECK-SAME: : (tensor<8x4xf32>, tensor<4x6xf32>) -> (tensor<8x6xf32>, tensor<f32>)
  %0:2 = dist.manual @body(%x, %w) over @mesh
      in = [#dist.sharding<@mesh, [{"data"}, {}]>, #dist.sharding<@mesh, [{}, {"tensor"}]>]
      out = [#dist.sharding<@mesh, [{"data"}, {"tensor"}]>, #dist.sharding<@mesh, []>]
      : (tensor<8x4xf32>, tensor<4x6xf32>) -> (tensor<8x6xf32>, tensor<f32>)
  return %0#0, %0#1 : tensor<8x6xf32>, tensor<f32>
}

// -----

dist.mesh @mesh = <["data"=2]>
func.func @no_function(%x: tensor<8xf32>) {
  // expected-error@+1 {{calls @f, but there is no such function}}
  dist.manual @f(%x) over @mesh in = [#dist.sharding<@mesh, [{"data"}]>] out = [] : (tensor<8xf32>) -> ()
  return
}

// -----

func.func private @f() { return }
func.func @no_mesh() {
  // expected-error@+1 {{runs over @mesh, but there is no such mesh}}
  dist.manual @f() over @mesh in = [] out = [] : () -> ()
  return
}

// -----

dist.mesh @mesh = <["data"=2]>
func.func @f() { return }
func.func @public() {
  // expected-error@+1 {{calls @f, which must be private and have a body}}
  dist.manual @f() over @mesh in = [] out = [] : () -> ()
  return
}

// -----

dist.mesh @mesh = <["data"=2]>
func.func private @f(%x: tensor<4xf32>) -> tensor<4xf32> { return %x : tensor<4xf32> }
func.func private @g(%x: tensor<4xf32>) -> tensor<4xf32> {
  // expected-note@+1 {{the inner one is here}}
  %0 = dist.manual @f(%x) over @mesh in = [#dist.sharding<@mesh, [{}]>] out = [#dist.sharding<@mesh, [{}]>] : (tensor<4xf32>) -> tensor<4xf32>
  return %0 : tensor<4xf32>
}
func.func @nested(%x: tensor<8xf32>) {
  // expected-error@+1 {{calls @g, which has a dist.manual: they do not nest}}
  %0 = dist.manual @g(%x) over @mesh in = [#dist.sharding<@mesh, [{"data"}]>] out = [#dist.sharding<@mesh, [{"data"}]>] : (tensor<8xf32>) -> tensor<8xf32>
  return
}

// -----

dist.mesh @mesh = <["data"=2]>
// expected-note@+1 {{@f is defined here}}
func.func private @f(%x: tensor<4xf32>) { return }
func.func @numbers(%x: tensor<8xf32>) {
  // expected-error@+1 {{has 1 operands and 2 shardings for them, but @f has 1}}
  dist.manual @f(%x) over @mesh in = [#dist.sharding<@mesh, [{"data"}]>, #dist.sharding<@mesh, []>] out = [] : (tensor<8xf32>) -> ()
  return
}

// -----

// expected-note@+1 {{the mesh is}}
dist.mesh @mesh = <["data"=2]>
func.func private @f(%x: tensor<4xf32>) { return }
func.func @no_axis(%x: tensor<8xf32>) {
  // expected-error@+1 {{operand 0 is sharded over axis 'model', which the mesh does not have}}
  dist.manual @f(%x) over @mesh in = [#dist.sharding<@mesh, [{"model"}]>] out = [] : (tensor<8xf32>) -> ()
  return
}

// -----

dist.mesh @mesh = <["data"=2]>
func.func private @f(%x: tensor<4xf32>) { return }
func.func @axis_twice(%x: tensor<8x8xf32>) {
  // expected-error@+1 {{a sharding uses axis 'data' twice}}
  dist.manual @f(%x) over @mesh in = [#dist.sharding<@mesh, [{"data"}, {"data"}]>] out = [] : (tensor<8x8xf32>) -> ()
  return
}

// -----

dist.mesh @mesh = <["data"=2]>
func.func private @f(%x: tensor<4xf32>) { return }
func.func @rank(%x: tensor<8xf32>) {
  // expected-error@+1 {{operand 0 f32[8] is sharded as one of 2 dimensions}}
  dist.manual @f(%x) over @mesh in = [#dist.sharding<@mesh, [{"data"}, {}]>] out = [] : (tensor<8xf32>) -> ()
  return
}

// -----

dist.mesh @mesh = <["data"=2]>
// expected-note@+1 {{@f is defined here}}
func.func private @f(%x: tensor<4xf32>) { return }
func.func @uneven(%x: tensor<7xf32>) {
  // expected-error@+1 {{operand 0 f32[7] has no equal parts as [{'data'}]}}
  dist.manual @f(%x) over @mesh in = [#dist.sharding<@mesh, [{"data"}]>] out = [] : (tensor<7xf32>) -> ()
  return
}

// -----

dist.mesh @mesh = <["data"=2]>
// expected-note@+1 {{@f is defined here}}
func.func private @f() -> tensor<4xf32> {
  %0 = graph.constant dense<0.0> : tensor<4xf32>
  return %0 : tensor<4xf32>
}
func.func @types() {
  // expected-error@+1 {{result 0 f32[4] has parts f32[2], but @f has f32[4]}}
  %0 = dist.manual @f() over @mesh in = [] out = [#dist.sharding<@mesh, [{"data"}]>] : () -> tensor<4xf32>
  return
}

// -----

dist.mesh @mesh = <["data"=2]>
// expected-note@+1 {{@f is defined here}}
func.func private @f(%x: tensor<4xf32>) { return }
func.func @summand(%x: tensor<4xf32>) {
  // expected-error@+1 {{it must be over @mesh, closed, and no summand}}
  dist.manual @f(%x) over @mesh in = [#dist.sharding<@mesh, [{}], partial = sum ["data"]>] out = [] : (tensor<4xf32>) -> ()
  return
}

// -----

// expected-note@+1 {{the mesh is}}
dist.mesh @mesh = <["data"=2]>
func.func @vary(%x: tensor<4xf32>) {
  // expected-error@+1 {{runs over axis "model", which the mesh does not have}}
  %0 = dist.vary %x over @mesh ["model"] : tensor<4xf32>
  return
}
