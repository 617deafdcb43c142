// RUN: minigptc-opt %s --dist-insert-reshards | FileCheck %s

// One reshard for two uses that want the same; a constraint is one, or nothing.
// CHECK-LABEL: func @f
// CHECK-NEXT: %[[ALL:.*]] = dist.reshard %arg0 to <@mesh, [{}, {}]> {dist.origins = [#dist.origin<why = "'softmax' needs all of dimension 0, which 'data' cuts"
// CHECK-NEXT: %[[A:.*]] = graph.softmax %[[ALL]]
// CHECK-NEXT: %[[B:.*]] = graph.negate %[[ALL]]
// CHECK-NEXT: %[[S:.*]] = graph.add %[[A]], %[[B]]
// CHECK-NEXT: %[[PINNED:.*]] = dist.reshard %[[S]] to <@mesh, [{}, {"data"}]>
// CHECK-NEXT: return %[[PINNED]]
dist.mesh @mesh = <["data"=2]>
func.func @f(%x: tensor<4x4xf32> {dist.sharding = #dist.sharding<@mesh, [{"data"}, {} ]>}) -> (tensor<4x4xf32> {dist.sharding = #dist.sharding<@mesh, [{}, {"data"} ]>}) {
  %a = graph.softmax %x, dim = 0 {dist.shardings = [#dist.sharding<@mesh, [{}, {} ]>]} : tensor<4x4xf32>
  %b = graph.negate %x {dist.shardings = [#dist.sharding<@mesh, [{}, {} ]>]} : tensor<4x4xf32>
  %s = graph.add %a, %b {dist.shardings = [#dist.sharding<@mesh, [{}, {} ]>]} : tensor<4x4xf32>
  %c = dist.constraint %s <@mesh, [{}, {"data"} ]> {dist.shardings = [#dist.sharding<@mesh, [{}, {"data"} ]>]} : tensor<4x4xf32>
  %d = dist.constraint %c <@mesh, [{}, {"data"} ]> {dist.shardings = [#dist.sharding<@mesh, [{}, {"data"} ]>]} : tensor<4x4xf32>
  return %d : tensor<4x4xf32>
}

// What is gathered of a stored tensor is gathered for each use, of a copy in another type, too.
// CHECK-LABEL: func @stored
// CHECK-NEXT: %[[C:.*]] = graph.convert %arg0
// CHECK-NEXT: %[[A:.*]] = dist.reshard %[[C]] to
// CHECK-NEXT: graph.softmax %[[A]]
// CHECK-NEXT: %[[B:.*]] = dist.reshard %[[C]] to
// CHECK-NEXT: graph.softmax %[[B]]
func.func @stored(%x: tensor<4x4xf32> {dist.stored = "w", dist.sharding = #dist.sharding<@mesh, [{"data"}, {} ]>}) -> (tensor<4x4xbf16> {dist.sharding = #dist.sharding<@mesh, [{}, {} ]>}, tensor<4x4xbf16> {dist.sharding = #dist.sharding<@mesh, [{}, {} ]>}) {
  %c = graph.convert %x {dist.factors = [["data"], []], dist.shardings = [#dist.sharding<@mesh, [{"data"}, {} ]>]} : (tensor<4x4xf32>) -> tensor<4x4xbf16>
  %a = graph.softmax %c, dim = 0 {dist.shardings = [#dist.sharding<@mesh, [{}, {} ]>]} : tensor<4x4xbf16>
  %b = graph.softmax %c, dim = 0 {dist.shardings = [#dist.sharding<@mesh, [{}, {} ]>]} : tensor<4x4xbf16>
  return %a, %b : tensor<4x4xbf16>, tensor<4x4xbf16>
}
