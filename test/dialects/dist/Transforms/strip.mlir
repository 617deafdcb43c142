// RUN: minigptc-opt %s --dist-strip | FileCheck %s

#rows = #dist.sharding<@mesh, [{"data"}]>
dist.mesh @mesh = <["data"=4]>

// CHECK-LABEL: func.func private @f(%arg0: tensor<2xf32>) -> tensor<2xf32> {
// CHECK-NEXT: graph.negate %arg0 : tensor<2xf32>
// CHECK-NEXT: dist.all_reduce {{.*}}dist.origins
func.func private @f(%x: tensor<2xf32> {dist.sharding = #rows}) -> (tensor<2xf32> {dist.sharding = #rows}) {
  %0 = graph.negate %x {dist.factors = [["data"]], dist.shardings = [#rows]} : tensor<2xf32>
  %1 = dist.all_reduce %0 over @mesh ["data"] combine = sum {dist.origins = [#dist.origin<why = "", annotation = "", instead = "", tensor = "">]} : (tensor<2xf32>) -> tensor<2xf32>
  return %1 : tensor<2xf32>
}

// CHECK-LABEL: func.func @entry
// CHECK-SAME: tensor<2xf32> {dist.global_type = tensor<8xf32>, dist.sharding = #{{.*}}}
func.func @entry(%x: tensor<2xf32> {dist.global_type = tensor<8xf32>, dist.sharding = #rows, dist.stored = "x"}) attributes {graph.entry} {
  return
}
