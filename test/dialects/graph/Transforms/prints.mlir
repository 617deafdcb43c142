// Prints on their way to instructions: once in the forward function, in their order in a block that
// is fused and scheduled.
// RUN: minigptc-opt %s --graph-autodiff --split-input-file | FileCheck %s --check-prefix=GRAD
// RUN: minigptc-opt %s --pass-pipeline='builtin.module(func.func(graph-fuse))' --split-input-file | FileCheck %s --check-prefix=FUSE
// RUN: minigptc-opt %s --pass-pipeline='builtin.module(func.func(graph-schedule))' --split-input-file | FileCheck %s --check-prefix=FUSE

// What the backward function computes again prints nothing there.
// GRAD-LABEL: func.func private @block
// GRAD-LABEL: func.func private @block.silent
// GRAD-NOT: graph.print
// GRAD: return
// GRAD-LABEL: func.func private @loss.fwd
// GRAD: call @block(
// GRAD: graph.print ["loss ", ""]
// GRAD-LABEL: func.func private @loss.bwd
// GRAD-NOT: call @block(
// GRAD-NOT: graph.print
// GRAD: call @block.silent(
// GRAD: return
func.func private @block(%x: tensor<4xf32>, %w: tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>) {
  graph.print ["x = ", ""] (%x : tensor<4xf32>)
  %0 = graph.tanh %x : tensor<4xf32>
  %1 = graph.multiply %0, %w : tensor<4xf32>
  return %0, %1 : tensor<4xf32>, tensor<4xf32>
}
func.func private @loss(%x: tensor<4xf32>, %c: tensor<4xf32>) -> tensor<4xf32> attributes {graph.remat = #graph.remat<nothing>} {
  %0:2 = call @block(%c, %c) : (tensor<4xf32>, tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>)
  %1 = graph.multiply %x, %0#1 : tensor<4xf32>
  graph.print ["loss ", ""] (%1 : tensor<4xf32>)
  return %1 : tensor<4xf32>
}
func.func @step(%x: tensor<4xf32>, %c: tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>) {
  %0:2 = graph.vjp @loss(%x, %c) cotangents(%c) wrt [0] : (tensor<4xf32>, tensor<4xf32>), (tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>)
  return %0#0, %0#1 : tensor<4xf32>, tensor<4xf32>
}

// -----

// FUSE-LABEL: func.func @order
// FUSE: graph.print ["first ", ""]
// FUSE: graph.print ["second ", ""]
// FUSE: graph.print ["third"]
// FUSE: return
func.func @order(%x: tensor<1024x1024xf32>) -> tensor<f32> {
  %0 = graph.exponential %x : tensor<1024x1024xf32>
  %1 = graph.reduce sum, %0, dims = [0, 1] : (tensor<1024x1024xf32>) -> tensor<f32>
  %2 = graph.tanh %x : tensor<1024x1024xf32>
  %3 = graph.reduce sum, %2, dims = [0, 1] : (tensor<1024x1024xf32>) -> tensor<f32>
  %4 = graph.add %1, %3 : tensor<f32>
  graph.print ["first ", ""] (%4 : tensor<f32>)
  graph.print ["second ", ""] (%1 : tensor<f32>)
  graph.print ["third"]
  return %3 : tensor<f32>
}

// -----

// A print that waits for a kernel, which is merged with what comes later, keeps its place before the next.
// FUSE-LABEL: func.func @merged
// FUSE: graph.print ["first ", ""]
// FUSE: graph.print ["second ", ""]
// FUSE: return
func.func @merged(%x: tensor<16x8xf32>) -> (tensor<16x8xf32>, tensor<16x8xf32>) {
  %0 = graph.exponential %x : tensor<16x8xf32>
  graph.print ["first ", ""] (%0 : tensor<16x8xf32>)
  graph.print ["second ", ""] (%x : tensor<16x8xf32>)
  %1 = graph.tanh %x : tensor<16x8xf32>
  return %0, %1 : tensor<16x8xf32>, tensor<16x8xf32>
}

// -----

// Kernels before and behind a call that prints are not merged: none of the two orders would be kept.
// FUSE-LABEL: func.func @around
// FUSE: graph.print ["first ", ""]
// FUSE: call @say
// FUSE: return
func.func @around(%x: tensor<16x8xf32>) -> (tensor<16x8xf32>, tensor<16x8xf32>) {
  %0 = graph.exponential %x : tensor<16x8xf32>
  graph.print ["first ", ""] (%0 : tensor<16x8xf32>)
  %1 = call @say(%x) {graph.prints} : (tensor<16x8xf32>) -> tensor<16x8xf32>
  %2 = graph.tanh %x : tensor<16x8xf32>
  %3 = graph.add %2, %1 : tensor<16x8xf32>
  return %0, %3 : tensor<16x8xf32>, tensor<16x8xf32>
}
func.func private @say(%x: tensor<16x8xf32>) -> tensor<16x8xf32> {
  graph.print ["second ", ""] (%x : tensor<16x8xf32>)
  %0 = graph.negate %x : tensor<16x8xf32>
  return %0 : tensor<16x8xf32>
}
