// RUN: minigptc-opt %s --split-input-file --verify-diagnostics=only-expected | minigptc-opt --split-input-file | FileCheck %s
// RUN: minigptc-opt %s --split-input-file --verify-diagnostics=only-expected --canonicalize | FileCheck %s --check-prefix=FOLD

// CHECK-LABEL: func @concatenate
// FOLD-LABEL: func @concatenate
func.func @concatenate(%x: tensor<2x3xf32>, %y: tensor<2x1xf32>) -> (tensor<2x4xf32>, tensor<2x3xf32>, tensor<3xf32>) {
  // CHECK: graph.concatenate %arg0, %arg1 dim = 1 : (tensor<2x3xf32>, tensor<2x1xf32>) -> tensor<2x4xf32>
  %0 = graph.concatenate %x, %y dim = 1 : (tensor<2x3xf32>, tensor<2x1xf32>) -> tensor<2x4xf32>
  %1 = graph.concatenate %x dim = 1 : (tensor<2x3xf32>) -> tensor<2x3xf32>
  %a = graph.constant dense<0.0> : tensor<1xf32>
  %b = graph.constant dense<0.0> : tensor<2xf32>
  // FOLD: %[[ZEROS:.*]] = graph.constant dense<0.000000e+00> : tensor<3xf32>
  %2 = graph.concatenate %a, %b dim = 0 : (tensor<1xf32>, tensor<2xf32>) -> tensor<3xf32>
  // FOLD: return %{{.*}}, %arg0, %[[ZEROS]]
  return %0, %1, %2 : tensor<2x4xf32>, tensor<2x3xf32>, tensor<3xf32>
}

// -----

func.func @sizes(%x: tensor<2x3xf32>, %y: tensor<1x3xf32>) {
  // expected-error@+1 {{input 0 f32[2,3] and input 1 f32[1,3] may differ in dimension 1 only}}
  %0 = graph.concatenate %x, %y dim = 1 : (tensor<2x3xf32>, tensor<1x3xf32>) -> tensor<2x6xf32>
  return
}

// -----

func.func @dim(%x: tensor<2x3xf32>) {
  // expected-error@+1 {{dim [2] holds 2, which is not in [0, 2)}}
  %0 = graph.concatenate %x dim = 2 : (tensor<2x3xf32>) -> tensor<2x3xf32>
  return
}

// -----

func.func @nothing() {
  // expected-error@+1 {{'graph.concatenate' op needs at least one input}}
  %0 = "graph.concatenate"() <{dim = 0 : i64}> : () -> tensor<2x3xf32>
  return
}

// -----

// CHECK-LABEL: func @pad
// FOLD-LABEL: func @pad
func.func @pad(%x: tensor<3xf32>, %v: tensor<f32>) -> (tensor<7xf32>, tensor<3xf32>, tensor<5xf32>) {
  // CHECK: graph.pad %arg0, %arg1, low = [1], high = [-1], interior = [2] : (tensor<3xf32>, tensor<f32>) -> tensor<7xf32>
  %0 = graph.pad %x, %v, low = [1], high = [-1], interior = [2] : (tensor<3xf32>, tensor<f32>) -> tensor<7xf32>
  %1 = graph.pad %x, %v, low = [0], high = [0], interior = [0] : (tensor<3xf32>, tensor<f32>) -> tensor<3xf32>
  %zero = graph.constant dense<0.0> : tensor<f32>
  %zeros = graph.constant dense<0.0> : tensor<3xf32>
  // FOLD: %[[ZEROS:.*]] = graph.constant dense<0.000000e+00> : tensor<5xf32>
  %2 = graph.pad %zeros, %zero, low = [1], high = [1], interior = [0] : (tensor<3xf32>, tensor<f32>) -> tensor<5xf32>
  // FOLD: return %{{.*}}, %arg0, %[[ZEROS]]
  return %0, %1, %2 : tensor<7xf32>, tensor<3xf32>, tensor<5xf32>
}

// -----

func.func @cut(%x: tensor<3xf32>, %v: tensor<f32>) {
  // expected-error@+1 {{padding cuts dimension 0 of operand f32[3] down to -1}}
  %0 = graph.pad %x, %v, low = [-4], high = [0], interior = [0] : (tensor<3xf32>, tensor<f32>) -> tensor<0xf32>
  return
}

// -----

func.func @interior(%x: tensor<3xf32>, %v: tensor<f32>) {
  // expected-error@+1 {{interior padding -1 of dimension 0 is negative}}
  %0 = graph.pad %x, %v, low = [0], high = [0], interior = [-1] : (tensor<3xf32>, tensor<f32>) -> tensor<1xf32>
  return
}

// -----

func.func @value(%x: tensor<3xf32>, %v: tensor<1xf32>) {
  // expected-error@+1 {{value f32[1] must be a scalar}}
  %0 = graph.pad %x, %v, low = [0], high = [0], interior = [0] : (tensor<3xf32>, tensor<1xf32>) -> tensor<3xf32>
  return
}
