// RUN: minigptc-opt %s --plan-recomputation -split-input-file -verify-diagnostics | FileCheck %s

// A budget that the plan meets changes nothing; less than any plan takes is an error.

// CHECK: module attributes {graph.memory_budget = 10000000 : i64} {
module attributes {graph.memory_budget = 10000000 : i64} {
  func.func private @f(%x: tensor<64x256xf32>, %w: tensor<256x256xf32>) -> tensor<64x256xf32> {
    %0 = graph.dot_general %x, %w, batching_dims = [] x [], contracting_dims = [1] x [0] : (tensor<64x256xf32>, tensor<256x256xf32>) -> tensor<64x256xf32>
    %1 = graph.tanh %0 : tensor<64x256xf32>
    %2 = graph.dot_general %1, %w, batching_dims = [] x [], contracting_dims = [1] x [0] : (tensor<64x256xf32>, tensor<256x256xf32>) -> tensor<64x256xf32>
    %3 = graph.tanh %2 : tensor<64x256xf32>
    return %3 : tensor<64x256xf32>
  }
  func.func @main(%x: tensor<64x256xf32>, %w: tensor<256x256xf32>, %ct: tensor<64x256xf32>) -> tensor<64x256xf32> attributes {graph.entry} {
    %0:2 = graph.vjp @f(%x, %w) cotangents(%ct) wrt [0] : (tensor<64x256xf32>, tensor<256x256xf32>), (tensor<64x256xf32>) -> (tensor<64x256xf32>, tensor<64x256xf32>)
    return %0#1 : tensor<64x256xf32>
  }
}

// -----

// expected-error @+1 {{the memory plan does not fit its budget of 1000 bytes}}
module attributes {graph.memory_budget = 1000 : i64} {
  func.func private @f(%x: tensor<64x256xf32>) -> tensor<64x256xf32> {
    %0 = graph.tanh %x : tensor<64x256xf32>
    return %0 : tensor<64x256xf32>
  }
  func.func @main(%x: tensor<64x256xf32>, %ct: tensor<64x256xf32>) -> tensor<64x256xf32> attributes {graph.entry} {
    %0:2 = graph.vjp @f(%x) cotangents(%ct) wrt [0] : (tensor<64x256xf32>), (tensor<64x256xf32>) -> (tensor<64x256xf32>, tensor<64x256xf32>)
    return %0#1 : tensor<64x256xf32>
  }
}
