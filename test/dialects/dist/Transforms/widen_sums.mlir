// RUN: minigptc-opt %s --dist-widen-sums | FileCheck %s

#rows = #dist.sharding<@mesh, [{"d"}, {}]>
#whole = #dist.sharding<@mesh, [{}, {}]>
#sum = #dist.sharding<@mesh, [{}, {}], partial = sum ["d"]>
#max = #dist.sharding<@mesh, [{}], partial = max ["d"]>

dist.mesh @mesh = <["d"=2]>

// A product gives its sum before it is rounded; so does its function.
// CHECK-LABEL: func.func private @product
// CHECK-SAME: -> (tensor<6x4xf32> {dist.sharding
// CHECK: %[[P:.*]] = graph.dot_general %arg0, %arg1
// CHECK-SAME: (tensor<8x6xbf16>, tensor<8x4xbf16>) -> tensor<6x4xf32>
// CHECK-NEXT: return %[[P]] : tensor<6x4xf32>
func.func private @product(%x: tensor<8x6xbf16> {dist.sharding = #rows}, %y: tensor<8x4xbf16> {dist.sharding = #rows}) -> (tensor<6x4xbf16> {dist.sharding = #sum}) {
  %0 = graph.dot_general %x, %y, batching_dims = [] x [], contracting_dims = [0] x [0] {dist.factors = [["d"], [], []], dist.shardings = [#sum]} : (tensor<8x6xbf16>, tensor<8x4xbf16>) -> tensor<6x4xbf16>
  return %0 : tensor<6x4xbf16>
}

// What carries the sums on computes in f32, too; the reshard's readers get it rounded.
// CHECK-LABEL: func.func @carried
// CHECK: %[[P:.*]] = call @product(%arg0, %arg1) {{.*}} -> tensor<6x4xf32>
// CHECK-NEXT: %[[S:.*]] = graph.add %[[P]], %[[P]] {{.*}} : tensor<6x4xf32>
// CHECK-NEXT: %[[R:.*]] = dist.reshard %[[S]] to <@mesh, [{}, {}]> {{.*}} : tensor<6x4xf32>
// CHECK-NEXT: %[[N:.*]] = graph.convert %[[R]] {dist.factors = {{.*}}, dist.shardings = [#{{.*}}]} : (tensor<6x4xf32>) -> tensor<6x4xbf16>
// CHECK-NEXT: %[[W:.*]] = graph.convert %[[N]] {{.*}} : (tensor<6x4xbf16>) -> tensor<6x4xf32>
// CHECK-NEXT: return %[[N]], %[[W]]
func.func @carried(%x: tensor<8x6xbf16> {dist.sharding = #rows}, %y: tensor<8x4xbf16> {dist.sharding = #rows}) -> (tensor<6x4xbf16> {dist.sharding = #whole}, tensor<6x4xf32> {dist.sharding = #whole}) attributes {graph.entry} {
  %0 = call @product(%x, %y) {dist.shardings = [#sum]} : (tensor<8x6xbf16>, tensor<8x4xbf16>) -> tensor<6x4xbf16>
  %1 = graph.add %0, %0 {dist.shardings = [#sum]} : tensor<6x4xbf16>
  %2 = dist.reshard %1 to <@mesh, [{}, {}]> {dist.shardings = [#whole]} : tensor<6x4xbf16>
  %3 = graph.convert %2 {dist.shardings = [#whole]} : (tensor<6x4xbf16>) -> tensor<6x4xf32>
  return %2, %3 : tensor<6x4xbf16>, tensor<6x4xf32>
}

// An op that rounds at its end computes in f32 instead, on operands that are converted where they
// are; a maximum does not round.
// CHECK-LABEL: func.func @reductions
// CHECK: %[[W:.*]] = graph.convert %arg0 {dist.factors = {{\[\[}}"d"], []], dist.shardings = [#{{.*}}]} : (tensor<8x6xf16>) -> tensor<8x6xf32>
// CHECK-NEXT: %[[S:.*]] = graph.reduce sum, %[[W]], dims = [0] {{.*}} : (tensor<8x6xf32>) -> tensor<6xf32>
// CHECK-NEXT: graph.reduce max, %arg0, dims = [0] {{.*}} : (tensor<8x6xf16>) -> tensor<6xf16>
// CHECK: %[[R:.*]] = dist.reshard %[[S]] {{.*}} : tensor<6xf32>
// CHECK-NEXT: graph.convert %[[R]] {{.*}} -> tensor<6xf16>
// CHECK-NEXT: dist.reshard {{.*}} : tensor<6xf16>
func.func @reductions(%x: tensor<8x6xf16> {dist.sharding = #rows}) -> (tensor<6xf16> {dist.sharding = #dist.sharding<@mesh, [{}]>}, tensor<6xf16> {dist.sharding = #dist.sharding<@mesh, [{}]>}) attributes {graph.entry} {
  %0 = graph.reduce sum, %x, dims = [0] {dist.factors = [["d"], []], dist.shardings = [#dist.sharding<@mesh, [{}], partial = sum ["d"]>]} : (tensor<8x6xf16>) -> tensor<6xf16>
  %1 = graph.reduce max, %x, dims = [0] {dist.factors = [["d"], []], dist.shardings = [#max]} : (tensor<8x6xf16>) -> tensor<6xf16>
  %2 = dist.reshard %0 to <@mesh, [{}]> {dist.shardings = [#dist.sharding<@mesh, [{}]>]} : tensor<6xf16>
  %3 = dist.reshard %1 to <@mesh, [{}]> {dist.shardings = [#dist.sharding<@mesh, [{}]>]} : tensor<6xf16>
  return %2, %3 : tensor<6xf16>, tensor<6xf16>
}

// The zeros that pad a sum are zeros of f32.
// CHECK-LABEL: func.func @padded
// CHECK: %[[S:.*]] = graph.reduce sum,
// CHECK-NEXT: %[[Z:.*]] = graph.constant {dist.factors = [], dist.shardings = [{{.*}}]} dense<0.000000e+00> : tensor<f32>
// CHECK-NEXT: graph.pad %[[S]], %[[Z]], {{.*}} : (tensor<6xf32>, tensor<f32>) -> tensor<7xf32>
func.func @padded(%x: tensor<8x6xbf16> {dist.sharding = #rows}) -> (tensor<7xbf16> {dist.sharding = #dist.sharding<@mesh, [{}]>}) attributes {graph.entry} {
  %z = graph.constant {dist.shardings = [#dist.sharding<@mesh, []>]} dense<0.0> : tensor<bf16>
  %0 = graph.reduce sum, %x, dims = [0] {dist.factors = [["d"], []], dist.shardings = [#dist.sharding<@mesh, [{}], partial = sum ["d"]>]} : (tensor<8x6xbf16>) -> tensor<6xbf16>
  %1 = graph.pad %0, %z, low = [0], high = [1], interior = [0] {dist.shardings = [#dist.sharding<@mesh, [{}], partial = sum ["d"]>]} : (tensor<6xbf16>, tensor<bf16>) -> tensor<7xbf16>
  %2 = dist.reshard %1 to <@mesh, [{}]> {dist.shardings = [#dist.sharding<@mesh, [{}]>]} : tensor<7xbf16>
  return %2 : tensor<7xbf16>
}

// Of a head only what sums over rows is wide.
// CHECK-LABEL: func.func @head
// CHECK: graph.linear_cross_entropy %arg0, %arg1, %arg2
// CHECK-SAME: -> (tensor<f32>, tensor<8x6xbf16>, tensor<6x4xf32>)
func.func @head(%h: tensor<8x6xbf16> {dist.sharding = #rows}, %w: tensor<6x4xbf16> {dist.sharding = #whole}, %t: tensor<8xi32> {dist.sharding = #dist.sharding<@mesh, [{"d"}]>}) -> (tensor<6x4xbf16> {dist.sharding = #whole}) attributes {graph.entry} {
  %0:3 = graph.linear_cross_entropy %h, %w, %t {dist.factors = [["d"], []], dist.shardings = [#dist.sharding<@mesh, [], partial = sum ["d"]>, #rows, #sum]} : (tensor<8x6xbf16>, tensor<6x4xbf16>, tensor<8xi32>) -> (tensor<f32>, tensor<8x6xbf16>, tensor<6x4xbf16>)
  %1 = dist.reshard %0#2 to <@mesh, [{}, {}]> {dist.shardings = [#whole]} : tensor<6x4xbf16>
  return %1 : tensor<6x4xbf16>
}

// So do the two functions of a branch; what they get is left alone.
// CHECK-LABEL: func.func @branch
// CHECK: %[[B:.*]] = graph.cond %{{.*}} then @product else @product(%arg0, %arg1)
// CHECK-SAME: (tensor<i1>, tensor<8x6xbf16>, tensor<8x4xbf16>) -> tensor<6x4xf32>
// CHECK: dist.reshard %[[B]]
func.func @branch(%x: tensor<8x6xbf16> {dist.sharding = #rows}, %y: tensor<8x4xbf16> {dist.sharding = #rows}) -> (tensor<6x4xbf16> {dist.sharding = #whole}) attributes {graph.entry} {
  %p = graph.constant {dist.shardings = [#dist.sharding<@mesh, []>]} dense<true> : tensor<i1>
  %0 = graph.cond %p then @product else @product(%x, %y) {dist.shardings = [#sum]} : (tensor<i1>, tensor<8x6xbf16>, tensor<8x4xbf16>) -> tensor<6x4xbf16>
  %1 = dist.reshard %0 to <@mesh, [{}, {}]> {dist.shardings = [#whole]} : tensor<6x4xbf16>
  return %1 : tensor<6x4xbf16>
}
