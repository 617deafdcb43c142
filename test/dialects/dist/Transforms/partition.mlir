// RUN: minigptc-opt %s --dist-partition --split-input-file | FileCheck %s

#rows = #dist.sharding<@mesh, [{"data"}, {}]>
#cols = #dist.sharding<@mesh, [{}, {"tensor"}]>
#both = #dist.sharding<@mesh, [{"data"}, {"tensor"}]>
#sum = #dist.sharding<@mesh, [{}, {"tensor"}], partial = sum ["data"]>
#stored = #dist.sharding<@mesh, [{"data", "tensor"}, {}]>
#whole = #dist.sharding<@mesh, [{}, {}]>

dist.mesh @mesh = <["data"=4, "tensor"=2]>

// Functions are called with parts, and may give what is still to be summed.
// CHECK-LABEL: func.func private @product(
// CHECK-SAME: %[[X:.*]]: tensor<2x6xf32> {dist.sharding = {{.*}}}, %[[Y:.*]]: tensor<2x5xf32>
// CHECK-SAME: -> (tensor<6x5xf32> {dist.sharding =
// CHECK: %[[P:.*]] = graph.dot_general %[[X]], %[[Y]]
// CHECK-SAME: (tensor<2x6xf32>, tensor<2x5xf32>) -> tensor<6x5xf32>
// CHECK-NEXT: return %[[P]]
func.func private @product(%x: tensor<8x6xf32> {dist.sharding = #rows}, %y: tensor<8x10xf32> {dist.sharding = #both}) -> (tensor<6x10xf32> {dist.sharding = #sum}) {
  %0 = graph.dot_general %x, %y, batching_dims = [] x [], contracting_dims = [0] x [0] {dist.factors = [["data"], [], ["tensor"]], dist.shardings = [#sum]} : (tensor<8x6xf32>, tensor<8x10xf32>) -> tensor<6x10xf32>
  return %0 : tensor<6x10xf32>
}

// Entries say what the whole types are. Equal reshards are one.
// CHECK-LABEL: func.func @main(
// CHECK-SAME: %[[X:.*]]: tensor<2x6xf32> {dist.global_type = tensor<8x6xf32>, dist.sharding
// CHECK-SAME: %[[Y:.*]]: tensor<1x10xf32> {dist.global_type = tensor<8x10xf32>, dist.sharding
// CHECK-SAME: -> (tensor<6x5xf32> {dist.global_type = tensor<6x10xf32>
// CHECK: %[[C:.*]] = dist.all_to_all %[[Y]] over @mesh ["tensor"] split = [1] concat = [0] {dist.origins = [#dist.origin<why = "stored so"
// CHECK-SAME: (tensor<1x10xf32>) -> tensor<2x5xf32>
// CHECK-NEXT: %[[P:.*]] = call @product(%[[X]], %[[C]]) : (tensor<2x6xf32>, tensor<2x5xf32>) -> tensor<6x5xf32>
// CHECK-NEXT: %[[R:.*]] = dist.all_reduce %[[P]] over @mesh ["data"] combine = sum
// CHECK-NEXT: %[[S:.*]] = graph.add %[[R]], %[[R]] : tensor<6x5xf32>
// CHECK-NEXT: %[[G:.*]] = dist.all_gather %[[Y]] over @mesh ["tensor"] dims = [0]
// CHECK-NEXT: return %[[S]], %[[G]]
#o = #dist.origin<why = "stored so", annotation = "", instead = "", tensor = "">
func.func @main(%x: tensor<8x6xf32> {dist.sharding = #rows}, %y: tensor<8x10xf32> {dist.sharding = #stored}) -> (tensor<6x10xf32> {dist.sharding = #cols}, tensor<8x10xf32> {dist.sharding = #rows}) attributes {graph.entry} {
  %yc = dist.reshard %y to <@mesh, [{"data"}, {"tensor"}]> {dist.origins = [#o]} : tensor<8x10xf32>
  %0 = call @product(%x, %yc) {dist.shardings = [#sum]} : (tensor<8x6xf32>, tensor<8x10xf32>) -> tensor<6x10xf32>
  %1 = dist.reshard %0 to <@mesh, [{}, {"tensor"}]> : tensor<6x10xf32>
  %2 = dist.reshard %0 to <@mesh, [{}, {"tensor"}]> : tensor<6x10xf32>
  %3 = graph.add %1, %2 {dist.factors = [[], ["tensor"]], dist.shardings = [#cols]} : tensor<6x10xf32>
  %4 = dist.reshard %y to <@mesh, [{"data"}, {}]> : tensor<8x10xf32>
  return %3, %4 : tensor<6x10xf32>, tensor<8x10xf32>
}

// -----

// Parts of 10 in 4: 3 each, of which the last has one that counts.
#rows = #dist.sharding<@mesh, [{"data"}, {}]>
#whole = #dist.sharding<@mesh, [{}, {}]>
#vector = #dist.sharding<@mesh, [{}]>
#sum = #dist.sharding<@mesh, [{}], partial = sum ["data"]>
dist.mesh @mesh = <["data"=4]>

// CHECK-LABEL: func.func @uneven
// CHECK-SAME: %[[X:.*]]: tensor<3x6xf32>
// CHECK-DAG: %[[I:.*]] = graph.iota dim = 0 : tensor<3x6xi32>
// CHECK-DAG: %[[D:.*]] = dist.axis_index @mesh ["data"]
// CHECK: %[[M:.*]] = graph.compare LT, %[[I]],
// CHECK: %[[S:.*]] = graph.select %[[M]], %[[X]], %{{.*}} : tensor<3x6xi1>, tensor<3x6xf32>
// CHECK: %[[R:.*]] = graph.reduce sum, %[[S]]
// CHECK: dist.all_reduce %[[R]] over @mesh ["data"] combine = sum
// CHECK: %[[G:.*]] = dist.all_gather %[[X]] {{.*}} (tensor<3x6xf32>) -> tensor<12x6xf32>
// CHECK: graph.slice %[[G]] [0, 0] : [10, 6]
// CHECK: %[[PAD:.*]] = graph.pad {{.*}} (tensor<10x6xf32>, tensor<f32>) -> tensor<12x6xf32>
// CHECK: dist.all_slice %[[PAD]] {{.*}} (tensor<12x6xf32>) -> tensor<3x6xf32>
func.func @uneven(%x: tensor<10x6xf32> {dist.sharding = #rows}, %w: tensor<10x6xf32> {dist.sharding = #whole}) -> (tensor<6xf32> {dist.sharding = #vector}, tensor<10x6xf32> {dist.sharding = #whole}, tensor<10x6xf32> {dist.sharding = #rows}) {
  %0 = graph.reduce sum, %x, dims = [0] {dist.factors = [["data"], []], dist.shardings = [#sum]} : (tensor<10x6xf32>) -> tensor<6xf32>
  %1 = dist.reshard %0 to <@mesh, [{}]> : tensor<6xf32>
  %2 = dist.reshard %x to <@mesh, [{}, {}]> : tensor<10x6xf32>
  %3 = dist.reshard %w to <@mesh, [{"data"}, {}]> : tensor<10x6xf32>
  return %1, %2, %3 : tensor<6xf32>, tensor<10x6xf32>, tensor<10x6xf32>
}

// Rows of 2·3 of which each device has 3·3 are no equal parts of 10·3: computed whole.
// CHECK-LABEL: func.func @reshape
// CHECK-SAME: %[[X:.*]]: tensor<3x6xf32>
// CHECK: dist.all_gather %[[X]] {{.*}}"graph.reshape has no parts of f32[60] that lie on one device each"
// CHECK: graph.reshape %{{.*}} : (tensor<10x6xf32>) -> tensor<60xf32>
// CHECK: dist.all_slice {{.*}} (tensor<60xf32>) -> tensor<15xf32>
func.func @reshape(%x: tensor<10x6xf32> {dist.sharding = #rows}) -> (tensor<60xf32> {dist.sharding = #dist.sharding<@mesh, [{"data"}]>}) {
  %0 = graph.reshape %x {dist.factors = [["data"], []], dist.shardings = [#dist.sharding<@mesh, [{"data"}]>]} : (tensor<10x6xf32>) -> tensor<60xf32>
  return %0 : tensor<60xf32>
}

// -----

// Without a mesh nothing changes.
// CHECK-LABEL: func.func @alone(%arg0: tensor<4xf32>)
// CHECK-NEXT: graph.negate %arg0 : tensor<4xf32>
func.func @alone(%x: tensor<4xf32>) -> tensor<4xf32> attributes {graph.entry} {
  %0 = graph.negate %x : tensor<4xf32>
  return %0 : tensor<4xf32>
}
