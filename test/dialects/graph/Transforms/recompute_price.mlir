// RUN: minigptc-opt %s --graph-autodiff --graph-simplify-functions -split-input-file | FileCheck %s

// A softmax costs little for its bytes, a product much: at a low price the product
// alone stays saved, and the module says what is computed again.
// CHECK: graph.recomputed = [{place = {{.*}}, type = tensor<8x64xf32>}]
// CHECK-LABEL: func.func private @f.fwd(
// CHECK: %[[DOT:.*]] = graph.dot_general
// CHECK: return %{{.*}}, %[[DOT]] : tensor<8x64xf32>, tensor<8x64xf32>
// CHECK-LABEL: func.func private @f.bwd(
// CHECK: graph.softmax
module attributes {graph.recompute_price = 2.0 : f64} {
  func.func private @f(%x: tensor<8x4096xf32>, %w: tensor<4096x64xf32>) -> tensor<8x64xf32> {
    %0 = graph.dot_general %x, %w, batching_dims = [] x [], contracting_dims = [1] x [0] : (tensor<8x4096xf32>, tensor<4096x64xf32>) -> tensor<8x64xf32>
    %1 = graph.softmax %0, dim = 1 : tensor<8x64xf32>
    %2 = graph.multiply %1, %0 : tensor<8x64xf32>
    return %2 : tensor<8x64xf32>
  }
  func.func @main(%x: tensor<8x4096xf32>, %w: tensor<4096x64xf32>, %ct: tensor<8x64xf32>) -> (tensor<8x64xf32>, tensor<8x4096xf32>) {
    %0:2 = graph.vjp @f(%x, %w) cotangents(%ct) wrt [0] : (tensor<8x4096xf32>, tensor<4096x64xf32>), (tensor<8x64xf32>) -> (tensor<8x64xf32>, tensor<8x4096xf32>)
    return %0#0, %0#1 : tensor<8x64xf32>, tensor<8x4096xf32>
  }
}

// -----

// At a high price nothing is saved, and the backward function needs the arguments only.
// CHECK-LABEL: func.func private @f.bwd(
// CHECK-SAME: %{{[a-z0-9]*}}: tensor<8x64xf32>, %{{[a-z0-9]*}}: tensor<64x64xf32>, %{{[a-z0-9]*}}: tensor<8x64xf32>) ->
// CHECK: graph.dot_general
// CHECK: graph.softmax
module attributes {graph.recompute_price = 1000.0 : f64} {
  func.func private @f(%x: tensor<8x64xf32>, %w: tensor<64x64xf32>) -> tensor<8x64xf32> {
    %0 = graph.dot_general %x, %w, batching_dims = [] x [], contracting_dims = [1] x [0] : (tensor<8x64xf32>, tensor<64x64xf32>) -> tensor<8x64xf32>
    %1 = graph.softmax %0, dim = 1 : tensor<8x64xf32>
    %2 = graph.tanh %1 : tensor<8x64xf32>
    return %2 : tensor<8x64xf32>
  }
  func.func @main(%x: tensor<8x64xf32>, %w: tensor<64x64xf32>, %ct: tensor<8x64xf32>) -> (tensor<8x64xf32>, tensor<8x64xf32>) {
    %0:2 = graph.vjp @f(%x, %w) cotangents(%ct) wrt [0] : (tensor<8x64xf32>, tensor<64x64xf32>), (tensor<8x64xf32>) -> (tensor<8x64xf32>, tensor<8x64xf32>)
    return %0#0, %0#1 : tensor<8x64xf32>, tensor<8x64xf32>
  }
}
