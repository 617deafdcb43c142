// RUN: minigptc-opt %s --split-input-file --verify-diagnostics=only-expected | minigptc-opt --split-input-file | FileCheck %s

func.func private @loss(%w: tensor<4xf32>, %i: tensor<i32>) -> tensor<f32> {
  %0 = graph.reduce sum, %w, dims = [0] : (tensor<4xf32>) -> tensor<f32>
  return %0 : tensor<f32>
}
// CHECK-LABEL: func @vjp
func.func @vjp(%w: tensor<4xf32>, %i: tensor<i32>, %one: tensor<f32>) {
  // CHECK: graph.vjp @loss(%arg0, %arg1) cotangents(%arg2) wrt [0] : (tensor<4xf32>, tensor<i32>), (tensor<f32>) -> (tensor<f32>, tensor<4xf32>)
  %0:2 = graph.vjp @loss(%w, %i) cotangents(%one) wrt [0] : (tensor<4xf32>, tensor<i32>), (tensor<f32>) -> (tensor<f32>, tensor<4xf32>)
  return
}

// -----

func.func @missing(%w: tensor<4xf32>) {
  // expected-error@+1 {{'graph.vjp' op calls @f, but there is no such function}}
  %0 = graph.vjp @f(%w) cotangents(%w) wrt [0] : (tensor<4xf32>), (tensor<4xf32>) -> (tensor<4xf32>)
  return
}

// -----

// expected-note@+1 {{@f is defined here}}
func.func private @f(%w: tensor<4xf32>) -> tensor<4xf32>
func.func @cotangent(%w: tensor<4xf32>, %c: tensor<f32>) {
  // expected-error@+1 {{cotangent 0 is f32[], but @f asks for f32[4]}}
  %0:2 = graph.vjp @f(%w) cotangents(%c) wrt [0] : (tensor<4xf32>), (tensor<f32>) -> (tensor<4xf32>, tensor<4xf32>)
  return
}

// -----

func.func private @f(%w: tensor<4xf32>) -> tensor<4xf32>
func.func @wrt(%w: tensor<4xf32>) {
  // expected-error@+1 {{wrt [1] holds 1, which is not in [0, 1)}}
  %0:2 = graph.vjp @f(%w) cotangents(%w) wrt [1] : (tensor<4xf32>), (tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>)
  return
}

// -----

func.func private @f(%i: tensor<4xi32>) -> tensor<4xf32>
func.func @integer(%i: tensor<4xi32>, %c: tensor<4xf32>) {
  // expected-error@+1 {{cannot differentiate with respect to input 0 i32[4]: only floats have gradients}}
  %0:2 = graph.vjp @f(%i) cotangents(%c) wrt [0] : (tensor<4xi32>), (tensor<4xf32>) -> (tensor<4xf32>, tensor<4xi32>)
  return
}

// -----

func.func private @f(%w: tensor<4xf32>) -> tensor<4xf32>
func.func @outputs(%w: tensor<4xf32>) {
  // expected-error@+1 {{has 1 outputs, but @f asks for 2}}
  %0 = graph.vjp @f(%w) cotangents(%w) wrt [0] : (tensor<4xf32>), (tensor<4xf32>) -> (tensor<4xf32>)
  return
}

// -----

func.func private @schedule(%n: tensor<f64>) -> tensor<f64> attributes {graph.host} {
  return %n : tensor<f64>
}
// CHECK-LABEL: func @host_call
func.func @host_call(%count: tensor<i64>) {
  // CHECK: graph.host_call @schedule(%arg0) : (tensor<i64>) -> tensor<f32>
  %0 = graph.host_call @schedule(%count) : (tensor<i64>) -> tensor<f32>
  return
}

// -----

// expected-note@+1 {{@f is defined here}}
func.func private @f(%n: tensor<f64>) -> tensor<f64>
func.func @not_host(%count: tensor<i64>) {
  // expected-error@+1 {{calls @f, which is not marked graph.host}}
  %0 = graph.host_call @f(%count) : (tensor<i64>) -> tensor<f32>
  return
}

// -----

func.func private @f(%n: tensor<f32>) -> tensor<f64> attributes {graph.host}
func.func @not_f64(%count: tensor<i64>) {
  // expected-error@+1 {{calls @f, which is not of f64 scalars only}}
  %0 = graph.host_call @f(%count) : (tensor<i64>) -> tensor<f32>
  return
}

// -----

func.func private @f(%n: tensor<f64>) -> tensor<f64> attributes {graph.host}
func.func @not_scalar(%count: tensor<1xi64>) {
  // expected-error@+1 {{input i64[1] must be a scalar}}
  %0 = graph.host_call @f(%count) : (tensor<1xi64>) -> tensor<f32>
  return
}

// -----

// CHECK-LABEL: func @fusion
func.func @fusion(%x: tensor<4xf32>) -> tensor<4xf32> {
  // CHECK: graph.fusion(%arg0) : (tensor<4xf32>) -> tensor<4xf32> {
  // CHECK: ^bb0(%[[A:.*]]: tensor<4xf32>):
  // CHECK: graph.yield %{{.*}} : tensor<4xf32>
  %0 = graph.fusion(%x) : (tensor<4xf32>) -> tensor<4xf32> {
  ^bb0(%a: tensor<4xf32>):
    %1 = graph.negate %a : tensor<4xf32>
    graph.yield %1 : tensor<4xf32>
  }
  return %0 : tensor<4xf32>
}

// -----

func.func @fusion_input(%x: tensor<4xf32>) {
  // expected-error@+1 {{'graph.fusion' op input 0 is f32[4], but in its region f32[5]}}
  graph.fusion(%x) : (tensor<4xf32>) -> () {
  ^bb0(%a: tensor<5xf32>):
    graph.yield
  }
  return
}

// -----

func.func @fusion_outputs(%x: tensor<4xf32>) {
  // expected-error@+1 {{has 0 outputs, but its region has 1}}
  graph.fusion(%x) : (tensor<4xf32>) -> () {
  ^bb0(%a: tensor<4xf32>):
    graph.yield %a : tensor<4xf32>
  }
  return
}

// -----

func.func private @f()
func.func @fusion_body(%x: tensor<4xf32>) {
  // expected-error@+1 {{holds 'func.call', which cannot be fused}}
  graph.fusion(%x) : (tensor<4xf32>) -> () {
  ^bb0(%a: tensor<4xf32>):
    // expected-note@+1 {{the op is here}}
    func.call @f() : () -> ()
    graph.yield
  }
  return
}
