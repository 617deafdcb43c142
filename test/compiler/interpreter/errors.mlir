// What the interpreter reports: the op, the value, what to do.
// RUN: minigptc-opt %s --run --split-input-file --verify-diagnostics

func.func @main() -> tensor<2xf32> {
  %table = graph.constant dense<1.0> : tensor<4x2xf32>
  %ids = graph.constant dense<[[0, 3], [-1, 4]]> : tensor<2x2xi64>
  // expected-error @+1 {{id -1 at position 2 is outside the table of 4 rows}}
  %0 = graph.embedding %table, %ids : (tensor<4x2xf32>, tensor<2x2xi64>) -> tensor<2x2x2xf32>
  %1 = graph.reduce sum, %0, dims = [0, 1] : (tensor<2x2x2xf32>) -> tensor<2xf32>
  return %1 : tensor<2xf32>
}

// -----

func.func @main() -> tensor<1xf32> {
  %logits = graph.constant dense<0.0> : tensor<1x3xf32>
  %targets = graph.constant dense<3> : tensor<1xi32>
  // expected-error @+1 {{target 3 at position 0 is outside the 3 classes}}
  %0 = graph.softmax_cross_entropy %logits, %targets : (tensor<1x3xf32>, tensor<1xi32>) -> tensor<1xf32>
  return %0 : tensor<1xf32>
}

// -----

func.func private @f(%x: tensor<f32>) -> tensor<f32> {
  return %x : tensor<f32>
}
func.func @main() -> tensor<f32> {
  %x = graph.constant dense<1.0> : tensor<f32>
  // expected-error @+1 {{the interpreter does not differentiate; run --graph-autodiff first}}
  %0:2 = graph.vjp @f(%x) cotangents(%x) wrt [0] : (tensor<f32>), (tensor<f32>) -> (tensor<f32>, tensor<f32>)
  return %0#1 : tensor<f32>
}

// -----

// expected-note @+1 {{declared here}}
func.func private @elsewhere()
func.func @main() {
  // expected-error @+1 {{calls a function without a body}}
  call @elsewhere() : () -> ()
  return
}

// -----

func.func @main() {
  // expected-error @+1 {{calls nest more than 1000 deep: a recursive function?}}
  call @main() : () -> ()
  return
}

// -----

// expected-error @+1 {{nothing to run: no function @main or @test_… without arguments}}
module {
  func.func @other() {
    return
  }
}
