// RUN: minigptc-opt %s --split-input-file --verify-diagnostics=only-expected | minigptc-opt --split-input-file | FileCheck %s

// CHECK-LABEL: func @gather
func.func @gather(%x: tensor<5x3x4xf32>, %i: tensor<2x7x2xi32>) {
  // CHECK: graph.gather %arg0[%arg1] dims = [0, 2] : (tensor<5x3x4xf32>, tensor<2x7x2xi32>) -> tensor<2x7x3xf32>
  %0 = graph.gather %x[%i] dims = [0, 2] : (tensor<5x3x4xf32>, tensor<2x7x2xi32>) -> tensor<2x7x3xf32>
  return
}

// CHECK-LABEL: func @scatter
func.func @scatter(%x: tensor<5x3xf32>, %i: tensor<2x1xi64>, %u: tensor<2x3xf32>) {
  // CHECK: graph.scatter add, %arg0[%arg1], %arg2 dims = [0] : (tensor<5x3xf32>, tensor<2x1xi64>, tensor<2x3xf32>) -> tensor<5x3xf32>
  %0 = graph.scatter add, %x[%i], %u dims = [0] : (tensor<5x3xf32>, tensor<2x1xi64>, tensor<2x3xf32>) -> tensor<5x3xf32>
  // CHECK: graph.scatter update,
  %1 = graph.scatter update, %x[%i], %u dims = [0] : (tensor<5x3xf32>, tensor<2x1xi64>, tensor<2x3xf32>) -> tensor<5x3xf32>
  return
}

// -----

// expected-note@+1 {{indices i32[2] is defined here}}
func.func @index_vector(%x: tensor<5x3xf32>, %i: tensor<2xi32>) {
  // expected-error@+1 {{the last dimension of indices i32[2] must have size 1, one index per entry of dims [0]}}
  %0 = graph.gather %x[%i] dims = [0] : (tensor<5x3xf32>, tensor<2xi32>) -> tensor<2x3xf32>
  return
}

// -----

func.func @nothing_to_pick(%x: tensor<0x3xf32>, %i: tensor<2x1xi32>) {
  // expected-error@+1 {{dimension 0 of operand f32[0,3] has nothing to pick from}}
  %0 = graph.gather %x[%i] dims = [0] : (tensor<0x3xf32>, tensor<2x1xi32>) -> tensor<2x3xf32>
  return
}

// -----

func.func @float_index(%x: tensor<5x3xf32>, %i: tensor<2x1xf32>) {
  // expected-error@+1 {{operand #1 must be statically shaped tensor of 32-bit signless integer or}}
  %0 = graph.gather %x[%i] dims = [0] : (tensor<5x3xf32>, tensor<2x1xf32>) -> tensor<2x3xf32>
  return
}

// -----

func.func @updates(%x: tensor<5x3xf32>, %i: tensor<2x1xi32>, %u: tensor<3x3xf32>) {
  // expected-error@+1 {{updates f32[3,3] must have the shape [2,3]}}
  %0 = graph.scatter add, %x[%i], %u dims = [0] : (tensor<5x3xf32>, tensor<2x1xi32>, tensor<3x3xf32>) -> tensor<5x3xf32>
  return
}

// -----

func.func @add_predicates(%x: tensor<5xi1>, %i: tensor<2x1xi32>, %u: tensor<2xi1>) {
  // expected-error@+1 {{kind add is for numbers, not for operand i1[5]}}
  %0 = graph.scatter add, %x[%i], %u dims = [0] : (tensor<5xi1>, tensor<2x1xi32>, tensor<2xi1>) -> tensor<5xi1>
  return
}
