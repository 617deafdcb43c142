// RUN: minigptc-opt %s --dist-project-stages | FileCheck %s
// RUN: minigptc-opt %s --dist-project-stages --split-input-file | minigptc-opt --split-input-file | FileCheck %s

// An argument is where it is read; a constant wherever it is; what every stage has is on each.
dist.mesh @mesh = <["stage"=2, "batch"=2]>

// CHECK-LABEL: func.func @step.0(
// CHECK-SAME: %[[W0:[a-z0-9]+]]: tensor<4xf32> {dist.stages = array<i64: 0>, graph.donate = 0 : i64, graph.name = "w0"},
// CHECK-SAME: %{{.*}}: tensor<4xf32> {dist.stages = array<i64: 1>, graph.donate = 1 : i64, graph.name = "w1"},
// CHECK-SAME: %[[N:[a-z0-9]+]]: tensor<f32> {graph.donate = 2 : i64, graph.name = "n"})
// CHECK-SAME: -> (tensor<4xf32> {dist.stages = array<i64: 0>, graph.name = "w0"}, tensor<4xf32> {dist.stages = array<i64: 1>, graph.name = "w1"}, tensor<f32> {graph.name = "n"})
// CHECK-SAME: attributes {dist.stage = 0 : i64, dist.stage_of = "step", graph.entry}
// CHECK-NEXT: %[[ONE:.*]] = graph.constant
// CHECK-NEXT: %[[A:.*]] = graph.negate %[[W0]] : tensor<4xf32>
// CHECK-NEXT: dist.send %[[A]] to 1 tag = 0 : tensor<4xf32>
// CHECK-NEXT: %[[D:.*]] = dist.recv from 1 tag = 1 : tensor<4xf32>
// CHECK-NEXT: %[[E:.*]] = graph.add %[[W0]], %[[D]]
// CHECK-NEXT: %[[F:.*]] = graph.add %[[N]], %[[ONE]]
// CHECK-NEXT: %[[NO:.*]] = dist.absent : tensor<4xf32>
// CHECK-NEXT: return %[[E]], %[[NO]], %[[F]]

// CHECK-LABEL: func.func @step.1(
// CHECK-SAME: %{{.*}}: tensor<4xf32> {{.*}}, %[[W1:[a-z0-9]+]]: tensor<4xf32> {{.*}}, %[[N:[a-z0-9]+]]: tensor<f32>
// CHECK-NEXT: %[[ONE:.*]] = graph.constant
// CHECK-NEXT: %[[A:.*]] = dist.recv from 0 tag = 0 : tensor<4xf32>
// CHECK-NEXT: %[[C:.*]] = graph.multiply %[[A]], %[[W1]] : tensor<4xf32>
// CHECK-NEXT: dist.send %[[C]] to 0 tag = 1 : tensor<4xf32>
// CHECK-NEXT: %[[F:.*]] = graph.add %[[N]], %[[ONE]]
// CHECK-NEXT: %[[NO:.*]] = dist.absent : tensor<4xf32>
// CHECK-NEXT: return %[[NO]], %[[C]], %[[F]]
func.func @step(%w0: tensor<4xf32> {graph.name = "w0", graph.donate = 0 : i64},
                %w1: tensor<4xf32> {graph.name = "w1", graph.donate = 1 : i64},
                %n: tensor<f32> {graph.name = "n", graph.donate = 2 : i64})
    -> (tensor<4xf32> {graph.name = "w0"}, tensor<4xf32> {graph.name = "w1"}, tensor<f32> {graph.name = "n"})
    attributes {graph.entry} {
  %one = graph.constant dense<1.0> : tensor<f32>
  %0 = graph.negate %w0 {dist.stage = 0 : i64} : tensor<4xf32>
  %1 = dist.transfer %0 from 0 to 1 : tensor<4xf32>
  %dead = dist.transfer %0 from 0 to 1 : tensor<4xf32>
  %2 = graph.multiply %1, %w1 : tensor<4xf32>
  %3 = dist.transfer %2 from 1 to 0 : tensor<4xf32>
  %4 = graph.add %w0, %3 : tensor<4xf32>
  %5 = graph.add %n, %one : tensor<f32>
  return %4, %2, %5 : tensor<4xf32>, tensor<4xf32>, tensor<f32>
}

