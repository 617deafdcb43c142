// RUN: minigptc-opt %s --split-input-file --verify-diagnostics=only-expected | minigptc-opt --split-input-file | FileCheck %s

// CHECK-LABEL: func.func @one_example
func.func @one_example(%x: tensor<4xf32>) -> (tensor<8x4xf32>, tensor<i64>) {
  // CHECK: graph.gather_examples %arg0 over "examples" : (tensor<4xf32>) -> tensor<8x4xf32>
  %0 = graph.gather_examples %x over "examples" : (tensor<4xf32>) -> tensor<8x4xf32>
  // CHECK: graph.example_index over "examples" : tensor<i64>
  %1 = graph.example_index over "examples" : tensor<i64>
  return %0, %1 : tensor<8x4xf32>, tensor<i64>
}

// -----

func.func @no_new_dimension(%x: tensor<4xf32>) -> tensor<4x8xf32> {
  // expected-error @+1 {{gives f32[4,8] of f32[4]: it must be that with one more dimension before the others}}
  %0 = graph.gather_examples %x over "examples" : (tensor<4xf32>) -> tensor<4x8xf32>
  return %0 : tensor<4x8xf32>
}
