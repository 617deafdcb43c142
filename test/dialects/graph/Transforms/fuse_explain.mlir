// RUN: minigptc-opt %s --pass-pipeline='builtin.module(func.func(graph-fuse{explain}))' -verify-diagnostics -o /dev/null

func.func @columns(%x: tensor<64x64xf32>) -> tensor<64x64xf32> {
  // expected-note@+1 {{made here}}
  %m = graph.reduce max, %x, dims = [1] : (tensor<64x64xf32>) -> tensor<64xf32>
  %b = graph.broadcast_in_dim %m, dims = [1] : (tensor<64xf32>) -> tensor<64x64xf32>
  // expected-remark@+1 {{reads a value of another kernel from memory: they walk other rows, or one needs the other's at other places than its own}}
  %y = graph.subtract %x, %b : tensor<64x64xf32>
  return %y : tensor<64x64xf32>
}

func.func @path(%x: tensor<4x4xf32>) -> tensor<4x4xf32> {
  // expected-note@+1 {{made here}}
  %t = graph.tanh %x : tensor<4x4xf32>
  %d = graph.dot_general %t, %t, batching_dims = [] x [], contracting_dims = [1] x [0] : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
  // expected-remark@+1 {{something between them, no part of either, needs the one and is needed by the other}}
  %s = graph.multiply %t, %d : tensor<4x4xf32>
  return %s : tensor<4x4xf32>
}

// Nothing to say of a kernel that takes all.
func.func @softmax(%x: tensor<64x64xf32>) -> tensor<64x64xf32> {
  %m = graph.reduce max, %x, dims = [1] : (tensor<64x64xf32>) -> tensor<64xf32>
  %b = graph.broadcast_in_dim %m, dims = [0] : (tensor<64xf32>) -> tensor<64x64xf32>
  %y = graph.subtract %x, %b : tensor<64x64xf32>
  return %y : tensor<64x64xf32>
}