// A message is received right before what reads it, behind those that were sent before it.
// CHECK-LABEL: func.func @late.1(
// CHECK-NEXT: %[[A:.*]] = graph.negate %arg1
// CHECK-NEXT: %[[M0:.*]] = dist.recv from 0 tag = 0
// CHECK-NEXT: %[[M1:.*]] = dist.recv from 0 tag = 1
// CHECK-NEXT: %[[B:.*]] = graph.add %[[A]], %[[M1]]
// CHECK-NEXT: %[[C:.*]] = graph.add %[[B]], %[[M0]]
// CHECK-NEXT: return %[[C]]
func.func @late(%x: tensor<4xf32>, %y: tensor<4xf32>) -> tensor<4xf32> attributes {graph.entry} {
  %0 = graph.negate %x {dist.stage = 0 : i64} : tensor<4xf32>
  %1 = dist.transfer %0 from 0 to 1 : tensor<4xf32>
  %2 = graph.exponential %0 : tensor<4xf32>
  %3 = dist.transfer %2 from 0 to 1 : tensor<4xf32>
  %4 = graph.negate %y {dist.stage = 1 : i64} : tensor<4xf32>
  %5 = graph.add %4, %3 : tensor<4xf32>
  %6 = graph.add %5, %1 : tensor<4xf32>
  return %6 : tensor<4xf32>
}

// Both send two messages before they read one: with room for one, one of them receives the first
// before it sends the second.
// CHECK-LABEL: func.func @ring.0(
// CHECK: dist.send %{{.*}} to 1 tag = 0
// CHECK-NEXT: %{{.*}} = graph.exponential
// CHECK-NEXT: dist.send %{{.*}} to 1 tag = 1
// CHECK-NEXT: %{{.*}} = dist.recv from 1 tag = 2
// CHECK-NEXT: %{{.*}} = dist.recv from 1 tag = 3
// CHECK-LABEL: func.func @ring.1(
// CHECK: dist.send %{{.*}} to 0 tag = 2
// CHECK-NEXT: %{{.*}} = graph.exponential
// CHECK-NEXT: %{{.*}} = dist.recv from 0 tag = 0
// CHECK-NEXT: dist.send %{{.*}} to 0 tag = 3
// CHECK-NEXT: %{{.*}} = dist.recv from 0 tag = 1
func.func @ring(%x: tensor<4xf32>, %y: tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>) attributes {graph.entry} {
  %a = graph.negate %x {dist.stage = 0 : i64} : tensor<4xf32>
  %a1 = dist.transfer %a from 0 to 1 : tensor<4xf32>
  %b = graph.exponential %a : tensor<4xf32>
  %b1 = dist.transfer %b from 0 to 1 : tensor<4xf32>
  %c = graph.negate %y {dist.stage = 1 : i64} : tensor<4xf32>
  %c0 = dist.transfer %c from 1 to 0 : tensor<4xf32>
  %d = graph.exponential %c : tensor<4xf32>
  %d0 = dist.transfer %d from 1 to 0 : tensor<4xf32>
  %e = graph.add %c0, %d0 : tensor<4xf32>
  %f = graph.add %a1, %b1 : tensor<4xf32>
  return %e, %f : tensor<4xf32>, tensor<4xf32>
}

// A parameter of two stages is on one, which sends it, and gets the other's gradient.
// CHECK-LABEL: func.func @tied.0(
// CHECK-NEXT: dist.send %arg0 to 1 tag = 0
// CHECK-LABEL: func.func @tied.1(
// CHECK-SAME: %{{.*}}: tensor<4xf32> {dist.stages = array<i64: 0>
// CHECK-NEXT: %[[W:.*]] = dist.recv from 0 tag = 0
// CHECK-NEXT: %[[D:.*]] = graph.exponential %[[W]]
// CHECK-NEXT: dist.send %[[D]] to 0 tag = 1
func.func @tied(%w: tensor<4xf32> {graph.donate = 0 : i64, dist.stages = array<i64: 0>}) -> tensor<4xf32> attributes {graph.entry} {
  %0 = dist.transfer %w from 0 to 1 : tensor<4xf32>
  %1 = graph.exponential %0 : tensor<4xf32>
  %2 = dist.transfer %1 from 1 to 0 : tensor<4xf32>
  %3 = graph.add %w, %2 : tensor<4xf32>
  return %3 : tensor<4xf32>
}

// An entry that says nothing of stages is the same on all; one may only say where its results are.
// CHECK-LABEL: func.func @whole(
// CHECK-LABEL: func.func @init.0(
// CHECK: graph.constant dense<1.0
// CHECK-NEXT: dist.absent
// CHECK-LABEL: func.func @init.1(
// CHECK: graph.constant dense<2.0
// CHECK-NEXT: dist.absent
func.func @whole(%x: tensor<4xf32>) -> tensor<4xf32> attributes {graph.entry} {
  return %x : tensor<4xf32>
}
func.func @init() -> (tensor<4xf32> {dist.stages = array<i64: 0>}, tensor<4xf32> {dist.stages = array<i64: 1>})
    attributes {graph.entry} {
  %0 = graph.constant dense<1.0> : tensor<4xf32>
  %1 = graph.constant dense<2.0> : tensor<4xf32>
  return %0, %1 : tensor<4xf32>, tensor<4xf32>
}
