// RUN: minigptc-opt %s --graph-infer-index-bounds -allow-unregistered-dialect | FileCheck %s
// RUN: minigptc-opt %s --graph-infer-index-bounds | minigptc-opt | FileCheck %s

// Through reshape, transpose, broadcast and convert, in place: the whole argument.
// CHECK-LABEL: func.func @moved
// CHECK-SAME: %{{.*}}: tensor<2x3xi64> {graph.index_bound = 10 : i64, graph.name = "ids"}
func.func @moved(%table: tensor<10x4xf32> {graph.name = "table"}, %ids: tensor<2x3xi64> {graph.name = "ids"})
    -> tensor<5x6x4xf32> attributes {graph.entry} {
  %0 = graph.convert %ids : (tensor<2x3xi64>) -> tensor<2x3xi32>
  %1 = graph.transpose %0, dims = [1, 0] : (tensor<2x3xi32>) -> tensor<3x2xi32>
  %2 = graph.reshape %1 : (tensor<3x2xi32>) -> tensor<6xi32>
  %3 = graph.broadcast_in_dim %2, dims = [1] : (tensor<6xi32>) -> tensor<5x6xi32>
  %4 = graph.embedding %table, %3 : (tensor<10x4xf32>, tensor<5x6xi32>) -> tensor<5x6x4xf32>
  return %4 : tensor<5x6x4xf32>
}

// Tokens and their successors in one argument, the latter with an index to ignore; a
// bound that is said is left, a computed index has none.
// CHECK-LABEL: func.func @parts
// CHECK-SAME: %{{.*}}: tensor<2x9xi32> {graph.index_checks = [
// CHECK-SAME: #graph.index_check<12 or -100 in [0, 1] : [2, 9] : [1, 1]>
// CHECK-SAME: #graph.index_check<10 in [0, 0] : [2, 7] : [1, 2]>
// CHECK-SAME: tensor<4xi32> {graph.index_bound = 3 : i64}
// CHECK-SAME: tensor<4xi32>)
func.func @parts(%table: tensor<10x4xf32>, %batch: tensor<2x9xi32>, %said: tensor<4xi32> {graph.index_bound = 3 : i64},
    %computed: tensor<4xi32>) -> (tensor<2x4x4xf32>, tensor<2x8xf32>, tensor<4x4xf32>, tensor<4x4xf32>)
    attributes {graph.entry} {
  %x = graph.slice %batch [0, 0] : [2, 8] : [1, 2] : (tensor<2x9xi32>) -> tensor<2x4xi32>
  %0 = graph.embedding %table, %x : (tensor<10x4xf32>, tensor<2x4xi32>) -> tensor<2x4x4xf32>
  %y = graph.slice %batch [0, 1] : [2, 9] : [1, 1] : (tensor<2x9xi32>) -> tensor<2x8xi32>
  %logits = graph.constant dense<0.0> : tensor<2x8x12xf32>
  %1 = graph.softmax_cross_entropy %logits, %y ignore -100 : (tensor<2x8x12xf32>, tensor<2x8xi32>) -> tensor<2x8xf32>
  %2 = graph.embedding %table, %said : (tensor<10x4xf32>, tensor<4xi32>) -> tensor<4x4xf32>
  %z = graph.multiply %computed, %said : tensor<4xi32>
  %3 = graph.embedding %table, %z : (tensor<10x4xf32>, tensor<4xi32>) -> tensor<4x4xf32>
  return %0, %1, %2, %3 : tensor<2x4x4xf32>, tensor<2x8xf32>, tensor<4x4xf32>, tensor<4x4xf32>
}

// Every third of a concatenation: elements 0 and 3 of one, 2 of the other. Two tables:
// the smaller one's bound for the whole, no check that it implies.
// CHECK-LABEL: func.func @concatenated
// CHECK-SAME: %{{[a-z0-9]+}}: tensor<4xi32> {graph.index_checks = [#graph.index_check<10 in [0] : [4] : [3]>]}
// CHECK-SAME: %{{[a-z0-9]+}}: tensor<4xi32> {graph.index_bound = 6 : i64}
func.func @concatenated(%table: tensor<10x4xf32>, %a: tensor<4xi32>, %b: tensor<4xi32>, %small: tensor<6x4xf32>)
    -> (tensor<3x4xf32>, tensor<4x4xf32>) attributes {graph.entry} {
  %all = graph.concatenate %a, %b dim = 0 : (tensor<4xi32>, tensor<4xi32>) -> tensor<8xi32>
  %x = graph.slice %all [0] : [8] : [3] : (tensor<8xi32>) -> tensor<3xi32>
  %0 = graph.embedding %table, %x : (tensor<10x4xf32>, tensor<3xi32>) -> tensor<3x4xf32>
  %1 = graph.embedding %small, %b : (tensor<6x4xf32>, tensor<4xi32>) -> tensor<4x4xf32>
  return %0, %1 : tensor<3x4xf32>, tensor<4x4xf32>
}

// Through functions and gradients; functions that are no entries stay as they are.
// CHECK-LABEL: func.func private @look
// CHECK-NOT: graph.index
// CHECK-LABEL: func.func @called
// CHECK-SAME: tensor<4xi32> {graph.index_bound = 10 : i64}
// CHECK-SAME: tensor<4xi32> {graph.index_bound = 10 : i64}
func.func private @look(%table: tensor<10x4xf32>, %ids: tensor<4xi32>) -> tensor<4x4xf32> {
  %0 = graph.embedding %table, %ids : (tensor<10x4xf32>, tensor<4xi32>) -> tensor<4x4xf32>
  return %0 : tensor<4x4xf32>
}
func.func @called(%table: tensor<10x4xf32>, %a: tensor<4xi32>, %b: tensor<4xi32>)
    -> (tensor<4x4xf32>, tensor<10x4xf32>) attributes {graph.entry} {
  %0 = call @look(%table, %a) : (tensor<10x4xf32>, tensor<4xi32>) -> tensor<4x4xf32>
  %1, %2 = graph.vjp @look(%table, %b) cotangents(%0) wrt [0]
      : (tensor<10x4xf32>, tensor<4xi32>), (tensor<4x4xf32>) -> (tensor<4x4xf32>, tensor<10x4xf32>)
  return %1, %2 : tensor<4x4xf32>, tensor<10x4xf32>
}
