// RUN: minigptc-opt %s --dist-bucket | FileCheck %s

// Where collectives are put beside compute, gradients are reduced by layers: of the head, of two
// layers, and of the table with those of the first layer. A layer with little goes with the next.

module attributes {dist.overlap} {
  dist.mesh @mesh = <["data"=4]>
  func.func private @bwd(%x: tensor<8xf32>) -> (tensor<8xf32>, tensor<16xf32>, tensor<2xf32>) {
    %0 = graph.slice %x [0] : [2] : [1] : (tensor<8xf32>) -> tensor<2xf32>
    %1 = graph.concatenate %x, %x dim = 0 : (tensor<8xf32>, tensor<8xf32>) -> tensor<16xf32>
    return %x, %1, %0 : tensor<8xf32>, tensor<16xf32>, tensor<2xf32>
  }

  // CHECK-LABEL: func.func @step
  // CHECK: %[[HEAD:.*]] = graph.negate %arg0
  // CHECK: %[[A:.*]]:3 = call @bwd
  // CHECK: %[[B:.*]]:3 = call @bwd
  // CHECK: %[[C:.*]]:3 = call @bwd
  // CHECK: %[[TABLE:.*]] = graph.negate %[[C]]#0
  // CHECK: dist.all_reduce %[[HEAD]] over
  // CHECK: dist.all_reduce %[[A]]#1, %[[A]]#2 over
  // CHECK: dist.all_reduce %[[B]]#1, %[[B]]#2 over
  // CHECK: dist.all_reduce %[[C]]#1, %[[C]]#2, %[[TABLE]] over
  // CHECK-NOT: dist.all_reduce
  func.func @step(%x: tensor<8xf32>) -> (tensor<8xf32>, tensor<16xf32>, tensor<2xf32>, tensor<16xf32>, tensor<2xf32>, tensor<16xf32>, tensor<2xf32>, tensor<8xf32>) attributes {graph.entry} {
    %h = graph.negate %x : tensor<8xf32>
    %0:3 = call @bwd(%x) : (tensor<8xf32>) -> (tensor<8xf32>, tensor<16xf32>, tensor<2xf32>)
    %1:3 = call @bwd(%0#0) : (tensor<8xf32>) -> (tensor<8xf32>, tensor<16xf32>, tensor<2xf32>)
    %2:3 = call @bwd(%1#0) : (tensor<8xf32>) -> (tensor<8xf32>, tensor<16xf32>, tensor<2xf32>)
    %t = graph.negate %2#0 : tensor<8xf32>
    %3 = dist.all_reduce %h over @mesh ["data"] combine = sum : (tensor<8xf32>) -> tensor<8xf32>
    %4 = dist.all_reduce %0#1 over @mesh ["data"] combine = sum : (tensor<16xf32>) -> tensor<16xf32>
    %5 = dist.all_reduce %0#2 over @mesh ["data"] combine = sum : (tensor<2xf32>) -> tensor<2xf32>
    %6 = dist.all_reduce %1#1 over @mesh ["data"] combine = sum : (tensor<16xf32>) -> tensor<16xf32>
    %7 = dist.all_reduce %1#2 over @mesh ["data"] combine = sum : (tensor<2xf32>) -> tensor<2xf32>
    %8 = dist.all_reduce %2#1 over @mesh ["data"] combine = sum : (tensor<16xf32>) -> tensor<16xf32>
    %9 = dist.all_reduce %2#2 over @mesh ["data"] combine = sum : (tensor<2xf32>) -> tensor<2xf32>
    %10 = dist.all_reduce %t over @mesh ["data"] combine = sum : (tensor<8xf32>) -> tensor<8xf32>
    return %3, %4, %5, %6, %7, %8, %9, %10 : tensor<8xf32>, tensor<16xf32>, tensor<2xf32>, tensor<16xf32>, tensor<2xf32>, tensor<16xf32>, tensor<2xf32>, tensor<8xf32>
  }

  // What is small against the largest waits for the next.
  // CHECK-LABEL: func.func @small
  // CHECK-COUNT-1: dist.all_reduce
  // CHECK-NOT: dist.all_reduce
  func.func @small(%x: tensor<8xf32>, %table: tensor<64xf32>) -> (tensor<2xf32>, tensor<2xf32>, tensor<64xf32>) attributes {graph.entry} {
    %0:3 = call @bwd(%x) : (tensor<8xf32>) -> (tensor<8xf32>, tensor<16xf32>, tensor<2xf32>)
    %1:3 = call @bwd(%0#0) : (tensor<8xf32>) -> (tensor<8xf32>, tensor<16xf32>, tensor<2xf32>)
    %2 = graph.concatenate %1#1, %1#1, %1#1, %1#1 dim = 0 : (tensor<16xf32>, tensor<16xf32>, tensor<16xf32>, tensor<16xf32>) -> tensor<64xf32>
    %3 = dist.all_reduce %0#2 over @mesh ["data"] combine = sum : (tensor<2xf32>) -> tensor<2xf32>
    %4 = dist.all_reduce %1#2 over @mesh ["data"] combine = sum : (tensor<2xf32>) -> tensor<2xf32>
    %5 = dist.all_reduce %2 over @mesh ["data"] combine = sum : (tensor<64xf32>) -> tensor<64xf32>
    return %3, %4, %5 : tensor<2xf32>, tensor<2xf32>, tensor<64xf32>
  }
}
