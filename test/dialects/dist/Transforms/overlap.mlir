// RUN: minigptc-opt %s --split-input-file --pass-pipeline='builtin.module(func.func(dist-overlap))' | FileCheck %s

module attributes {dist.overlap} {
  dist.mesh @mesh = <["data"=4]>
  func.func private @layer(%x: tensor<8xf32>, %w: tensor<8x8xf32>) -> tensor<8xf32>
  func.func private @small(%x: tensor<8xf32>) -> tensor<8xf32>

  // The next layer's gather starts before the present layer; the one behind it does not.
  // CHECK-LABEL: func.func @gathers
  // CHECK: %[[A:.*]] = dist.all_gather %arg1 {{.*}}dist.started
  // CHECK-NEXT: %[[S:.*]] = call @small(%arg0)
  // CHECK-NEXT: %[[AW:.*]] = dist.wait %[[A]] : tensor<8x8xf32>
  // CHECK-NEXT: %[[B:.*]] = dist.all_gather %arg2 {{.*}}dist.started
  // CHECK-NEXT: %[[X:.*]] = call @layer(%[[S]], %[[AW]])
  // CHECK-NEXT: %[[BW:.*]] = dist.wait %[[B]]
  // CHECK-NEXT: %[[C:.*]] = dist.all_gather %arg3 {{.*}}dist.started
  // CHECK-NEXT: %[[Y:.*]] = call @layer(%[[X]], %[[BW]])
  // CHECK-NEXT: %[[CW:.*]] = dist.wait %[[C]]
  // CHECK-NEXT: call @layer(%[[Y]], %[[CW]])
  func.func @gathers(%x: tensor<8xf32>, %u: tensor<2x8xf32>, %v: tensor<2x8xf32>, %w: tensor<2x8xf32>) -> tensor<8xf32> {
    %0 = call @small(%x) : (tensor<8xf32>) -> tensor<8xf32>
    %1 = dist.all_gather %u over @mesh ["data"] dims = [0] : (tensor<2x8xf32>) -> tensor<8x8xf32>
    %2 = call @layer(%0, %1) : (tensor<8xf32>, tensor<8x8xf32>) -> tensor<8xf32>
    %3 = dist.all_gather %v over @mesh ["data"] dims = [0] : (tensor<2x8xf32>) -> tensor<8x8xf32>
    %4 = call @layer(%2, %3) : (tensor<8xf32>, tensor<8x8xf32>) -> tensor<8xf32>
    %5 = dist.all_gather %w over @mesh ["data"] dims = [0] : (tensor<2x8xf32>) -> tensor<8x8xf32>
    %6 = call @layer(%4, %5) : (tensor<8xf32>, tensor<8x8xf32>) -> tensor<8xf32>
    return %6 : tensor<8xf32>
  }

  // So it is, too, where a reduction is on its way whose reader comes late.
  // CHECK-LABEL: func.func @gathers_beside_reduction
  // CHECK: %[[R:.*]] = dist.all_reduce {{.*}}dist.started
  // CHECK-NEXT: %[[A:.*]] = dist.all_gather %arg1 {{.*}}dist.started
  // CHECK-NEXT: %[[RW:.*]] = dist.wait %[[R]]
  // CHECK-NEXT: call @small(%[[RW]])
  // CHECK-NEXT: %[[AW:.*]] = dist.wait %[[A]]
  // CHECK-NEXT: %[[B:.*]] = dist.all_gather %arg2 {{.*}}dist.started
  // CHECK-NEXT: %[[X:.*]] = call @layer(%arg0, %[[AW]])
  // CHECK-NEXT: %[[BW:.*]] = dist.wait %[[B]]
  // CHECK-NEXT: %[[C:.*]] = dist.all_gather %arg3 {{.*}}dist.started
  // CHECK-NEXT: call @layer(%[[X]], %[[BW]])
  // CHECK-NEXT: dist.wait %[[C]]
  func.func @gathers_beside_reduction(%x: tensor<8xf32>, %u: tensor<2x8xf32>, %v: tensor<2x8xf32>, %w: tensor<2x8xf32>) -> (tensor<8xf32>, tensor<8xf32>) {
    %r = dist.all_reduce %x over @mesh ["data"] combine = sum : (tensor<8xf32>) -> tensor<8xf32>
    %1 = dist.all_gather %u over @mesh ["data"] dims = [0] : (tensor<2x8xf32>) -> tensor<8x8xf32>
    %2 = call @layer(%x, %1) : (tensor<8xf32>, tensor<8x8xf32>) -> tensor<8xf32>
    %3 = dist.all_gather %v over @mesh ["data"] dims = [0] : (tensor<2x8xf32>) -> tensor<8x8xf32>
    %4 = call @layer(%2, %3) : (tensor<8xf32>, tensor<8x8xf32>) -> tensor<8xf32>
    %5 = dist.all_gather %w over @mesh ["data"] dims = [0] : (tensor<2x8xf32>) -> tensor<8x8xf32>
    %6 = call @layer(%4, %5) : (tensor<8xf32>, tensor<8x8xf32>) -> tensor<8xf32>
    %7 = call @small(%r) : (tensor<8xf32>) -> tensor<8xf32>
    return %6, %7 : tensor<8xf32>, tensor<8xf32>
  }
}

