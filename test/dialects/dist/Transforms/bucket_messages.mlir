// RUN: minigptc-opt %s --dist-bucket | FileCheck %s

dist.mesh @mesh = <["stage"=2, "data"=2]>

// Of a norm a part comes from another stage, between two gradients; both are reduced before it, and
// so is the loss, which is known long before and needed last.
// CHECK-LABEL: func.func private @norm
// CHECK: dist.send %{{.*}} tag = 0
// CHECK: dist.all_reduce %{{.*}}, %{{.*}}, %{{.*}} over @mesh ["data"] combine = sum
// CHECK: dist.recv from 0 tag = 1
// CHECK-NOT: dist.all_reduce
// CHECK: dist.send %{{.*}} tag = 2
// CHECK-NOT: dist.all_reduce
// CHECK: return
func.func private @norm(%x: tensor<4xf32>, %y: tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>, tensor<4xf32>) {
  %loss = graph.sine %x : tensor<4xf32>
  dist.send %x to 0 tag = 0 : tensor<4xf32>
  %g = graph.cosine %x : tensor<4xf32>
  %h = graph.cosine %y : tensor<4xf32>
  %0 = dist.all_reduce %g over @mesh ["data"] combine = sum : (tensor<4xf32>) -> tensor<4xf32>
  %1 = graph.multiply %0, %0 : tensor<4xf32>
  %part = dist.recv from 0 tag = 1 : tensor<4xf32>
  %2 = graph.add %part, %1 : tensor<4xf32>
  %3 = dist.all_reduce %h over @mesh ["data"] combine = sum : (tensor<4xf32>) -> tensor<4xf32>
  %4 = graph.multiply %3, %3 : tensor<4xf32>
  %5 = graph.add %2, %4 : tensor<4xf32>
  dist.send %5 to 0 tag = 2 : tensor<4xf32>
  %6 = dist.all_reduce %loss over @mesh ["data"] combine = sum : (tensor<4xf32>) -> tensor<4xf32>
  return %0, %3, %6 : tensor<4xf32>, tensor<4xf32>, tensor<4xf32>
}

// What is made of a message is reduced behind it, and what a message takes before it.
// CHECK-LABEL: func.func private @ends
// CHECK: dist.all_reduce %arg0 over
// CHECK-NEXT: dist.send
// CHECK-NEXT: %[[R:.*]] = dist.recv from 0 tag = 1
// CHECK-NEXT: dist.all_reduce %[[R]] over
func.func private @ends(%x: tensor<4xf32>) -> tensor<4xf32> {
  %0 = dist.all_reduce %x over @mesh ["data"] combine = sum : (tensor<4xf32>) -> tensor<4xf32>
  dist.send %0 to 0 tag = 0 : tensor<4xf32>
  %1 = dist.recv from 0 tag = 1 : tensor<4xf32>
  %2 = dist.all_reduce %1 over @mesh ["data"] combine = sum : (tensor<4xf32>) -> tensor<4xf32>
  return %2 : tensor<4xf32>
}
