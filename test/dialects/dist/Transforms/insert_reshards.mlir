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
