// RUN: minigptc-opt %s --dist-bucket | FileCheck %s
// RUN: minigptc-opt %s --dist-bucket=bucket-bytes=16 | FileCheck %s --check-prefix=SMALL

dist.mesh @mesh = <["data"=4]>

#a = #dist.origin<why = "a", annotation = "", instead = "", tensor = "">
#b = #dist.origin<why = "b", annotation = "", instead = "", tensor = "">

// What does not wait goes together, whatever its type.
// CHECK-LABEL: func.func private @together
// CHECK: %[[S:.*]] = graph.sine %arg1
// CHECK: %[[R:.*]]:2 = dist.all_reduce %arg0, %[[S]] over @mesh ["data"] combine = sum {dist.origins = [#{{.*}}, #{{.*}}]} : (tensor<4xf32>, tensor<2xbf16>) -> (tensor<4xf32>, tensor<2xbf16>)
// CHECK-NEXT: graph.cosine %[[R]]#0
// CHECK-NEXT: dist.all_reduce %{{.*}} over @mesh ["data"] combine = max
// CHECK-NOT: dist.all_reduce
// SMALL-LABEL: func.func private @together
// SMALL-COUNT-3: dist.all_reduce
// SMALL: return
func.func private @together(%x: tensor<4xf32>, %y: tensor<2xbf16>) -> (tensor<4xf32>, tensor<2xbf16>, tensor<4xf32>) {
  %0 = dist.all_reduce %x over @mesh ["data"] combine = sum {dist.origins = [#a]} : (tensor<4xf32>) -> tensor<4xf32>
  %c = graph.cosine %0 : tensor<4xf32>
  %s = graph.sine %y : tensor<2xbf16>
  %1 = dist.all_reduce %s over @mesh ["data"] combine = sum {dist.origins = [#b]} : (tensor<2xbf16>) -> tensor<2xbf16>
  %2 = dist.all_reduce %x over @mesh ["data"] combine = max : (tensor<4xf32>) -> tensor<4xf32>
  return %c, %1, %2 : tensor<4xf32>, tensor<2xbf16>, tensor<4xf32>
}

// Dimensions go along. One that needs another's result waits.
// CHECK-LABEL: func.func private @gathers(
// CHECK: %[[G:.*]]:2 = dist.all_gather %arg0, %arg1 over @mesh ["data"] dims = [0, 1]
// CHECK: dist.all_gather %[[G]]#0 over @mesh ["data"] dims = [0]
func.func private @gathers(%x: tensor<4xf32>, %y: tensor<2x2xf32>) -> (tensor<64xf32>, tensor<2x8xf32>) {
  %0 = dist.all_gather %x over @mesh ["data"] dims = [0] : (tensor<4xf32>) -> tensor<16xf32>
  %1 = dist.all_gather %0 over @mesh ["data"] dims = [0] : (tensor<16xf32>) -> tensor<64xf32>
  %2 = dist.all_gather %y over @mesh ["data"] dims = [1] : (tensor<2x2xf32>) -> tensor<2x8xf32>
  return %1, %2 : tensor<64xf32>, tensor<2x8xf32>
}

// Gradients that come one after the other from calls that communicate are reduced together
// at the end. What has no use is gone.
// CHECK-LABEL: func.func private @backward
// CHECK: %[[A:.*]]:2 = call @step(%arg0)
// CHECK-NEXT: %[[B:.*]]:2 = call @step(%[[A]]#0)
// CHECK-NEXT: %[[R:.*]]:2 = dist.all_reduce %[[A]]#1, %[[B]]#1
// CHECK-NEXT: return %[[R]]#0, %[[R]]#1
func.func private @backward(%x: tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>) {
  %a:2 = call @step(%x) : (tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>)
  %0 = dist.all_reduce %a#1 over @mesh ["data"] combine = sum : (tensor<4xf32>) -> tensor<4xf32>
  %b:2 = call @step(%a#0) : (tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>)
  %1 = dist.all_reduce %b#1 over @mesh ["data"] combine = sum : (tensor<4xf32>) -> tensor<4xf32>
  %2 = dist.all_reduce %b#0 over @mesh ["data"] combine = sum : (tensor<4xf32>) -> tensor<4xf32>
  return %0, %1 : tensor<4xf32>, tensor<4xf32>
}
// Neither as many before nor as many behind, but neither waits for the other.
// CHECK-LABEL: func.func private @independent
// CHECK: %[[M:.*]] = dist.all_reduce %arg0 over @mesh ["data"] combine = max
// CHECK: %[[R:.*]]:2 = dist.all_reduce %[[M]], %arg1 over @mesh ["data"] combine = sum
// CHECK: dist.all_reduce %[[R]]#1 over @mesh ["data"] combine = min
func.func private @independent(%x: tensor<4xf32>, %y: tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>) {
  %0 = dist.all_reduce %x over @mesh ["data"] combine = max : (tensor<4xf32>) -> tensor<4xf32>
  %1 = dist.all_reduce %0 over @mesh ["data"] combine = sum : (tensor<4xf32>) -> tensor<4xf32>
  %2 = dist.all_reduce %y over @mesh ["data"] combine = sum : (tensor<4xf32>) -> tensor<4xf32>
  %3 = dist.all_reduce %2 over @mesh ["data"] combine = min : (tensor<4xf32>) -> tensor<4xf32>
  return %1, %3 : tensor<4xf32>, tensor<4xf32>
}

// What is gathered for later is not gathered now.
// CHECK-LABEL: func.func private @gather_later
// CHECK: dist.all_gather %arg0 over
// CHECK: call @step
// CHECK: dist.all_gather %arg1 over
func.func private @gather_later(%x: tensor<1xf32>, %y: tensor<1xf32>) -> (tensor<4xf32>, tensor<4xf32>) {
  %0 = dist.all_gather %x over @mesh ["data"] dims = [0] : (tensor<1xf32>) -> tensor<4xf32>
  %a:2 = call @step(%0) : (tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>)
  %1 = dist.all_gather %y over @mesh ["data"] dims = [0] : (tensor<1xf32>) -> tensor<4xf32>
  return %a#0, %1 : tensor<4xf32>, tensor<4xf32>
}

// A long function holds no more than twice the largest of what it gathers, or has yet to scatter.
// CHECK-LABEL: func.func private @long(
// CHECK: dist.all_gather %arg0, %arg1 over
// CHECK: graph.add
// CHECK-NEXT: dist.all_gather %arg2 over
// CHECK: dist.reduce_scatter %{{.*}}, %{{.*}} over
// CHECK-NEXT: graph.sine
// CHECK-NEXT: dist.reduce_scatter %{{.*}} over
func.func private @long(%x: tensor<1xf32>, %y: tensor<1xf32>, %z: tensor<1xf32>) -> (tensor<1xf32>, tensor<1xf32>, tensor<1xf32>) {
  %0 = dist.all_gather %x over @mesh ["data"] dims = [0] : (tensor<1xf32>) -> tensor<4xf32>
  %1 = dist.all_gather %y over @mesh ["data"] dims = [0] : (tensor<1xf32>) -> tensor<4xf32>
  %a = graph.add %0, %1 : tensor<4xf32>
  %2 = dist.all_gather %z over @mesh ["data"] dims = [0] : (tensor<1xf32>) -> tensor<4xf32>
  %b = graph.add %a, %2 : tensor<4xf32>
  %c = graph.negate %b : tensor<4xf32>
  %3 = dist.reduce_scatter %b over @mesh ["data"] combine = sum dims = [0] : (tensor<4xf32>) -> tensor<1xf32>
  %4 = dist.reduce_scatter %c over @mesh ["data"] combine = sum dims = [0] : (tensor<4xf32>) -> tensor<1xf32>
  %d = graph.sine %b : tensor<4xf32>
  %5 = dist.reduce_scatter %d over @mesh ["data"] combine = sum dims = [0] : (tensor<4xf32>) -> tensor<1xf32>
  return %3, %4, %5 : tensor<1xf32>, tensor<1xf32>, tensor<1xf32>
}

// What is returned is not held for later.
// CHECK-LABEL: func.func private @returned(
// CHECK: dist.all_gather %arg0, %arg1, %arg2 over
func.func private @returned(%x: tensor<1xf32>, %y: tensor<1xf32>, %z: tensor<1xf32>) -> (tensor<4xf32>, tensor<4xf32>, tensor<4xf32>) {
  %0 = dist.all_gather %x over @mesh ["data"] dims = [0] : (tensor<1xf32>) -> tensor<4xf32>
  %1 = dist.all_gather %y over @mesh ["data"] dims = [0] : (tensor<1xf32>) -> tensor<4xf32>
  %2 = dist.all_gather %z over @mesh ["data"] dims = [0] : (tensor<1xf32>) -> tensor<4xf32>
  return %0, %1, %2 : tensor<4xf32>, tensor<4xf32>, tensor<4xf32>
}

// A layer, which its caller calls twice, gathers everything at once; equal gathers are one.
// CHECK-LABEL: func.func private @layer(
// CHECK-NEXT: %[[G:.*]]:3 = dist.all_gather %arg0, %arg1, %arg2 over
// CHECK-NEXT: graph.add %[[G]]#0, %[[G]]#1
// CHECK-NEXT: graph.add %{{.*}}, %[[G]]#2
// CHECK-NEXT: graph.add %{{.*}}, %[[G]]#0
// CHECK-NEXT: return
func.func private @layer(%x: tensor<1xf32>, %y: tensor<1xf32>, %z: tensor<1xf32>) -> tensor<4xf32> {
  %0 = dist.all_gather %x over @mesh ["data"] dims = [0] : (tensor<1xf32>) -> tensor<4xf32>
  %1 = dist.all_gather %y over @mesh ["data"] dims = [0] : (tensor<1xf32>) -> tensor<4xf32>
  %a = graph.add %0, %1 : tensor<4xf32>
  %2 = dist.all_gather %z over @mesh ["data"] dims = [0] : (tensor<1xf32>) -> tensor<4xf32>
  %b = graph.add %a, %2 : tensor<4xf32>
  %3 = dist.all_gather %x over @mesh ["data"] dims = [0] : (tensor<1xf32>) -> tensor<4xf32>
  %c = graph.add %b, %3 : tensor<4xf32>
  return %c : tensor<4xf32>
}
// What is gathered again after others is numbered, so that it is not taken for the first.
// CHECK-LABEL: func.func private @again(
// CHECK: dist.all_gather %arg0 over {{.*}} dims = [0] :
// CHECK: call @layer
// CHECK: call @layer
// CHECK: dist.all_gather %arg0 over {{.*}} dims = [0] {dist.again = 1 : i64} :
func.func private @again(%x: tensor<1xf32>) -> (tensor<4xf32>, tensor<4xf32>) {
  %0 = dist.all_gather %x over @mesh ["data"] dims = [0] : (tensor<1xf32>) -> tensor<4xf32>
  %s = graph.sine %0 : tensor<4xf32>
  %a = call @layer(%x, %x, %x) : (tensor<1xf32>, tensor<1xf32>, tensor<1xf32>) -> tensor<4xf32>
  %b = call @layer(%x, %x, %x) : (tensor<1xf32>, tensor<1xf32>, tensor<1xf32>) -> tensor<4xf32>
  %c = graph.add %a, %b : tensor<4xf32>
  %1 = dist.all_gather %x over @mesh ["data"] dims = [0] : (tensor<1xf32>) -> tensor<4xf32>
  %d = graph.add %c, %1 : tensor<4xf32>
  return %s, %d : tensor<4xf32>, tensor<4xf32>
}

// CHECK-LABEL: func.func private @scatter
// CHECK-NEXT: dist.reduce_scatter %arg0 over @mesh ["data"] combine = sum dims = [0] : (tensor<8xf32>) -> tensor<2xf32>
// CHECK-NEXT: return
func.func private @scatter(%x: tensor<8xf32>) -> tensor<2xf32> {
  %0 = dist.all_reduce %x over @mesh ["data"] combine = sum : (tensor<8xf32>) -> tensor<8xf32>
  %1 = dist.all_slice %0 over @mesh ["data"] dims = [0] : (tensor<8xf32>) -> tensor<2xf32>
  return %1 : tensor<2xf32>
}

func.func private @step(%x: tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>) {
  %0 = dist.all_reduce %x over @mesh ["data"] combine = sum : (tensor<4xf32>) -> tensor<4xf32>
  return %0, %x : tensor<4xf32>, tensor<4xf32>
}
