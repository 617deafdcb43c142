// RUN: minigptc-opt %s --split-input-file --verify-diagnostics=only-expected | minigptc-opt --split-input-file | FileCheck %s

// CHECK-LABEL: func @random
func.func @random(%key: tensor<2xui32>, %step: tensor<i64>, %at: tensor<2xi64>) {
  // CHECK: %[[KEY:.*]] = graph.fold_in %arg0, %arg1 : tensor<i64>
  %0 = graph.fold_in %key, %step : tensor<i64>
  // CHECK: graph.random_bits %[[KEY]] at %arg2 of [4, 6] : tensor<2xi64> -> tensor<2x3xui32>
  %1 = graph.random_bits %0 at %at of [4, 6] : tensor<2xi64> -> tensor<2x3xui32>
  // CHECK: graph.random_uniform %[[KEY]] : tensor<2xf32>
  %2 = graph.random_uniform %0 : tensor<2xf32>
  // CHECK: graph.random_normal %[[KEY]] : tensor<2xbf16>
  %3 = graph.random_normal %0 : tensor<2xbf16>
  // CHECK: graph.random_truncated_normal %[[KEY]] {high = 3.000000e+00 : f64, low = -3.000000e+00 : f64} : tensor<2xf32>
  %4 = graph.random_truncated_normal %0 {low = -3.0, high = 3.0} : tensor<2xf32>
  return
}

// -----

func.func @key(%key: tensor<2xi32>, %step: tensor<i64>) {
  // expected-error@+1 {{operand #0 must be tensor<2xui32>, but got 'tensor<2xi32>'}}
  %0 = "graph.fold_in"(%key, %step) : (tensor<2xi32>, tensor<i64>) -> tensor<2xui32>
  return
}

// -----

func.func @data(%key: tensor<2xui32>, %step: tensor<1xi64>) {
  // expected-error@+1 {{'graph.fold_in' op data i64[1] must be a scalar}}
  %0 = graph.fold_in %key, %step : tensor<1xi64>
  return
}

// -----

func.func @offsets(%key: tensor<2xui32>, %at: tensor<1xi64>) {
  // expected-error@+1 {{offsets i64[1] must have the shape [2], one offset per dimension}}
  %0 = graph.random_bits %key at %at of [4, 6] : tensor<1xi64> -> tensor<2x3xui32>
  return
}

// -----

func.func @block(%key: tensor<2xui32>, %at: tensor<2xi64>) {
  // expected-error@+1 {{block ui32[2,7] is larger than the global shape [4,6] in dimension 1}}
  %0 = graph.random_bits %key at %at of [4, 6] : tensor<2xi64> -> tensor<2x7xui32>
  return
}

// -----

func.func @elements(%key: tensor<2xui32>, %at: tensor<2xi64>) {
  // expected-error@+1 {{the global shape [4294967296,4294967296] has more than 2^63 elements}}
  %0 = graph.random_bits %key at %at of [4294967296, 4294967296] : tensor<2xi64> -> tensor<2x7xui32>
  return
}

// -----

func.func @bounds(%key: tensor<2xui32>) {
  // expected-error@+1 {{low 1.000000 must be less than high 1.000000}}
  %0 = graph.random_truncated_normal %key {low = 1.0, high = 1.0} : tensor<2xf32>
  return
}

// -----

// CHECK-LABEL: func @parts
func.func @parts(%key: tensor<2xui32>, %k: tensor<i64>, %x: tensor<2x3xf32>) {
  // CHECK: graph.random_uniform %arg0 part %arg1 of 4 : tensor<2xf32>
  %0 = graph.random_uniform %key part %k of 4 : tensor<2xf32>
  // CHECK: graph.dropout %arg2, %arg0 part %arg1 of 4 rate = 5.000000e-01 : tensor<2x3xf32>
  %1 = graph.dropout %x, %key part %k of 4 rate = 0.5 : tensor<2x3xf32>
  return
}

// -----

func.func @scalar(%key: tensor<2xui32>, %k: tensor<i64>) {
  // expected-error @below {{draws a part of a scalar, which has no dimension 0}}
  %0 = graph.random_normal %key part %k of 4 : tensor<f32>
  return
}

// -----

func.func @none(%key: tensor<2xui32>, %k: tensor<i64>) {
  // expected-error @below {{draws one of 0 parts; there must be at least 1}}
  %0 = graph.random_normal %key part %k of 0 : tensor<2xf32>
  return
}

// -----

func.func @half(%key: tensor<2xui32>) {
  // expected-error @below {{needs the number of a part, and of how many}}
  %0 = "graph.random_normal"(%key) {parts = 4 : i64} : (tensor<2xui32>) -> tensor<2xf32>
  return
}
