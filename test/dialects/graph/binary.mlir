// RUN: minigptc-opt %s --split-input-file --verify-diagnostics=only-expected | minigptc-opt --split-input-file | FileCheck %s

// CHECK-LABEL: func @numbers
func.func @numbers(%x: tensor<2xf64>, %y: tensor<2xf64>, %i: tensor<2xi8>) {
  // CHECK: graph.add %arg0, %arg1 : tensor<2xf64>
  %0 = graph.add %x, %y : tensor<2xf64>
  // CHECK: graph.subtract %arg0, %arg1 : tensor<2xf64>
  %1 = graph.subtract %x, %y : tensor<2xf64>
  // CHECK: graph.multiply %arg0, %arg1 : tensor<2xf64>
  %2 = graph.multiply %x, %y : tensor<2xf64>
  // CHECK: graph.divide %arg0, %arg1 : tensor<2xf64>
  %3 = graph.divide %x, %y : tensor<2xf64>
  // CHECK: graph.maximum %arg0, %arg1 : tensor<2xf64>
  %4 = graph.maximum %x, %y : tensor<2xf64>
  // CHECK: graph.minimum %arg0, %arg1 : tensor<2xf64>
  %5 = graph.minimum %x, %y : tensor<2xf64>
  // CHECK: graph.power %arg0, %arg1 : tensor<2xf64>
  %6 = graph.power %x, %y : tensor<2xf64>
  // CHECK: graph.remainder %arg2, %arg2 : tensor<2xi8>
  %7 = graph.remainder %i, %i : tensor<2xi8>
  // CHECK: graph.clamp %arg0, %arg1, %arg0 : tensor<2xf64>
  %8 = graph.clamp %x, %y, %x : tensor<2xf64>
  return
}

// CHECK-LABEL: func @bits
func.func @bits(%x: tensor<2xui32>, %p: tensor<i1>) {
  // CHECK: graph.and %arg1, %arg1 : tensor<i1>
  %0 = graph.and %p, %p : tensor<i1>
  // CHECK: graph.or %arg0, %arg0 : tensor<2xui32>
  %1 = graph.or %x, %x : tensor<2xui32>
  // CHECK: graph.xor %arg0, %arg0 : tensor<2xui32>
  %2 = graph.xor %x, %x : tensor<2xui32>
  // CHECK: graph.shift_left %arg0, %arg0 : tensor<2xui32>
  %3 = graph.shift_left %x, %x : tensor<2xui32>
  // CHECK: graph.shift_right_logical %arg0, %arg0 : tensor<2xui32>
  %4 = graph.shift_right_logical %x, %x : tensor<2xui32>
  // CHECK: graph.shift_right_arithmetic %arg0, %arg0 : tensor<2xui32>
  %5 = graph.shift_right_arithmetic %x, %x : tensor<2xui32>
  return
}

// -----

// expected-note@+2 {{lhs f32[2,3] is defined here}}
// expected-note@+1 {{rhs f32[2,4] is defined here}}
func.func @shapes_differ(%x: tensor<2x3xf32>, %y: tensor<2x4xf32>) {
  // expected-error@+1 {{'graph.add' op lhs f32[2,3] and rhs f32[2,4] have different shapes}}
  %0 = "graph.add"(%x, %y) : (tensor<2x3xf32>, tensor<2x4xf32>) -> tensor<2x3xf32>
  return
}

// -----

func.func @element_types_differ(%x: tensor<2xf32>, %y: tensor<2xf64>) {
  // expected-error@+1 {{'graph.multiply' op lhs f32[2] and rhs f64[2] have different element types; convert one of them}}
  %0 = "graph.multiply"(%x, %y) : (tensor<2xf32>, tensor<2xf64>) -> tensor<2xf32>
  return
}

// -----

func.func @clamp_bounds_differ(%x: tensor<2xf32>, %y: tensor<f32>) {
  // expected-error@+1 {{'graph.clamp' op low f32[2] and high f32[] have different shapes}}
  %0 = "graph.clamp"(%x, %x, %y) : (tensor<2xf32>, tensor<2xf32>, tensor<f32>) -> tensor<2xf32>
  return
}

// -----

func.func @sum_of_predicates(%p: tensor<2xi1>) {
  // expected-error@+1 {{operand #0 must be statically shaped tensor of a number values}}
  %0 = graph.add %p, %p : tensor<2xi1>
  return
}
