// RUN: minigptc-opt %s --split-input-file --dist-peel-collectives | FileCheck %s

module attributes {dist.overlap} {
  dist.mesh @mesh = <["data"=4]>

  // The gather of a weight stands before the calls, the scatter of its gradient behind; what is in
  // between stays. The weight's part is no argument any more, as nothing else reads it.
  // CHECK-LABEL: func.func private @layer(
  // CHECK-SAME: %[[X:.*]]: tensor<8xf32>, %[[ALL:.*]]: tensor<8x8xf32>) -> (tensor<8xf32>, tensor<8x8xf32>, tensor<8xf32>)
  // CHECK-NEXT: %[[Y:.*]] = graph.dot_general %[[ALL]], %[[X]]
  // CHECK-NEXT: %[[S:.*]] = dist.all_reduce %[[Y]]
  // CHECK-NEXT: %[[Z:.*]] = graph.negate %[[S]]
  // CHECK-NEXT: %[[G:.*]] = graph.add %[[ALL]], %[[ALL]]
  // CHECK-NEXT: return %[[Z]], %[[G]], %[[Z]] :
  func.func private @layer(%x: tensor<8xf32>, %w: tensor<2x8xf32>) -> (tensor<8xf32>, tensor<2x8xf32>, tensor<8x8xf32>, tensor<8xf32>) {
    %all = dist.all_gather %w over @mesh ["data"] dims = [0] : (tensor<2x8xf32>) -> tensor<8x8xf32>
    %y = graph.dot_general %all, %x, batching_dims = [] x [], contracting_dims = [1] x [0] : (tensor<8x8xf32>, tensor<8xf32>) -> tensor<8xf32>
    %sum = dist.all_reduce %y over @mesh ["data"] combine = sum : (tensor<8xf32>) -> tensor<8xf32>
    %z = graph.negate %sum : tensor<8xf32>
    %g = graph.add %all, %all : tensor<8x8xf32>
    %part = dist.reduce_scatter %g over @mesh ["data"] combine = sum dims = [0] : (tensor<8x8xf32>) -> tensor<2x8xf32>
    return %z, %part, %g, %z : tensor<8xf32>, tensor<2x8xf32>, tensor<8x8xf32>, tensor<8xf32>
  }

  // CHECK-LABEL: func.func @main
  // CHECK: %[[A:.*]] = dist.all_gather %arg1
  // CHECK: %[[R:.*]]:3 = call @layer(%arg0, %[[A]])
  // CHECK: %[[P:.*]] = dist.reduce_scatter %[[R]]#1
  // CHECK: %[[B:.*]] = dist.all_gather %arg2
  // CHECK: %[[Q:.*]]:3 = call @layer(%[[R]]#0, %[[B]])
  // CHECK: %[[O:.*]] = dist.reduce_scatter %[[Q]]#1
  // CHECK: return %[[Q]]#2, %[[P]], %[[O]], %[[Q]]#1
  func.func @main(%x: tensor<8xf32>, %v: tensor<2x8xf32>, %w: tensor<2x8xf32>) -> (tensor<8xf32>, tensor<2x8xf32>, tensor<2x8xf32>, tensor<8x8xf32>) attributes {graph.entry} {
    %0:4 = call @layer(%x, %v) : (tensor<8xf32>, tensor<2x8xf32>) -> (tensor<8xf32>, tensor<2x8xf32>, tensor<8x8xf32>, tensor<8xf32>)
    %1:4 = call @layer(%0#0, %w) : (tensor<8xf32>, tensor<2x8xf32>) -> (tensor<8xf32>, tensor<2x8xf32>, tensor<8x8xf32>, tensor<8xf32>)
    return %1#3, %0#1, %1#1, %1#2 : tensor<8xf32>, tensor<2x8xf32>, tensor<2x8xf32>, tensor<8x8xf32>
  }
}

// -----

module attributes {dist.overlap} {
  dist.mesh @mesh = <["data"=4]>

  // Through two functions.
  // CHECK-LABEL: func.func private @inner(
  // CHECK-SAME: tensor<8xf32>) -> tensor<8xf32>
  // CHECK-NOT: all_gather
  func.func private @inner(%w: tensor<2xf32>) -> tensor<8xf32> {
    %all = dist.all_gather %w over @mesh ["data"] dims = [0] : (tensor<2xf32>) -> tensor<8xf32>
    %y = graph.negate %all : tensor<8xf32>
    return %y : tensor<8xf32>
  }
  // CHECK-LABEL: func.func private @outer(
  // CHECK-NOT: all_gather
  // CHECK-LABEL: func.func @main
  // CHECK: dist.all_gather %arg0
  // CHECK: call @outer
  func.func private @outer(%w: tensor<2xf32>) -> tensor<8xf32> {
    %0 = call @inner(%w) : (tensor<2xf32>) -> tensor<8xf32>
    return %0 : tensor<8xf32>
  }
  func.func @main(%w: tensor<2xf32>) -> tensor<8xf32> attributes {graph.entry} {
    %0 = call @outer(%w) : (tensor<2xf32>) -> tensor<8xf32>
    return %0 : tensor<8xf32>
  }
}

// -----

// Unless the module wants it.
// CHECK-LABEL: func.func private @layer
// CHECK: dist.all_gather
dist.mesh @mesh = <["data"=4]>
func.func private @layer(%w: tensor<2xf32>) -> tensor<8xf32> {
  %all = dist.all_gather %w over @mesh ["data"] dims = [0] : (tensor<2xf32>) -> tensor<8xf32>
  %y = graph.negate %all : tensor<8xf32>
  return %y : tensor<8xf32>
}
func.func @main(%w: tensor<2xf32>) -> tensor<8xf32> attributes {graph.entry} {
  %0 = call @layer(%w) : (tensor<2xf32>) -> tensor<8xf32>
  return %0 : tensor<8xf32>
}

// -----

module attributes {dist.overlap} {
  dist.mesh @mesh = <["data"=4]>

  // A result that takes over an argument's memory has another number when the one before it has gone.
  // CHECK-LABEL: func.func private @layer(
  // CHECK-SAME: %{{.*}}: tensor<8xf32>, %{{.*}}: tensor<8xf32> {graph.donate = 0 : i64}) -> (tensor<8xf32>, tensor<8xf32>)
  // CHECK: return %[[SUM:.*]], %[[G:.*]] :
  // CHECK-LABEL: func.func @main
  // CHECK: %[[R:.*]]:2 = call @layer(
  // CHECK: dist.reduce_scatter %[[R]]#1
  func.func private @layer(%g: tensor<8xf32>, %sum: tensor<8xf32> {graph.donate = 1 : i64}) -> (tensor<2xf32>, tensor<8xf32>) {
    %n = graph.negate %g : tensor<8xf32>
    %part = dist.reduce_scatter %n over @mesh ["data"] combine = sum dims = [0] : (tensor<8xf32>) -> tensor<2xf32>
    %next = graph.add %sum, %g : tensor<8xf32>
    return %part, %next : tensor<2xf32>, tensor<8xf32>
  }
  func.func @main(%g: tensor<8xf32>, %s: tensor<8xf32>) -> (tensor<2xf32>, tensor<8xf32>) attributes {graph.entry} {
    %0:2 = call @layer(%g, %s) : (tensor<8xf32>, tensor<8xf32>) -> (tensor<2xf32>, tensor<8xf32>)
    return %0#0, %0#1 : tensor<2xf32>, tensor<8xf32>
  }
}
