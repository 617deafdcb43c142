// RUN: minigptc-opt %s --graph-hoist-invariants | FileCheck %s
// RUN: minigptc-opt %s --run > %t.before
// RUN: minigptc-opt %s --graph-hoist-invariants | minigptc-opt --run > %t.after
// RUN: test -s %t.before && diff %t.before %t.after

// What is made of a constant comes before the loop, with what it is made by. What reads the carried
// value or a part stays; so do a mask, a broadcast and a transposition, which kernels compute on their way.
// CHECK-LABEL: func private @body
// CHECK-SAME: (%[[W:.*]]: tensor<2x2xf32>, %[[V:.*]]: tensor<2xf32>, %[[T:.*]]: tensor<2x2xf32>, %[[S:.*]]: tensor<2x2xf32> {graph.donate = 0 : i64}, %[[X:.*]]: tensor<1x2xf32>)
// CHECK-NEXT: graph.iota
// CHECK-NEXT: graph.broadcast_in_dim %[[V]]
// CHECK-NEXT: graph.transpose %[[W]]
// CHECK-NEXT: graph.tanh %[[S]]
// CHECK-NEXT: graph.multiply %{{.*}}, %[[T]]
// CHECK-NOT: graph.exponential
// CHECK: return
func.func private @body(%w: tensor<2x2xf32>, %v: tensor<2xf32>, %s: tensor<2x2xf32> {graph.donate = 0 : i64}, %x: tensor<1x2xf32>) -> tensor<2x2xf32> {
  %e = graph.exponential %w : tensor<2x2xf32>
  %t = graph.tanh %e : tensor<2x2xf32>
  %i = graph.iota dim = 0 : tensor<2x2xf32>
  %b = graph.broadcast_in_dim %v, dims = [1] : (tensor<2xf32>) -> tensor<2x2xf32>
  %p = graph.transpose %w, dims = [1, 0] : (tensor<2x2xf32>) -> tensor<2x2xf32>
  %0 = graph.tanh %s : tensor<2x2xf32>
  %1 = graph.multiply %0, %t : tensor<2x2xf32>
  %2 = graph.add %1, %i : tensor<2x2xf32>
  %3 = graph.add %2, %b : tensor<2x2xf32>
  %4 = graph.add %3, %p : tensor<2x2xf32>
  %y = graph.broadcast_in_dim %x, dims = [0, 1] : (tensor<1x2xf32>) -> tensor<2x2xf32>
  %5 = graph.add %4, %y : tensor<2x2xf32>
  return %5 : tensor<2x2xf32>
}
// CHECK-LABEL: func @test_body
// CHECK: %[[E:.*]] = graph.exponential %[[A:.*]] :
// CHECK-NEXT: %[[T:.*]] = graph.tanh %[[E]]
// CHECK-NEXT: graph.scan @body(%[[A]], %{{.*}}, %[[T]]) carried(
func.func @test_body() -> tensor<2x2xf32> {
  %w = graph.constant dense<[[0.5, -1.0], [0.25, 2.0]]> : tensor<2x2xf32>
  %v = graph.constant dense<[1.0, 3.0]> : tensor<2xf32>
  %x = graph.constant dense<[[0.0, 1.0], [2.0, 3.0], [4.0, 5.0]]> : tensor<3x2xf32>
  %0 = graph.scan @body(%w, %v) carried(%w) cut(%x) count = 3 : (tensor<2x2xf32>, tensor<2xf32>, tensor<2x2xf32>, tensor<3x2xf32>) -> tensor<2x2xf32>
  return %0 : tensor<2x2xf32>
}

