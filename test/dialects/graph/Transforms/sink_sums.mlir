// RUN: minigptc-opt %s --graph-sink-sums --split-input-file | FileCheck %s
// RUN: minigptc-opt %s --graph-sink-sums --split-input-file | minigptc-opt --split-input-file --verify-each

// What a loop carries goes down to where layers make their gradients; the product goes on in its
// memory. A number stays where it is.
// CHECK-LABEL: func private @product
// CHECK-SAME: %[[X:.*]]: tensor<4x8xf32>, %[[D:.*]]: tensor<4x8xf32>, %[[B:.*]]: tensor<8x8xf32> {graph.donate = 0 : i64})
// CHECK-NEXT: %[[W:.*]] = graph.dot_general %[[X]], %[[D]]
// CHECK-NEXT: %[[SUM:.*]] = graph.add %[[B]], %[[W]]
// CHECK-NEXT: graph.reduce
// CHECK: return %[[SUM]], %{{.*}} : tensor<8x8xf32>, tensor<f32>
func.func private @product(%x: tensor<4x8xf32>, %d: tensor<4x8xf32>) -> (tensor<8x8xf32>, tensor<f32>) {
  %w = graph.dot_general %x, %d, batching_dims = [] x [], contracting_dims = [0] x [0] : (tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<8x8xf32>
  %l = graph.reduce sum, %d, dims = [0, 1] : (tensor<4x8xf32>) -> tensor<f32>
  return %w, %l : tensor<8x8xf32>, tensor<f32>
}
// CHECK-LABEL: func private @layers
// CHECK-SAME: %[[X:.*]]: tensor<4x8xf32>, %[[D:.*]]: tensor<4x8xf32>, %[[A:.*]]: tensor<8x8xf32> {graph.donate = 0 : i64}, %[[B:.*]]: tensor<8x8xf32> {graph.donate = 1 : i64})
// CHECK: call @product(%[[X]], %[[D]], %[[A]])
// CHECK: call @product(%[[D]], %[[X]], %[[B]])
// CHECK: return
func.func private @layers(%x: tensor<4x8xf32>, %d: tensor<4x8xf32>) -> (tensor<8x8xf32>, tensor<8x8xf32>, tensor<f32>) {
  %a, %l = call @product(%x, %d) : (tensor<4x8xf32>, tensor<4x8xf32>) -> (tensor<8x8xf32>, tensor<f32>)
  %b, %m = call @product(%d, %x) : (tensor<4x8xf32>, tensor<4x8xf32>) -> (tensor<8x8xf32>, tensor<f32>)
  %lm = graph.add %l, %m : tensor<f32>
  return %a, %b, %lm : tensor<8x8xf32>, tensor<8x8xf32>, tensor<f32>
}
// CHECK-LABEL: func private @body
// CHECK-SAME: %[[A:.*]]: tensor<8x8xf32> {graph.donate = 0 : i64}, %[[B:.*]]: tensor<8x8xf32> {graph.donate = 1 : i64}, %[[L:.*]]: tensor<f32> {graph.donate = 2 : i64},
// CHECK: %[[R:.*]]:3 = call @layers(%{{.*}}, %{{.*}}, %[[A]], %[[B]])
// CHECK: %[[N:.*]] = graph.add %[[L]], %[[R]]#2
// CHECK: return %[[R]]#0, %[[R]]#1, %[[N]]
func.func private @body(%a: tensor<8x8xf32> {graph.donate = 0 : i64}, %b: tensor<8x8xf32> {graph.donate = 1 : i64}, %l: tensor<f32> {graph.donate = 2 : i64}, %x: tensor<4x8xf32>) -> (tensor<8x8xf32>, tensor<8x8xf32>, tensor<f32>) {
  %0:3 = call @layers(%x, %x) : (tensor<4x8xf32>, tensor<4x8xf32>) -> (tensor<8x8xf32>, tensor<8x8xf32>, tensor<f32>)
  %1 = graph.add %a, %0#0 : tensor<8x8xf32>
  %2 = graph.add %0#1, %b : tensor<8x8xf32>
  %3 = graph.add %l, %0#2 : tensor<f32>
  return %1, %2, %3 : tensor<8x8xf32>, tensor<8x8xf32>, tensor<f32>
}
func.func @step(%x: tensor<16x8xf32>) -> (tensor<8x8xf32>, tensor<8x8xf32>, tensor<f32>) attributes {graph.entry} {
  %zero = graph.constant dense<0.0> : tensor<8x8xf32>
  %none = graph.constant dense<0.0> : tensor<f32>
  %0:3 = graph.scan @body() carried(%zero, %zero, %none) cut(%x) count = 4 : (tensor<8x8xf32>, tensor<8x8xf32>, tensor<f32>, tensor<16x8xf32>) -> (tensor<8x8xf32>, tensor<8x8xf32>, tensor<f32>)
  return %0#0, %0#1, %0#2 : tensor<8x8xf32>, tensor<8x8xf32>, tensor<f32>
}

// -----

// Tasks of a stage: the first one begins with zeros, the others go on. What is narrow is widened before it is added.
// CHECK-LABEL: func private @task
// CHECK-SAME: %[[X:.*]]: tensor<8x8xbf16>, %[[S:.*]]: tensor<8x8xf32> {graph.donate = 0 : i64}) -> (tensor<8x8xf32>, tensor<8x8xbf16>)
// CHECK-NEXT: %[[N:.*]] = graph.negate %[[X]]
// CHECK-NEXT: %[[W:.*]] = graph.convert %[[N]]
// CHECK-NEXT: %[[R:.*]] = graph.add %[[S]], %[[W]]
// CHECK: return %[[R]],
func.func private @task(%x: tensor<8x8xbf16>) -> (tensor<8x8xbf16>, tensor<8x8xbf16>) {
  %0 = graph.negate %x : tensor<8x8xbf16>
  %1 = graph.multiply %x, %x : tensor<8x8xbf16>
  return %0, %1 : tensor<8x8xbf16>, tensor<8x8xbf16>
}
// CHECK-LABEL: func @step
// CHECK: %[[ZERO:.*]] = graph.constant dense<0.000000e+00> : tensor<8x8xf32>
// CHECK: %[[A:.*]]:2 = call @task(%{{.*}}, %[[ZERO]])
// CHECK: %[[B:.*]]:2 = call @task(%[[A]]#1, %[[A]]#0)
// CHECK: %[[C:.*]]:2 = call @task(%[[B]]#1, %[[B]]#0)
// CHECK-NOT: graph.add
// CHECK: return %[[C]]#0, %[[C]]#1
func.func @step(%x: tensor<8x8xbf16>) -> (tensor<8x8xf32>, tensor<8x8xbf16>) attributes {graph.entry} {
  %a:2 = call @task(%x) : (tensor<8x8xbf16>) -> (tensor<8x8xbf16>, tensor<8x8xbf16>)
  %a1 = graph.convert %a#0 : (tensor<8x8xbf16>) -> tensor<8x8xf32>
  %b:2 = call @task(%a#1) : (tensor<8x8xbf16>) -> (tensor<8x8xbf16>, tensor<8x8xbf16>)
  %b1 = graph.convert %b#0 : (tensor<8x8xbf16>) -> tensor<8x8xf32>
  %ab = graph.add %a1, %b1 : tensor<8x8xf32>
  %c:2 = call @task(%b#1) : (tensor<8x8xbf16>) -> (tensor<8x8xbf16>, tensor<8x8xbf16>)
  %c1 = graph.convert %c#0 : (tensor<8x8xbf16>) -> tensor<8x8xf32>
  %abc = graph.add %ab, %c1 : tensor<8x8xf32>
  return %abc, %c#1 : tensor<8x8xf32>, tensor<8x8xbf16>
}

// -----

// Memory that somebody reads afterwards, or that is the caller's, is not added to; nor does a
// function add to what it gives in memory anyway, or gets.
// CHECK-LABEL: func private @made(%{{.*}}: tensor<8xf32>) -> (tensor<8xf32>, tensor<8xf32>, tensor<8xf32>)
dist.mesh @mesh = <["data"=2]>
func.func private @made(%x: tensor<8xf32>) -> (tensor<8xf32>, tensor<8xf32>, tensor<8xf32>) {
  %0 = graph.negate %x : tensor<8xf32>
  %1 = dist.all_reduce %0 over @mesh ["data"] combine = sum : (tensor<8xf32>) -> (tensor<8xf32>)
  return %0, %1, %x : tensor<8xf32>, tensor<8xf32>, tensor<8xf32>
}
// CHECK-LABEL: func @readers
// CHECK-COUNT-3: graph.add
func.func @readers(%x: tensor<8xf32>, %s: tensor<8xf32>, %t: tensor<8xf32> {graph.donate = 1 : i64}, %u: tensor<8xf32> {graph.donate = 2 : i64}) -> (tensor<8xf32>, tensor<8xf32>, tensor<8xf32>) attributes {graph.entry} {
  %0:3 = call @made(%x) : (tensor<8xf32>) -> (tensor<8xf32>, tensor<8xf32>, tensor<8xf32>)
  %1 = graph.add %s, %0#0 : tensor<8xf32>
  %2 = graph.add %t, %0#1 : tensor<8xf32>
  %3 = graph.add %u, %0#2 : tensor<8xf32>
  return %1, %2, %3 : tensor<8xf32>, tensor<8xf32>, tensor<8xf32>
}

// -----

// CHECK-LABEL: func private @read
// CHECK-SAME: (%{{.*}}: tensor<8xf32>) -> tensor<8xf32>
func.func private @read(%x: tensor<8xf32>) -> tensor<8xf32> {
  %0 = graph.negate %x : tensor<8xf32>
  return %0 : tensor<8xf32>
}
// CHECK-LABEL: func @read_later
// CHECK: graph.add
func.func @read_later(%x: tensor<8xf32>, %s: tensor<8xf32> {graph.donate = 0 : i64}) -> (tensor<8xf32>, tensor<8xf32>) attributes {graph.entry} {
  %0 = call @read(%x) : (tensor<8xf32>) -> tensor<8xf32>
  %1 = graph.add %s, %0 : tensor<8xf32>
  %2 = graph.sine %s : tensor<8xf32>
  return %1, %2 : tensor<8xf32>, tensor<8xf32>
}

// -----

// A function that others call without adding anything stays as it is.
// CHECK-LABEL: func private @shared(%{{.*}}: tensor<8xf32>) -> tensor<8xf32>
func.func private @shared(%x: tensor<8xf32>) -> tensor<8xf32> {
  %0 = graph.negate %x : tensor<8xf32>
  return %0 : tensor<8xf32>
}
func.func @others(%x: tensor<8xf32>, %s: tensor<8xf32> {graph.donate = 0 : i64}) -> (tensor<8xf32>, tensor<8xf32>, tensor<8xf32>) attributes {graph.entry} {
  %0 = call @shared(%x) : (tensor<8xf32>) -> tensor<8xf32>
  %1 = graph.add %s, %0 : tensor<8xf32>
  %2 = call @shared(%1) : (tensor<8xf32>) -> tensor<8xf32>
  %3 = call @shared(%2) : (tensor<8xf32>) -> tensor<8xf32>
  return %1, %2, %3 : tensor<8xf32>, tensor<8xf32>, tensor<8xf32>
}

// -----

// A loop goes on from what its sum is added to; one that sums nothing does not.
func.func private @rows(%s: tensor<8xf32> {graph.donate = 0 : i64}, %x: tensor<16xf32>) -> tensor<8xf32> {
  %0 = graph.slice %x [0] : [8] : [1] : (tensor<16xf32>) -> tensor<8xf32>
  %1 = graph.add %s, %0 : tensor<8xf32>
  return %1 : tensor<8xf32>
}
func.func private @powers(%s: tensor<8xf32> {graph.donate = 0 : i64}, %x: tensor<16xf32>) -> tensor<8xf32> {
  %0 = graph.multiply %s, %s : tensor<8xf32>
  return %0 : tensor<8xf32>
}
// CHECK-LABEL: func @loops
// CHECK-SAME: %[[X:.*]]: tensor<32xf32>, %[[S:.*]]: tensor<8xf32> {graph.donate = 0 : i64}, %[[T:.*]]: tensor<8xf32>
// CHECK: %[[ZERO:.*]] = graph.constant
// CHECK: %[[A:.*]] = graph.scan @rows() carried(%[[S]])
// CHECK: %[[B:.*]] = graph.scan @powers() carried(%[[ZERO]])
// CHECK: %[[C:.*]] = graph.add %[[T]], %[[B]]
// CHECK: return %[[A]], %[[C]]
func.func @loops(%x: tensor<32xf32>, %s: tensor<8xf32> {graph.donate = 0 : i64}, %t: tensor<8xf32> {graph.donate = 1 : i64}) -> (tensor<8xf32>, tensor<8xf32>) attributes {graph.entry} {
  %zero = graph.constant dense<0.0> : tensor<8xf32>
  %0 = graph.scan @rows() carried(%zero) cut(%x) count = 2 : (tensor<8xf32>, tensor<32xf32>) -> (tensor<8xf32>)
  %1 = graph.add %s, %0 : tensor<8xf32>
  %2 = graph.scan @powers() carried(%zero) cut(%x) count = 2 : (tensor<8xf32>, tensor<32xf32>) -> (tensor<8xf32>)
  %3 = graph.add %t, %2 : tensor<8xf32>
  return %1, %3 : tensor<8xf32>, tensor<8xf32>
}
