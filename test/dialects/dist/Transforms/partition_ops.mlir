// RUN: minigptc-opt %s --dist-partition --canonicalize --cse | FileCheck %s
// Ops of which a part is more than the op itself on parts.

#rows = #dist.sharding<@mesh, [{"data"}, {}]>
#vector = #dist.sharding<@mesh, [{"data"}]>
dist.mesh @mesh = <["data"=4]>

// CHECK-LABEL: func.func @iota
// CHECK-DAG: %[[D:.*]] = dist.axis_index @mesh ["data"]
// CHECK-DAG: %[[I:.*]] = graph.iota dim = 0 : tensor<2x3xi64>
// CHECK-DAG: %[[SIZE:.*]] = graph.constant dense<2> : tensor<i64>
// CHECK: %[[O:.*]] = graph.multiply %[[D]], %[[SIZE]]
// CHECK: %[[B:.*]] = graph.broadcast_in_dim %[[O]]
// CHECK: %[[S:.*]] = graph.add %[[I]], %[[B]]
// CHECK: graph.convert %[[S]] : (tensor<2x3xi64>) -> tensor<2x3xi32>
func.func @iota() -> (tensor<8x3xi32> {dist.sharding = #rows}) {
  %0 = graph.iota dim = 0 {dist.factors = [["data"], []], dist.shardings = [#rows]} : tensor<8x3xi32>
  return %0 : tensor<8x3xi32>
}

// Along another dimension all parts are the same.
// CHECK-LABEL: func.func @iota_along
// CHECK-NEXT: %[[I:.*]] = graph.iota dim = 1 : tensor<2x3xi32>
// CHECK-NEXT: return %[[I]]
func.func @iota_along() -> (tensor<8x3xi32> {dist.sharding = #rows}) {
  %0 = graph.iota dim = 1 {dist.factors = [["data"], []], dist.shardings = [#rows]} : tensor<8x3xi32>
  return %0 : tensor<8x3xi32>
}

// CHECK-LABEL: func.func @constants
// CHECK-DAG: graph.constant dense<1.0{{.*}}> : tensor<2xf32>
// CHECK-DAG: %[[C:.*]] = graph.constant dense<[1, 2, 3, 4]> : tensor<4xi32>
// CHECK: dist.all_slice %[[C]] over @mesh ["data"] dims = [0] {{.*}} (tensor<4xi32>) -> tensor<1xi32>
func.func @constants() -> (tensor<8xf32> {dist.sharding = #vector}, tensor<4xi32> {dist.sharding = #vector}) {
  %0 = graph.constant {dist.factors = [["data"]], dist.shardings = [#vector]} dense<1.0> : tensor<8xf32>
  %1 = graph.constant {dist.factors = [["data"]], dist.shardings = [#vector]} dense<[1, 2, 3, 4]> : tensor<4xi32>
  return %0, %1 : tensor<8xf32>, tensor<4xi32>
}

// CHECK-LABEL: func.func @random_bits
// CHECK-SAME: %[[K:.*]]: tensor<2xui32>, %[[AT:.*]]: tensor<2xi64>
// CHECK-DAG: %[[UNIT:.*]] = graph.constant dense<[1, 0]> : tensor<2xi64>
// CHECK-DAG: dist.axis_index @mesh ["data"]
// CHECK: %[[O:.*]] = graph.multiply %{{.*}}, %[[UNIT]] : tensor<2xi64>
// CHECK: %[[SUM:.*]] = graph.add %[[AT]], %[[O]]
// CHECK: graph.random_bits %[[K]] at %[[SUM]] of [8, 3] : tensor<2xi64> -> tensor<2x3xui32>
func.func @random_bits(%key: tensor<2xui32>, %at: tensor<2xi64>) -> (tensor<8x3xui32> {dist.sharding = #rows}) {
  %0 = graph.random_bits %key at %at of [8, 3] {dist.factors = [["data"], []], dist.shardings = [#rows]} : tensor<2xi64> -> tensor<8x3xui32>
  return %0 : tensor<8x3xui32>
}

// CHECK-LABEL: func.func @slices
// CHECK-DAG: graph.slice %arg0 [0, 1] : [2, 3] : [1, 1] : (tensor<2x3xf32>) -> tensor<2x2xf32>
// CHECK-DAG: graph.dynamic_slice %arg0[%{{.*}}, %arg1] sizes = [2, 2]
func.func @slices(%x: tensor<8x3xf32> {dist.sharding = #rows}, %i: tensor<i32>) -> (tensor<8x2xf32> {dist.sharding = #rows}, tensor<8x2xf32> {dist.sharding = #rows}) {
  %0 = graph.slice %x [0, 1] : [8, 3] : [1, 1] {dist.factors = [["data"]], dist.shardings = [#rows]} : (tensor<8x3xf32>) -> tensor<8x2xf32>
  %c = graph.constant dense<0> : tensor<i32>
  %1 = graph.dynamic_slice %x[%c, %i] sizes = [8, 2] {dist.factors = [["data"]], dist.shardings = [#rows]} : (tensor<8x3xf32>, tensor<i32>, tensor<i32>) -> tensor<8x2xf32>
  return %0, %1 : tensor<8x2xf32>, tensor<8x2xf32>
}

// CHECK-LABEL: func.func @embedding
// CHECK-SAME: %[[T:.*]]: tensor<2x5xf32> {{.*}}, %[[IDS:.*]]: tensor<3xi32>
// CHECK: %[[LOW:.*]] = graph.maximum %[[IDS]]
// CHECK: %[[IN:.*]] = graph.minimum %[[LOW]]
// CHECK: %[[S:.*]] = graph.subtract %[[IN]]
// CHECK-DAG: %[[GE:.*]] = graph.compare GE, %[[S]]
// CHECK-DAG: %[[LT:.*]] = graph.compare LT, %[[S]]
// CHECK: %[[MINE:.*]] = graph.and %[[GE]], %[[LT]]
// CHECK: %[[SAFE:.*]] = graph.select %[[MINE]], %[[S]]
// CHECK: %[[E:.*]] = graph.embedding %[[T]], %[[SAFE]] : (tensor<2x5xf32>, tensor<3xi32>) -> tensor<3x5xf32>
// CHECK: %[[P:.*]] = graph.select %{{.*}}, %[[E]]
// CHECK: dist.all_reduce %[[P]] over @mesh ["data"] combine = sum
func.func @embedding(%t: tensor<8x5xf32> {dist.sharding = #rows}, %ids: tensor<3xi32>) -> tensor<3x5xf32> {
  %0 = graph.embedding %t, %ids {dist.factors = [[], ["data"], []]} : (tensor<8x5xf32>, tensor<3xi32>) -> tensor<3x5xf32>
  return %0 : tensor<3x5xf32>
}

// Rows of the table are cut: ids count from the first one here.
// CHECK-LABEL: func.func @scatter_rows
// CHECK-SAME: %[[T:.*]]: tensor<2x5xf32> {{.*}}, %[[IDS:.*]]: tensor<3x1xi32>, %[[U:.*]]: tensor<3x5xf32>
// CHECK: %[[S:.*]] = graph.subtract %[[IDS]]
// CHECK: graph.scatter add, %[[T]][%[[S]]], %[[U]]
// CHECK-NOT: dist.all_reduce
func.func @scatter_rows(%t: tensor<8x5xf32> {dist.sharding = #rows}, %ids: tensor<3x1xi32>, %u: tensor<3x5xf32>) -> (tensor<8x5xf32> {dist.sharding = #rows}) {
  %0 = graph.scatter add, %t[%ids], %u dims = [0] {dist.factors = [[], [], ["data"]], dist.shardings = [#rows]} : (tensor<8x5xf32>, tensor<3x1xi32>, tensor<3x5xf32>) -> tensor<8x5xf32>
  return %0 : tensor<8x5xf32>
}

// What is scattered is cut: the first device starts with the table, the others with zeros.
// CHECK-LABEL: func.func @scatter_updates
// CHECK-SAME: %[[T:.*]]: tensor<8x5xf32>, %[[IDS:.*]]: tensor<1x1xi32> {{.*}}, %[[U:.*]]: tensor<1x5xf32>
// CHECK: %[[FIRST:.*]] = graph.compare EQ
// CHECK: %[[START:.*]] = graph.select %[[FIRST]], %[[T]], %{{.*}} : tensor<i1>, tensor<8x5xf32>
// CHECK: graph.scatter add, %[[START]][%[[IDS]]], %[[U]]
func.func @scatter_updates(%t: tensor<8x5xf32>, %ids: tensor<4x1xi32> {dist.sharding = #rows}, %u: tensor<4x5xf32> {dist.sharding = #rows}) -> (tensor<8x5xf32> {dist.sharding = #dist.sharding<@mesh, [{}, {}], partial = sum ["data"]>}) {
  %0 = graph.scatter add, %t[%ids], %u dims = [0] {dist.factors = [["data"], [], []], dist.shardings = [#dist.sharding<@mesh, [{}, {}], partial = sum ["data"]>]} : (tensor<8x5xf32>, tensor<4x1xi32>, tensor<4x5xf32>) -> tensor<8x5xf32>
  return %0 : tensor<8x5xf32>
}

// CHECK-LABEL: func.func @softmax
// CHECK: graph.reduce max
// CHECK: dist.all_reduce {{.*}} combine = max {{.*}} (tensor<3xf32>)
// CHECK: graph.exponential
// CHECK: graph.reduce sum
// CHECK: dist.all_reduce {{.*}} combine = sum {{.*}} (tensor<3xf32>)
// CHECK: graph.divide
func.func @softmax(%x: tensor<8x3xf32> {dist.sharding = #rows}) -> (tensor<8x3xf32> {dist.sharding = #rows}) {
  %0 = graph.softmax %x, dim = 0 {dist.factors = [["data"], []], dist.shardings = [#rows]} : tensor<8x3xf32>
  return %0 : tensor<8x3xf32>
}

// The mean is that of all devices.
// CHECK-LABEL: func.func @rms_norm
// CHECK: %[[S:.*]] = graph.reduce sum
// CHECK: %[[A:.*]] = dist.all_reduce %[[S]] {{.*}} combine = sum
// CHECK-DAG: graph.divide %[[A]], %{{.*}} : tensor<3xf32>
func.func @rms_norm(%x: tensor<3x8xf32> {dist.sharding = #dist.sharding<@mesh, [{}, {"data"}]>}, %s: tensor<8xf32> {dist.sharding = #vector}) -> (tensor<3x8xf32> {dist.sharding = #dist.sharding<@mesh, [{}, {"data"}]>}) {
  %0 = graph.rms_norm %x, %s epsilon = 1.0e-5 {dist.factors = [[], ["data"]], dist.shardings = [#dist.sharding<@mesh, [{}, {"data"}]>]} : tensor<3x8xf32>, tensor<8xf32>
  return %0 : tensor<3x8xf32>
}

// Two all-reduces, of one and of two numbers per position.
// CHECK-LABEL: func.func @cross_entropy
// CHECK: dist.all_reduce {{.*}} combine = max {{.*}} (tensor<3xf32>) -> tensor<3xf32>
// CHECK: dist.all_reduce {{.*}} combine = sum {{.*}} (tensor<3xf32>, tensor<3xf32>) -> (tensor<3xf32>, tensor<3xf32>)
// CHECK-NOT: dist.all_reduce
// CHECK: return
func.func @cross_entropy(%x: tensor<3x8xf32> {dist.sharding = #dist.sharding<@mesh, [{}, {"data"}]>}, %t: tensor<3xi32>) -> tensor<3xf32> {
  %0 = graph.softmax_cross_entropy %x, %t ignore -1 {dist.factors = [[], ["data"]]} : (tensor<3x8xf32>, tensor<3xi32>) -> tensor<3xf32>
  return %0 : tensor<3xf32>
}

// Targets of rows that mean nothing (6 in 4 parts) are classes, too.
// CHECK-LABEL: func.func @cross_entropy_rows
// CHECK-SAME: %[[X:.*]]: tensor<2x8xf32> {{.*}}, %[[T:.*]]: tensor<2xi32>
// CHECK-DAG: %[[ZERO:.*]] = graph.constant dense<0> : tensor<2xi32>
// CHECK: %[[FILLED:.*]] = graph.select %{{.*}}, %[[T]], %[[ZERO]]
// CHECK: graph.softmax_cross_entropy %[[X]], %[[FILLED]]
func.func @cross_entropy_rows(%x: tensor<6x8xf32> {dist.sharding = #rows}, %t: tensor<6xi32> {dist.sharding = #vector}) -> (tensor<6xf32> {dist.sharding = #vector}) {
  %0 = graph.softmax_cross_entropy %x, %t {dist.factors = [["data"], []], dist.shardings = [#vector]} : (tensor<6x8xf32>, tensor<6xi32>) -> tensor<6xf32>
  return %0 : tensor<6xf32>
}

// The head is walked twice, without its logits; two all-reduces of numbers per position,
// and one of the gradient of hidden. Classes that mean nothing (11 in 4 parts) have logits
// of -inf.
// CHECK-LABEL: func.func @head
// CHECK-SAME: %[[H:.*]]: tensor<6x5xf32>, %[[W:.*]]: tensor<5x3xf32>
// CHECK-DAG: %[[FILLED:.*]] = graph.select %{{.*}}, %[[W]], %{{.*}} : tensor<5x3xi1>, tensor<5x3xf32>
// CHECK-DAG: %[[BIAS:.*]] = graph.select %{{.*}} : tensor<3xi1>, tensor<3xf32>
// CHECK: %[[LSE:.*]], %[[LOGIT:.*]] = graph.linear_log_sum_exp %[[H]], %[[FILLED]], %[[T:.*]] bias %[[BIAS]]
// CHECK: dist.all_reduce %[[LSE]] over @mesh ["data"] combine = max
// CHECK: dist.all_reduce %{{.*}}, %[[LOGIT]] over @mesh ["data"] combine = sum
// CHECK: %[[DH:.*]], %[[DW:.*]], %{{.*}} = graph.linear_cross_entropy_grad %[[H]], %[[FILLED]], %[[T]], %{{.*}} bias %[[BIAS]] ignore -2
// CHECK: dist.all_reduce %[[DH]] over @mesh ["data"] combine = sum
#columns = #dist.sharding<@mesh, [{}, {"data"}]>
#scalar = #dist.sharding<@mesh, []>
#whole = #dist.sharding<@mesh, [{}, {}]>
func.func @head(%h: tensor<6x5xf32>, %w: tensor<5x11xf32> {dist.sharding = #columns}, %t: tensor<6xi32>) -> (tensor<f32>, tensor<6x5xf32>, tensor<5x11xf32> {dist.sharding = #columns}) {
  %0:3 = graph.linear_cross_entropy %h, %w, %t ignore 0 {dist.factors = [[], ["data"]], dist.shardings = [#scalar, #whole, #columns]} : (tensor<6x5xf32>, tensor<5x11xf32>, tensor<6xi32>) -> (tensor<f32>, tensor<6x5xf32>, tensor<5x11xf32>)
  return %0#0, %0#1, %0#2 : tensor<f32>, tensor<6x5xf32>, tensor<5x11xf32>
}