// Out of two loops, each of which is called by other loops with other constants; a call goes like an op. What is
// larger than what it is made of stays, and what it is made of, if that is something, goes.
func.func private @squared(%w: tensor<2xf32>) -> tensor<2xf32> {
  %0 = graph.multiply %w, %w : tensor<2xf32>
  return %0 : tensor<2xf32>
}
// CHECK-LABEL: func private @inner
// CHECK-SAME: (%{{.*}}: tensor<2xf32>, %[[Q:.*]]: tensor<2xf32>, %{{.*}}: tensor<4x2xf32> {graph.donate = 0 : i64})
// CHECK-NEXT: %[[B:.*]] = graph.broadcast_in_dim %[[Q]]
// CHECK-NEXT: %[[E:.*]] = graph.exponential %[[B]]
// CHECK-NEXT: graph.multiply %{{.*}}, %[[E]]
func.func private @inner(%w: tensor<2xf32>, %s: tensor<4x2xf32> {graph.donate = 0 : i64}) -> tensor<4x2xf32> {
  %q = call @squared(%w) : (tensor<2xf32>) -> tensor<2xf32>
  %b = graph.broadcast_in_dim %q, dims = [1] : (tensor<2xf32>) -> tensor<4x2xf32>
  %e = graph.exponential %b : tensor<4x2xf32>
  %0 = graph.multiply %s, %e : tensor<4x2xf32>
  return %0 : tensor<4x2xf32>
}
// CHECK-LABEL: func private @outer
// CHECK-SAME: (%[[W:.*]]: tensor<2xf32>, %[[Q:.*]]: tensor<2xf32>, %[[S:.*]]: tensor<4x2xf32>
// CHECK-NEXT: graph.scan @inner(%[[W]], %[[Q]]) carried(%[[S]])
func.func private @outer(%w: tensor<2xf32>, %s: tensor<4x2xf32> {graph.donate = 0 : i64}) -> tensor<4x2xf32> {
  %0 = graph.scan @inner(%w) carried(%s) cut() count = 2 : (tensor<2xf32>, tensor<4x2xf32>) -> tensor<4x2xf32>
  return %0 : tensor<4x2xf32>
}
// CHECK-LABEL: func @test_nested
// CHECK: %[[Q:.*]] = call @squared(%[[W:.*]]) :
// CHECK-NEXT: graph.scan @outer(%[[W]], %[[Q]])
// CHECK: %[[R:.*]] = call @squared(%[[V:.*]]) :
// CHECK-NEXT: graph.scan @inner(%[[V]], %[[R]])
func.func @test_nested() -> tensor<4x2xf32> {
  %w = graph.constant dense<[0.5, -1.0]> : tensor<2xf32>
  %v = graph.constant dense<[0.25, 0.75]> : tensor<2xf32>
  %s = graph.constant dense<1.0> : tensor<4x2xf32>
  %0 = graph.scan @outer(%w) carried(%s) cut() count = 2 : (tensor<2xf32>, tensor<4x2xf32>) -> tensor<4x2xf32>
  %1 = graph.scan @inner(%v) carried(%0) cut() count = 3 : (tensor<2xf32>, tensor<4x2xf32>) -> tensor<4x2xf32>
  return %1 : tensor<4x2xf32>
}

// What prints stays, and prints in each round.
func.func private @shown(%w: tensor<2xf32>) -> tensor<2xf32> {
  %0 = graph.exponential %w : tensor<2xf32>
  graph.print ["shown ", ""] (%0 : tensor<2xf32>)
  return %0 : tensor<2xf32>
}
func.func private @shown_round(%s: tensor<2xf32> {graph.donate = 0 : i64}) -> tensor<2xf32> {
  graph.print ["round ", ""] (%s : tensor<2xf32>)
  %0 = graph.tanh %s : tensor<2xf32>
  return %0 : tensor<2xf32>
}
// CHECK-LABEL: func private @printing
// CHECK-NEXT: call @shown(
// CHECK-NEXT: graph.scan @shown_round(
func.func private @printing(%w: tensor<2xf32>, %s: tensor<2xf32> {graph.donate = 0 : i64}) -> tensor<2xf32> {
  %0 = call @shown(%w) : (tensor<2xf32>) -> tensor<2xf32>
  %1 = graph.scan @shown_round() carried(%w) cut() count = 2 : (tensor<2xf32>) -> tensor<2xf32>
  %2 = graph.add %0, %1 : tensor<2xf32>
  %3 = graph.multiply %s, %2 : tensor<2xf32>
  return %3 : tensor<2xf32>
}
// CHECK-LABEL: func @test_printing
// CHECK-NOT: @shown
// CHECK: return
func.func @test_printing() -> tensor<2xf32> {
  %w = graph.constant dense<[0.5, -1.0]> : tensor<2xf32>
  %s = graph.constant dense<1.0> : tensor<2xf32>
  %0 = graph.scan @printing(%w) carried(%s) cut() count = 2 : (tensor<2xf32>, tensor<2xf32>) -> tensor<2xf32>
  return %0 : tensor<2xf32>
}
