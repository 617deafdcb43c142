// RUN: minigptc-opt %s --dist-separate-local --split-input-file --verify-diagnostics=only-expected | FileCheck %s

dist.mesh @mesh = <["data"=2]>

// A function that is called on whole tensors, too, gets a copy.
// CHECK-LABEL: func private @both
// CHECK-NOT: dist.local
// CHECK: func private @both_0{{.*}} attributes {dist.local}
func.func private @both(%x: tensor<4xf32>) -> tensor<4xf32> {
  %0 = graph.negate %x : tensor<4xf32>
  return %0 : tensor<4xf32>
}
// CHECK: func private @body{{.*}} attributes {dist.local}
// CHECK: call @both_0
func.func private @body(%x: tensor<4xf32>) -> tensor<4xf32> {
  %0 = call @both(%x) : (tensor<4xf32>) -> tensor<4xf32>
  return %0 : tensor<4xf32>
}
// CHECK: func @step
// CHECK: call @both(
// CHECK: dist.manual @body(
func.func @step(%x: tensor<4xf32>, %y: tensor<8xf32>) -> (tensor<4xf32>, tensor<8xf32>) {
  %0 = call @both(%x) : (tensor<4xf32>) -> tensor<4xf32>
  %1 = dist.manual @body(%y) over @mesh in = [#dist.sharding<@mesh, [{"data"}]>] out = [#dist.sharding<@mesh, [{"data"}]>] : (tensor<8xf32>) -> tensor<8xf32>
  return %0, %1 : tensor<4xf32>, tensor<8xf32>
}

// -----

dist.mesh @mesh = <["data"=2]>
func.func private @f(%x: tensor<4xf32>) -> tensor<4xf32> { return %x : tensor<4xf32> }
func.func private @inner(%x: tensor<4xf32>) -> tensor<4xf32> {
  // expected-error@+1 {{is in a function that another dist.manual calls: they do not nest}}
  %0 = dist.manual @f(%x) over @mesh in = [#dist.sharding<@mesh, [{}]>] out = [#dist.sharding<@mesh, [{}]>] : (tensor<4xf32>) -> tensor<4xf32>
  return %0 : tensor<4xf32>
}
func.func private @outer(%x: tensor<4xf32>) -> tensor<4xf32> {
  %0 = call @inner(%x) : (tensor<4xf32>) -> tensor<4xf32>
  return %0 : tensor<4xf32>
}
func.func @step(%x: tensor<8xf32>) -> tensor<8xf32> {
  %0 = dist.manual @outer(%x) over @mesh in = [#dist.sharding<@mesh, [{"data"}]>] out = [#dist.sharding<@mesh, [{"data"}]>] : (tensor<8xf32>) -> tensor<8xf32>
  return %0 : tensor<8xf32>
}

// -----

// Without a mesh there is nothing to do.
// CHECK-LABEL: func @one_device
// CHECK-NOT: dist.local
func.func @one_device(%x: tensor<4xf32>) -> tensor<4xf32> { return %x : tensor<4xf32> }