// -----

module attributes {dist.overlap} {
  dist.mesh @mesh = <["data"=4]>
  func.func private @backward(%x: tensor<8xf32>) -> (tensor<8xf32>, tensor<8x8xf32>)
  func.func private @norm(%x: tensor<8x8xf32>) -> tensor<f32>

  // Gradients are reduced while those of the layers before are computed; what reads them waits.
  // CHECK-LABEL: func.func @buckets
  // CHECK: %[[A:.*]]:2 = call @backward(%arg0)
  // CHECK-NEXT: %[[R:.*]] = dist.all_reduce %[[A]]#1 {{.*}}dist.started
  // CHECK-NEXT: %[[B:.*]]:2 = call @backward(%[[A]]#0)
  // CHECK-NEXT: %[[Q:.*]] = dist.all_reduce %[[B]]#1 {{.*}}dist.started
  // CHECK-NEXT: %[[C:.*]]:2 = call @backward(%[[B]]#0)
  // CHECK-NEXT: %[[RW:.*]] = dist.wait %[[R]]
  // CHECK-NEXT: call @norm(%[[RW]])
  // CHECK-NEXT: %[[QW:.*]] = dist.wait %[[Q]]
  // CHECK-NEXT: call @norm(%[[QW]])
  func.func @buckets(%x: tensor<8xf32>) -> (tensor<f32>, tensor<f32>, tensor<8xf32>, tensor<8x8xf32>, tensor<8x8xf32>, tensor<8x8xf32>) {
    %0:2 = call @backward(%x) : (tensor<8xf32>) -> (tensor<8xf32>, tensor<8x8xf32>)
    %1 = dist.all_reduce %0#1 over @mesh ["data"] combine = sum : (tensor<8x8xf32>) -> tensor<8x8xf32>
    %2 = call @norm(%1) : (tensor<8x8xf32>) -> tensor<f32>
    %3:2 = call @backward(%0#0) : (tensor<8xf32>) -> (tensor<8xf32>, tensor<8x8xf32>)
    %4 = dist.all_reduce %3#1 over @mesh ["data"] combine = sum : (tensor<8x8xf32>) -> tensor<8x8xf32>
    %5 = call @norm(%4) : (tensor<8x8xf32>) -> tensor<f32>
    %6:2 = call @backward(%3#0) : (tensor<8xf32>) -> (tensor<8xf32>, tensor<8x8xf32>)
    return %2, %5, %6#0, %6#1, %1, %4 : tensor<f32>, tensor<f32>, tensor<8xf32>, tensor<8x8xf32>, tensor<8x8xf32>, tensor<8x8xf32>
  }

  // One whole gradient at a time is on its way, beside what makes the next.
  // CHECK-LABEL: func.func @scatters
  // CHECK: %[[R:.*]] = dist.reduce_scatter {{.*}}dist.started
  // CHECK-NEXT: call @backward
  // CHECK-NEXT: dist.wait %[[R]]
  // CHECK-NEXT: %[[Q:.*]] = dist.reduce_scatter {{.*}}dist.started
  // CHECK-NEXT: call @backward
  // CHECK-NEXT: dist.wait %[[Q]]
  // CHECK-NEXT: %[[P:.*]] = dist.reduce_scatter {{.*}}dist.started
  // CHECK-NEXT: call @backward
  // CHECK-NEXT: dist.wait %[[P]]
  func.func @scatters(%x: tensor<8xf32>) -> (tensor<8xf32>, tensor<2x8xf32>, tensor<2x8xf32>, tensor<2x8xf32>) {
    %0:2 = call @backward(%x) : (tensor<8xf32>) -> (tensor<8xf32>, tensor<8x8xf32>)
    %1 = dist.reduce_scatter %0#1 over @mesh ["data"] combine = sum dims = [0] : (tensor<8x8xf32>) -> tensor<2x8xf32>
    %2:2 = call @backward(%0#0) : (tensor<8xf32>) -> (tensor<8xf32>, tensor<8x8xf32>)
    %3 = dist.reduce_scatter %2#1 over @mesh ["data"] combine = sum dims = [0] : (tensor<8x8xf32>) -> tensor<2x8xf32>
    %4:2 = call @backward(%2#0) : (tensor<8xf32>) -> (tensor<8xf32>, tensor<8x8xf32>)
    %5 = dist.reduce_scatter %4#1 over @mesh ["data"] combine = sum dims = [0] : (tensor<8x8xf32>) -> tensor<2x8xf32>
    %6:2 = call @backward(%4#0) : (tensor<8xf32>) -> (tensor<8xf32>, tensor<8x8xf32>)
    return %6#0, %1, %3, %5 : tensor<8xf32>, tensor<2x8xf32>, tensor<2x8xf32>, tensor<2x8xf32>
  }
}

// -----

module attributes {dist.overlap} {
  dist.mesh @mesh = <["data"=4]>
  func.func private @wide(%x: tensor<8xf32>) -> tensor<1024xf32>
  func.func private @narrow(%x: tensor<1024xf32>) -> tensor<8xf32>

  // What the collective does not need goes beside it, as the product of a weight's gradient.
  // CHECK-LABEL: func.func @others_beside
  // CHECK: %[[X:.*]] = graph.negate %arg0
  // CHECK-NEXT: %[[R:.*]] = dist.all_reduce %[[X]] {{.*}}dist.started
  // CHECK-NEXT: graph.exponential %arg0
  // CHECK-NEXT: dist.wait %[[R]]
  func.func @others_beside(%x: tensor<8xf32>) -> (tensor<8xf32>, tensor<8xf32>) {
    %0 = graph.exponential %x : tensor<8xf32>
    %1 = graph.negate %x : tensor<8xf32>
    %2 = dist.all_reduce %1 over @mesh ["data"] combine = sum : (tensor<8xf32>) -> tensor<8xf32>
    %3 = graph.negate %2 : tensor<8xf32>
    return %0, %3 : tensor<8xf32>, tensor<8xf32>
  }

  // Where nothing can go on beside it, a collective is done at once.
  // CHECK-LABEL: func.func @chain
  // CHECK: dist.all_reduce %arg0 over @mesh ["data"] combine = sum :
  // CHECK-NOT: dist.wait
  func.func @chain(%x: tensor<8xf32>) -> tensor<8xf32> {
    %0 = dist.all_reduce %x over @mesh ["data"] combine = sum : (tensor<8xf32>) -> tensor<8xf32>
    %1 = graph.negate %0 : tensor<8xf32>
    return %1 : tensor<8xf32>
  }

  // What would need more memory than before at a time stays where it is.
  // CHECK-LABEL: func.func @peak
  // CHECK: dist.all_reduce %arg0
  // CHECK: call @wide
  // CHECK: call @narrow
  // CHECK: call @wide
  // CHECK: call @narrow
  func.func @peak(%x: tensor<8xf32>, %y: tensor<8xf32>) -> (tensor<8xf32>, tensor<8xf32>) {
    %0 = dist.all_reduce %x over @mesh ["data"] combine = sum : (tensor<8xf32>) -> tensor<8xf32>
    %1 = call @wide(%0) : (tensor<8xf32>) -> tensor<1024xf32>
    %2 = call @narrow(%1) : (tensor<1024xf32>) -> tensor<8xf32>
    %3 = dist.all_reduce %2 over @mesh ["data"] combine = sum : (tensor<8xf32>) -> tensor<8xf32>
    %4 = call @wide(%y) : (tensor<8xf32>) -> tensor<1024xf32>
    %5 = call @narrow(%4) : (tensor<1024xf32>) -> tensor<8xf32>
    return %3, %5 : tensor<8xf32>, tensor<8xf32>
  }
}

// -----

// Work does not go over messages: a stage that waits has done before what it was to do until then.
// CHECK-LABEL: func.func @step.0
// CHECK: dist.send
// CHECK-NEXT: call @fwd
// CHECK-NEXT: dist.recv
// CHECK-NEXT: call @bwd
// CHECK-NEXT: dist.all_reduce
// CHECK-NEXT: dist.send
// CHECK-NEXT: dist.wait
module attributes {dist.overlap} {
  dist.mesh @mesh = <["stage"=2, "data"=2]>
  func.func private @fwd(%x: tensor<8xf32>) -> tensor<8xf32>
  func.func private @bwd(%x: tensor<8xf32>) -> tensor<8xf32>
  func.func @step.0(%x: tensor<8xf32>) -> tensor<8xf32> attributes {dist.stage = 0 : i64, dist.stage_of = "step"} {
    %s = call @fwd(%x) : (tensor<8xf32>) -> tensor<8xf32>
    dist.send %s to 1 tag = 0 : tensor<8xf32>
    %f = call @fwd(%s) : (tensor<8xf32>) -> tensor<8xf32>
    %r = dist.recv from 1 tag = 1 : tensor<8xf32>
    %n = call @bwd(%r) : (tensor<8xf32>) -> tensor<8xf32>
    %a = dist.all_reduce %n over @mesh ["data"] combine = sum : (tensor<8xf32>) -> tensor<8xf32>
    dist.send %f to 1 tag = 2 : tensor<8xf32>
    return %a : tensor<8xf32>
  }
}
