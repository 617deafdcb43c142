// RUN: minigptc-opt %s --split-input-file "--pass-pipeline=builtin.module(func.func(graph-stack-sums))" | FileCheck %s

// CHECK-LABEL: func @four
func.func @four(%x: tensor<4x8xf32>) -> tensor<f32> {
  // CHECK: %[[A:.*]] = graph.reduce max, %arg0
  // CHECK: %[[B:.*]] = graph.reduce sum, %arg0
  %a = graph.reduce max, %x, dims = [0, 1] : (tensor<4x8xf32>) -> tensor<f32>
  %b = graph.reduce sum, %x, dims = [0, 1] : (tensor<4x8xf32>) -> tensor<f32>
  %0 = graph.add %a, %b : tensor<f32>
  %1 = graph.add %0, %a : tensor<f32>
  // CHECK-NOT: graph.add
  // CHECK-DAG: %[[A1:.*]] = graph.reshape %[[A]] : (tensor<f32>) -> tensor<1xf32>
  // CHECK-DAG: %[[B1:.*]] = graph.reshape %[[B]] : (tensor<f32>) -> tensor<1xf32>
  // CHECK: %[[S:.*]] = graph.concatenate {{.*}} dim = 0 : {{.*}} -> tensor<4xf32>
  // CHECK: %[[R:.*]] = graph.reduce sum, %[[S]], dims = [0]
  %2 = graph.add %1, %b : tensor<f32>
  // CHECK: return %[[R]]
  return %2 : tensor<f32>
}

// -----

// Too short; a part that is no reduction; a sum that is read elsewhere, too; bf16.
// CHECK-LABEL: func @stay
// CHECK-NOT: graph.concatenate
func.func @stay(%x: tensor<4x8xf32>, %y: tensor<f32>, %z: tensor<4xbf16>)
    -> (tensor<f32>, tensor<f32>, tensor<f32>, tensor<f32>, tensor<bf16>) {
  %a = graph.reduce max, %x, dims = [0, 1] : (tensor<4x8xf32>) -> tensor<f32>
  %0 = graph.add %a, %a : tensor<f32>
  %1 = graph.add %0, %a : tensor<f32>
  %2 = graph.add %a, %a : tensor<f32>
  %3 = graph.add %2, %y : tensor<f32>
  %4 = graph.add %3, %a : tensor<f32>
  %5 = graph.add %a, %a : tensor<f32>
  %6 = graph.add %5, %a : tensor<f32>
  %7 = graph.add %6, %a : tensor<f32>
  %c = graph.reduce max, %z, dims = [0] : (tensor<4xbf16>) -> tensor<bf16>
  %8 = graph.add %c, %c : tensor<bf16>
  %9 = graph.add %8, %c : tensor<bf16>
  %10 = graph.add %9, %c : tensor<bf16>
  return %1, %4, %5, %7, %10 : tensor<f32>, tensor<f32>, tensor<f32>, tensor<f32>, tensor<bf16>
}

// -----

// A longer chain: the first stack is short, the others have the sum so far and 15 more.
// CHECK-LABEL: func @eighteen
// CHECK: graph.concatenate {{.*}} -> tensor<3xf32>
// CHECK: graph.reduce sum, {{.*}} : (tensor<3xf32>) -> tensor<f32>
// CHECK: graph.concatenate {{.*}} -> tensor<16xf32>
// CHECK: %[[R:.*]] = graph.reduce sum, {{.*}} : (tensor<16xf32>) -> tensor<f32>
// CHECK-NOT: graph.add
// CHECK: return %[[R]]
func.func @eighteen(%x: tensor<4x8xf32>) -> tensor<f32> {
  %a = graph.reduce max, %x, dims = [0, 1] : (tensor<4x8xf32>) -> tensor<f32>
  %1 = graph.add %a, %a : tensor<f32>
  %2 = graph.add %1, %a : tensor<f32>
  %3 = graph.add %2, %a : tensor<f32>
  %4 = graph.add %3, %a : tensor<f32>
  %5 = graph.add %4, %a : tensor<f32>
  %6 = graph.add %5, %a : tensor<f32>
  %7 = graph.add %6, %a : tensor<f32>
  %8 = graph.add %7, %a : tensor<f32>
  %9 = graph.add %8, %a : tensor<f32>
  %10 = graph.add %9, %a : tensor<f32>
  %11 = graph.add %10, %a : tensor<f32>
  %12 = graph.add %11, %a : tensor<f32>
  %13 = graph.add %12, %a : tensor<f32>
  %14 = graph.add %13, %a : tensor<f32>
  %15 = graph.add %14, %a : tensor<f32>
  %16 = graph.add %15, %a : tensor<f32>
  %17 = graph.add %16, %a : tensor<f32>
  return %17 : tensor<f32>
}
