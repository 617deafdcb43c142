// RUN: minigptc-opt %s --dist-assign-stages --split-input-file | FileCheck %s

// The loop becomes calls in the order of the schedule: two layers, two micro-batches, 1f1b. What the first
// layer makes goes to the second, its gradient back; sums are added behind the calls, on their stage.
module attributes {dist.pipeline = {chunks = 1 : i64, schedule = "1f1b"}} {
dist.mesh @mesh = <["stage"=2]>
// CHECK-LABEL: func.func private @body.forward0(%arg0: tensor<4xf32>, %arg1: tensor<4xf32>) -> tensor<4xf32> attributes {graph.phase = "forward"}
// CHECK-NEXT: call @fwd(%arg0, %arg1) {dist.layer} : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
// CHECK-LABEL: func.func private @body.backward1(
// CHECK: func.func @step(%[[W0:[a-z0-9]+]]: tensor<4xf32> {graph.donate = 0 : i64, graph.name = "w0"}, %[[W1:[a-z0-9]+]]: tensor<4xf32> {{.*}}, %[[X:[a-z0-9]+]]: tensor<8xf32>
// CHECK: %[[X0:.*]] = graph.slice %[[X]] [0] : [4]
// CHECK: %[[A0:.*]] = call @body.forward0({{.*}}) {dist.stage = 0 : i64, dist.task = {micro_batch = 0 : i64, phase = "forward", piece = 0 : i64}}
// CHECK-NEXT: %[[M0:.*]] = dist.transfer %[[A0]] from 0 to 1
// CHECK: %[[A1:.*]] = call @body.forward0({{.*}}) {dist.stage = 0 : i64, dist.task = {micro_batch = 1 : i64, phase = "forward", piece = 0 : i64}}
// CHECK-NEXT: %[[M1:.*]] = dist.transfer %[[A1]] from 0 to 1
// CHECK: %[[B0:.*]] = call @body.forward1(%[[M0]], %[[W1]]) {dist.stage = 1 : i64, dist.task = {micro_batch = 0 : i64, phase = "forward", piece = 1 : i64}}
// CHECK: %[[D0:.*]]:2 = call @body.backward1({{.*}}) {dist.stage = 1 : i64, dist.task = {micro_batch = 0 : i64, phase = "backward", piece = 1 : i64}}
// CHECK-NEXT: %[[N0:.*]] = dist.transfer %[[D0]]#0 from 1 to 0
// CHECK: %[[B1:.*]] = call @body.forward1(%[[M1]], %[[W1]]) {dist.stage = 1 : i64, dist.task = {micro_batch = 1 : i64, phase = "forward", piece = 1 : i64}}
// CHECK: %[[D1:.*]]:2 = call @body.backward1({{.*}}) {dist.stage = 1 : i64, dist.task = {micro_batch = 1 : i64, phase = "backward", piece = 1 : i64}}
// CHECK-NEXT: %[[N1:.*]] = dist.transfer %[[D1]]#0 from 1 to 0
// CHECK: %[[G1:.*]] = graph.add %[[D0]]#1, %[[D1]]#1 {dist.stage = 1 : i64}
// CHECK: %[[C0:.*]] = call @body.backward0(%[[N0]]
// CHECK: %[[C1:.*]] = call @body.backward0(%[[N1]]
// CHECK: %[[G0:.*]] = graph.add %[[C0]], %[[C1]] {dist.stage = 0 : i64}
// CHECK-NOT: call
// The norm: a scalar of stage 0 to stage 1, and the sum from there to everybody.
// CHECK: %[[N:.*]] = graph.reduce sum, %[[G0]], dims = [0] {dist.stage = 0 : i64}
// CHECK-NEXT: %[[S:.*]] = dist.share %[[N]] from 0
// CHECK: %[[R:.*]] = graph.reduce sum, %[[G1]], dims = [0] {dist.stage = 1 : i64}
// CHECK: %[[T:.*]] = graph.add %[[S]], %[[R]] {dist.stage = 1 : i64}
// CHECK-NEXT: %[[ALL:.*]] = dist.share %[[T]] from 1
// CHECK: graph.broadcast_in_dim %[[ALL]]
func.func private @fwd(%x: tensor<4xf32>, %w: tensor<4xf32>) -> tensor<4xf32> {
  %0 = graph.multiply %x, %w : tensor<4xf32>
  return %0 : tensor<4xf32>
}
func.func private @bwd(%d: tensor<4xf32>, %x: tensor<4xf32>, %w: tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>) {
  %0 = graph.multiply %d, %w : tensor<4xf32>
  %1 = graph.multiply %d, %x : tensor<4xf32>
  return %0, %1 : tensor<4xf32>, tensor<4xf32>
}
func.func private @body(%w0: tensor<4xf32>, %w1: tensor<4xf32>, %g0: tensor<4xf32> {graph.donate = 0 : i64}, %g1: tensor<4xf32> {graph.donate = 1 : i64}, %x: tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>) {
  %a = call @fwd(%x, %w0) {graph.piece = 0 : i64} : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  %b = call @fwd(%a, %w1) {graph.piece = 1 : i64} : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  %db:2 = call @bwd(%b, %a, %w1) {graph.piece = 1 : i64, graph.backward} : (tensor<4xf32>, tensor<4xf32>, tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>)
  %da:2 = call @bwd(%db#0, %x, %w0) {graph.piece = 0 : i64, graph.backward} : (tensor<4xf32>, tensor<4xf32>, tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>)
  %0 = graph.add %g0, %da#1 : tensor<4xf32>
  %1 = graph.add %g1, %db#1 : tensor<4xf32>
  return %0, %1 : tensor<4xf32>, tensor<4xf32>
}
func.func @step(%w0: tensor<4xf32> {graph.donate = 0 : i64, graph.name = "w0"}, %w1: tensor<4xf32> {graph.donate = 1 : i64, graph.name = "w1"}, %x: tensor<8xf32>)
    -> (tensor<4xf32>, tensor<4xf32>) attributes {graph.entry} {
  %zero = graph.constant dense<0.0> : tensor<4xf32>
  %g:2 = graph.scan @body(%w0, %w1) carried(%zero, %zero) cut(%x) count = 2 : (tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<8xf32>) -> (tensor<4xf32>, tensor<4xf32>)
  %n0 = graph.reduce sum, %g#0, dims = [0] : (tensor<4xf32>) -> tensor<f32>
  %n1 = graph.reduce sum, %g#1, dims = [0] : (tensor<4xf32>) -> tensor<f32>
  %n = graph.add %n0, %n1 : tensor<f32>
  %s = graph.broadcast_in_dim %n, dims = [] : (tensor<f32>) -> tensor<4xf32>
  %u0 = graph.multiply %g#0, %s : tensor<4xf32>
  %u1 = graph.multiply %g#1, %s : tensor<4xf32>
  %v0 = graph.subtract %w0, %u0 : tensor<4xf32>
  %v1 = graph.subtract %w1, %u1 : tensor<4xf32>
  return %v0, %v1 : tensor<4xf32>, tensor<4xf32>
}
// `init` makes each where it is used.
// CHECK-LABEL: func.func @init() -> (tensor<4xf32> {dist.stages = array<i64: 0>, graph.name = "w0"}, tensor<4xf32> {dist.stages = array<i64: 1>, graph.name = "w1"})
func.func @init() -> (tensor<4xf32> {graph.name = "w0"}, tensor<4xf32> {graph.name = "w1"}) attributes {graph.entry} {
  %0 = graph.constant dense<1.0> : tensor<4xf32>
  return %0, %0 : tensor<4xf32>, tensor<4xf32>
}
}

// -----

// A weight that is tied has its home on the first stage; it is sent once, and its gradient back once, of
// the sum that the other stage has made. What nobody differs in is no stage's.
dist.mesh @mesh = <["stage"=2]>
// CHECK-LABEL: func.func @tied(%arg0: tensor<4xf32> {dist.stages = array<i64: 0>, graph.donate = 0 : i64, graph.name = "w"}
// CHECK: %[[W:.*]] = dist.transfer %arg0 from 0 to 1
// CHECK-COUNT-2: dist.transfer {{.*}} from 0 to 1
// CHECK-NOT: from 0 to 1
// CHECK: %[[HEAD:.*]] = graph.add {{.*}} {dist.stage = 1 : i64}
// CHECK-NEXT: %[[BACK:.*]] = dist.transfer %[[HEAD]] from 1 to 0
// CHECK: %[[FIRST:.*]] = graph.add {{.*}} {dist.stage = 0 : i64}
// CHECK: %[[SUM:.*]] = graph.add {{.*}}%[[BACK]]{{.*}} {dist.stage = 0 : i64}
func.func private @fwd(%x: tensor<4xf32>, %w: tensor<4xf32>) -> tensor<4xf32> {
  %0 = graph.multiply %x, %w : tensor<4xf32>
  return %0 : tensor<4xf32>
}
func.func private @grad(%x: tensor<4xf32>, %w: tensor<4xf32>) -> tensor<4xf32> {
  %0 = graph.multiply %x, %w : tensor<4xf32>
  return %0 : tensor<4xf32>
}
func.func private @body(%w: tensor<4xf32>, %g: tensor<4xf32> {graph.donate = 0 : i64}, %k: tensor<i64> {graph.donate = 1 : i64}, %x: tensor<4xf32>) -> (tensor<4xf32>, tensor<i64>) {
  %one = graph.constant dense<1> : tensor<i64>
  %a = call @fwd(%x, %w) {graph.piece = 0 : i64} : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  %b = call @fwd(%a, %w) {graph.piece = 1 : i64} : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  %db = call @grad(%b, %w) {graph.piece = 1 : i64, graph.backward} : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  %da = call @grad(%a, %db) {graph.piece = 0 : i64, graph.backward} : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  %d = graph.add %db, %da : tensor<4xf32>
  %0 = graph.add %g, %d : tensor<4xf32>
  %1 = graph.add %k, %one : tensor<i64>
  return %0, %1 : tensor<4xf32>, tensor<i64>
}
func.func @tied(%w: tensor<4xf32> {graph.donate = 0 : i64, graph.name = "w"}, %x: tensor<8xf32>) -> (tensor<4xf32>, tensor<i64>) attributes {graph.entry} {
  %zero = graph.constant dense<0.0> : tensor<4xf32>
  %k = graph.constant dense<0> : tensor<i64>
  %g:2 = graph.scan @body(%w) carried(%zero, %k) cut(%x) count = 2 : (tensor<4xf32>, tensor<4xf32>, tensor<i64>, tensor<8xf32>) -> (tensor<4xf32>, tensor<i64>)
  %v = graph.subtract %w, %g#0 : tensor<4xf32>
  return %v, %g#1 : tensor<4xf32>, tensor<i64>
}

// -----

// Without a pipeline nothing is left of the marks.
// CHECK-LABEL: func.func @one
// CHECK-NEXT: call @fwd(%arg0) : (tensor<4xf32>) -> tensor<4xf32>
func.func private @fwd(%x: tensor<4xf32>) -> tensor<4xf32> {
  %0 = graph.negate %x : tensor<4xf32>
  return %0 : tensor<4xf32>
}
func.func @one(%x: tensor<4xf32>) -> tensor<4xf32> attributes {graph.entry} {
  %a = call @fwd(%x) {graph.piece = 0 : i64} : (tensor<4xf32>) -> tensor<4xf32>
  return %a : tensor<4xf32>
}

// -----

// A mask is made again in each task that reads it; what it is made of is kept, for it is floats.
// CHECK-LABEL: func.func private @body.forward0
// CHECK: %[[XX:.*]] = graph.multiply
// CHECK-NEXT: %[[M:.*]] = graph.is_finite %[[XX]]
// CHECK-NEXT: %[[A:.*]] = call @fwd(%{{.*}}, %{{.*}}, %[[M]])
// CHECK-NEXT: return %[[XX]], %[[A]]
// CHECK-LABEL: func.func private @body.backward0(
// CHECK-NEXT: %[[M:.*]] = graph.is_finite %arg0
// CHECK-NEXT: call @bwd(%{{.*}}, %{{.*}}, %[[M]])
module attributes {dist.pipeline = {chunks = 1 : i64, schedule = "1f1b"}} {
dist.mesh @mesh = <["stage"=2]>
func.func private @fwd(%x: tensor<4xf32>, %w: tensor<4xf32>, %m: tensor<4xi1>) -> tensor<4xf32> {
  %0 = graph.multiply %x, %w : tensor<4xf32>
  %1 = graph.select %m, %0, %x : tensor<4xi1>, tensor<4xf32>
  return %1 : tensor<4xf32>
}
func.func private @fwd1(%x: tensor<4xf32>, %w: tensor<4xf32>) -> tensor<4xf32> {
  %0 = graph.multiply %x, %w : tensor<4xf32>
  return %0 : tensor<4xf32>
}
func.func private @bwd1(%d: tensor<4xf32>, %x: tensor<4xf32>, %w: tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>) {
  %0 = graph.multiply %d, %w : tensor<4xf32>
  %1 = graph.multiply %d, %x : tensor<4xf32>
  return %0, %1 : tensor<4xf32>, tensor<4xf32>
}
func.func private @bwd(%d: tensor<4xf32>, %x: tensor<4xf32>, %m: tensor<4xi1>) -> tensor<4xf32> {
  %1 = graph.multiply %d, %x : tensor<4xf32>
  %2 = graph.select %m, %1, %x : tensor<4xi1>, tensor<4xf32>
  return %2 : tensor<4xf32>
}
func.func private @body(%w0: tensor<4xf32>, %w1: tensor<4xf32>, %g0: tensor<4xf32> {graph.donate = 0 : i64}, %g1: tensor<4xf32> {graph.donate = 1 : i64}, %x: tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>) {
  %xx = graph.multiply %x, %x : tensor<4xf32>
  %m = graph.is_finite %xx : (tensor<4xf32>) -> tensor<4xi1>
  %a = call @fwd(%x, %w0, %m) {graph.piece = 0 : i64} : (tensor<4xf32>, tensor<4xf32>, tensor<4xi1>) -> tensor<4xf32>
  %b = call @fwd1(%a, %w1) {graph.piece = 1 : i64} : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  %db:2 = call @bwd1(%b, %a, %w1) {graph.piece = 1 : i64, graph.backward} : (tensor<4xf32>, tensor<4xf32>, tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>)
  %da = call @bwd(%db#0, %x, %m) {graph.piece = 0 : i64, graph.backward} : (tensor<4xf32>, tensor<4xf32>, tensor<4xi1>) -> tensor<4xf32>
  %0 = graph.add %g0, %da : tensor<4xf32>
  %1 = graph.add %g1, %db#1 : tensor<4xf32>
  return %0, %1 : tensor<4xf32>, tensor<4xf32>
}
func.func @step(%w0: tensor<4xf32> {graph.donate = 0 : i64, graph.name = "w0"}, %w1: tensor<4xf32> {graph.donate = 1 : i64, graph.name = "w1"}, %x: tensor<8xf32>)
    -> (tensor<4xf32>, tensor<4xf32>) attributes {graph.entry} {
  %zero = graph.constant dense<0.0> : tensor<4xf32>
  %g:2 = graph.scan @body(%w0, %w1) carried(%zero, %zero) cut(%x) count = 2 : (tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<8xf32>) -> (tensor<4xf32>, tensor<4xf32>)
  %v0 = graph.subtract %w0, %g#0 : tensor<4xf32>
  %v1 = graph.subtract %w1, %g#1 : tensor<4xf32>
  return %v0, %v1 : tensor<4xf32>, tensor<4xf32>
}
}

// -----

// A tied weight in a number that is spread over both stages: where the weight has its home, after the number was shared.
// CHECK-LABEL: func.func @step
// CHECK: %[[N:.*]] = graph.reduce sum, %{{.*}} {dist.stage = 0 : i64}
// CHECK-NEXT: dist.share %[[N]] from 0
dist.mesh @mesh = <["stage"=2]>
func.func private @fwd(%x: tensor<4xf32>, %w: tensor<4xf32>) -> tensor<4xf32> {
  %0 = graph.multiply %x, %w : tensor<4xf32>
  return %0 : tensor<4xf32>
}
func.func @step(%w: tensor<4xf32> {graph.donate = 0 : i64, graph.name = "w"}, %w1: tensor<4xf32> {graph.donate = 1 : i64, graph.name = "w1"}, %x: tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>) attributes {graph.entry} {
  %a = call @fwd(%x, %w) {graph.piece = 0 : i64} : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  %b = call @fwd(%a, %w) {graph.piece = 1 : i64} : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  %p = graph.multiply %w, %b : tensor<4xf32>
  %n = graph.reduce sum, %p, dims = [0] : (tensor<4xf32>) -> tensor<f32>
  %s = graph.broadcast_in_dim %n, dims = [] : (tensor<f32>) -> tensor<4xf32>
  %v = graph.multiply %w, %s : tensor<4xf32>
  %c = graph.multiply %b, %w1 : tensor<4xf32>
  %v1 = graph.multiply %c, %s : tensor<4xf32>
  return %v, %v1 : tensor<4xf32>, tensor<4xf32>
}
