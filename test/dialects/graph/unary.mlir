// RUN: minigptc-opt %s --split-input-file --verify-diagnostics=only-expected | minigptc-opt --split-input-file | FileCheck %s

// CHECK-LABEL: func @floats
func.func @floats(%x: tensor<2x3xf32>) {
  // CHECK: graph.cbrt %arg0 : tensor<2x3xf32>
  %0 = graph.cbrt %x : tensor<2x3xf32>
  // CHECK: graph.ceil %arg0 : tensor<2x3xf32>
  %1 = graph.ceil %x : tensor<2x3xf32>
  // CHECK: graph.cosine %arg0 : tensor<2x3xf32>
  %2 = graph.cosine %x : tensor<2x3xf32>
  // CHECK: graph.erf %arg0 : tensor<2x3xf32>
  %3 = graph.erf %x : tensor<2x3xf32>
  // CHECK: graph.exponential %arg0 : tensor<2x3xf32>
  %4 = graph.exponential %x : tensor<2x3xf32>
  // CHECK: graph.exponential_minus_one %arg0 : tensor<2x3xf32>
  %5 = graph.exponential_minus_one %x : tensor<2x3xf32>
  // CHECK: graph.floor %arg0 : tensor<2x3xf32>
  %6 = graph.floor %x : tensor<2x3xf32>
  // CHECK: graph.log %arg0 : tensor<2x3xf32>
  %7 = graph.log %x : tensor<2x3xf32>
  // CHECK: graph.log_plus_one %arg0 : tensor<2x3xf32>
  %8 = graph.log_plus_one %x : tensor<2x3xf32>
  // CHECK: graph.logistic %arg0 : tensor<2x3xf32>
  %9 = graph.logistic %x : tensor<2x3xf32>
  // CHECK: graph.round_nearest_even %arg0 : tensor<2x3xf32>
  %10 = graph.round_nearest_even %x : tensor<2x3xf32>
  // CHECK: graph.rsqrt %arg0 : tensor<2x3xf32>
  %11 = graph.rsqrt %x : tensor<2x3xf32>
  // CHECK: graph.sine %arg0 : tensor<2x3xf32>
  %12 = graph.sine %x : tensor<2x3xf32>
  // CHECK: graph.sqrt %arg0 : tensor<2x3xf32>
  %13 = graph.sqrt %x : tensor<2x3xf32>
  // CHECK: graph.tanh %arg0 : tensor<2x3xf32>
  %14 = graph.tanh %x : tensor<2x3xf32>
  // CHECK: graph.is_finite %arg0 : (tensor<2x3xf32>) -> tensor<2x3xi1>
  %15 = graph.is_finite %x : (tensor<2x3xf32>) -> tensor<2x3xi1>
  return
}

// CHECK-LABEL: func @numbers
func.func @numbers(%f: tensor<bf16>, %i: tensor<4xui64>, %p: tensor<i1>) {
  // CHECK: graph.abs %arg0 : tensor<bf16>
  %0 = graph.abs %f : tensor<bf16>
  // CHECK: graph.sign %arg1 : tensor<4xui64>
  %1 = graph.sign %i : tensor<4xui64>
  // CHECK: graph.negate %arg1 : tensor<4xui64>
  %2 = graph.negate %i : tensor<4xui64>
  // CHECK: graph.not %arg2 : tensor<i1>
  %3 = graph.not %p : tensor<i1>
  return
}

// -----

func.func @sqrt_of_integers(%x: tensor<2xi32>) {
  // expected-error@+1 {{operand #0 must be statically shaped tensor of f64, f32, bf16 or f16 values}}
  %0 = graph.sqrt %x : tensor<2xi32>
  return
}

// -----

func.func @dynamic_shape(%x: tensor<?xf32>) {
  // expected-error@+1 {{operand #0 must be statically shaped tensor of}}
  %0 = graph.sqrt %x : tensor<?xf32>
  return
}

// -----

func.func @result_differs(%x: tensor<2xf32>) {
  // expected-error@+1 {{'graph.tanh' op inferred type(s) 'tensor<2xf32>' are incompatible with return type(s) of operation 'tensor<3xf32>'}}
  %0 = "graph.tanh"(%x) : (tensor<2xf32>) -> tensor<3xf32>
  return
}
