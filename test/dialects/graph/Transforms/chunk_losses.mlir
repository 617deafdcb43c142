// RUN: minigptc-opt %s --graph-chunk-losses --canonicalize --cse | FileCheck %s
// RUN: minigptc-opt %s --minigptc-to-exec | FileCheck %s --check-prefix=MEMORY

// 4096 rows of 4096 classes: 8 chunks of 512 rows, 8 MiB of logits each. The readers'
// factor is in the body.
// CHECK-LABEL: func private @linear_cross_entropy_rows
// CHECK-SAME: (%[[W:.*]]: tensor<64x4096xf32>, %[[DW:.*]]: tensor<64x4096xf32> {graph.donate = 0 : i64}, %[[H:.*]]: tensor<512x64xf32>, %[[T:.*]]: tensor<512xi32>) -> (tensor<64x4096xf32>, tensor<512xf32>, tensor<512x64xf32>)
// CHECK-DAG: graph.constant dense<2.500000e-01> : tensor<512x4096xf32>
// CHECK: graph.dot_general %[[H]], %[[W]]
// CHECK: %[[DH:.*]] = graph.dot_general %[[G:.*]], %[[W]]
// CHECK: %[[P:.*]] = graph.dot_general %[[H]], %[[G]]
// CHECK: %[[SUM:.*]] = graph.add %[[DW]], %[[P]]
// CHECK: return %[[SUM]], %{{.*}}, %[[DH]]
// CHECK-LABEL: func @train
// CHECK: %[[ZERO:.*]] = graph.constant dense<0.0
// CHECK: %[[S:.*]]:3 = graph.scan @linear_cross_entropy_rows(%arg1) carried(%[[ZERO]]) cut(%{{.*}}, %{{.*}}) count = 8
// CHECK: %[[LOSS:.*]] = graph.reduce sum, %[[S]]#1
// CHECK: %[[R:.*]] = graph.reshape %[[S]]#2
// CHECK: return %[[LOSS]], %[[R]], %[[S]]#0
// MEMORY-LABEL: exec.block @linear_cross_entropy_rows
// MEMORY: beta = 1.0
// MEMORY-NOT: exec.copy
// MEMORY: exec.return
// MEMORY-LABEL: exec.block @train
// MEMORY-NOT: 4096x4096
// MEMORY-NOT: exec.copy
// MEMORY: exec.call @linear_cross_entropy_rows {{.*}} count = 8 strides = [0, 0, 131072, 2048, 0, 2048, 131072]
// MEMORY-NOT: 4096x4096
// MEMORY: exec.return
func.func @train(%h: tensor<4x1024x64xf32>, %w: tensor<64x4096xf32>, %t: tensor<4x1024xi32>) -> (tensor<f32>, tensor<4x1024x64xf32>, tensor<64x4096xf32>) attributes {graph.entry} {
  %loss, %dh, %dw = graph.linear_cross_entropy %h, %w, %t : (tensor<4x1024x64xf32>, tensor<64x4096xf32>, tensor<4x1024xi32>) -> (tensor<f32>, tensor<4x1024x64xf32>, tensor<64x4096xf32>)
  %c = graph.constant dense<0.25> : tensor<f32>
  %ch = graph.broadcast_in_dim %c, dims = [] : (tensor<f32>) -> tensor<4x1024x64xf32>
  %cw = graph.constant dense<0.25> : tensor<64x4096xf32>
  %0 = graph.multiply %dh, %ch : tensor<4x1024x64xf32>
  %1 = graph.multiply %cw, %dw : tensor<64x4096xf32>
  return %loss, %0, %1 : tensor<f32>, tensor<4x1024x64xf32>, tensor<64x4096xf32>
}

// Without readers of the gradients there are none; 1000 rows have no good divisor, and
// 488 are left over.
// CHECK-LABEL: func private @linear_cross_entropy_rows_0
// CHECK-SAME: -> tensor<256xf32>
// CHECK-LABEL: func @evaluate
// CHECK-DAG: graph.scan @linear_cross_entropy_rows_0(%arg1) carried() cut(%{{.*}}, %{{.*}}) count = 3
// CHECK-DAG: graph.slice %arg0 [768, 0] : [1000, 64]
// CHECK: return
func.func @evaluate(%h: tensor<1000x64xf32>, %w: tensor<20011x64xf32>, %t: tensor<1000xi32>) -> tensor<f32> attributes {graph.entry} {
  %loss, %dh, %dw = graph.linear_cross_entropy %h, %w, %t ignore -1 transposed : (tensor<1000x64xf32>, tensor<20011x64xf32>, tensor<1000xi32>) -> (tensor<f32>, tensor<1000x64xf32>, tensor<20011x64xf32>)
  return %loss : tensor<f32>
}

// Few rows: no loop. Readers with different factors keep them.
// CHECK-LABEL: func @few
// CHECK-NOT: graph.scan
// CHECK-DAG: graph.constant dense<2.500000e-01> : tensor<4x64xf32>
// CHECK: return
func.func @few(%h: tensor<4x64xf32>, %w: tensor<64x10xf32>, %t: tensor<4xi32>) -> (tensor<4x64xf32>, tensor<64x10xf32>) attributes {graph.entry} {
  %loss, %dh, %dw = graph.linear_cross_entropy %h, %w, %t : (tensor<4x64xf32>, tensor<64x10xf32>, tensor<4xi32>) -> (tensor<f32>, tensor<4x64xf32>, tensor<64x10xf32>)
  %ch = graph.constant dense<0.25> : tensor<4x64xf32>
  %0 = graph.multiply %dh, %ch : tensor<4x64xf32>
  return %0, %dw : tensor<4x64xf32>, tensor<64x10xf32>
}

// Parts of a head: the log-sum-exps go on, cut like the rows, into the second walk.
// CHECK-LABEL: func @parts
// CHECK: %[[L:.*]]:2 = graph.scan @{{.*}}(%arg1) carried() cut(%{{.*}}, %{{.*}}) count = 8 : {{.*}} -> (tensor<4096xf32>, tensor<4096xf32>)
// CHECK: %[[G:.*]]:2 = graph.scan @{{.*}}(%arg1) carried(%{{.*}}) cut(%{{.*}}, %{{.*}}, %[[L]]#0) count = 8 : {{.*}} -> (tensor<64x4096xf32>, tensor<4096x64xf32>)
// CHECK: return %[[L]]#1, %[[G]]#1, %[[G]]#0
func.func @parts(%h: tensor<4096x64xf32>, %w: tensor<64x4096xf32>, %t: tensor<4096xi32>) -> (tensor<4096xf32>, tensor<4096x64xf32>, tensor<64x4096xf32>) attributes {graph.entry} {
  %lse, %logit = graph.linear_log_sum_exp %h, %w, %t : (tensor<4096x64xf32>, tensor<64x4096xf32>, tensor<4096xi32>) -> (tensor<4096xf32>, tensor<4096xf32>)
  %dh, %dw = graph.linear_cross_entropy_grad %h, %w, %t, %lse : (tensor<4096x64xf32>, tensor<64x4096xf32>, tensor<4096xi32>, tensor<4096xf32>) -> (tensor<4096x64xf32>, tensor<64x4096xf32>)
  return %logit, %dh, %dw : tensor<4096xf32>, tensor<4096x64xf32>, tensor<64x4096xf32>
}
