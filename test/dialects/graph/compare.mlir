// RUN: minigptc-opt %s --split-input-file --verify-diagnostics=only-expected | minigptc-opt --split-input-file | FileCheck %s
// RUN: minigptc-opt %s --split-input-file --verify-diagnostics=only-expected --canonicalize | FileCheck %s --check-prefix=FOLD

// CHECK-LABEL: func @compare
// FOLD-LABEL: func @compare
func.func @compare(%x: tensor<2xf32>, %i: tensor<2xi32>) -> (tensor<2xi1>, tensor<2xi1>, tensor<2xi1>) {
  // CHECK: graph.compare LT, %arg0, %arg0 : (tensor<2xf32>, tensor<2xf32>) -> tensor<2xi1>
  %0 = graph.compare LT, %x, %x : (tensor<2xf32>, tensor<2xf32>) -> tensor<2xi1>
  // NaN is not equal to itself; integers are.
  // FOLD-DAG: %[[TRUE:.*]] = graph.constant dense<true>
  // FOLD: %[[LT:.*]] = graph.compare LT
  // FOLD: %[[NE:.*]] = graph.compare NE
  // FOLD: return %[[LT]], %[[NE]], %[[TRUE]]
  %1 = graph.compare NE, %x, %x : (tensor<2xf32>, tensor<2xf32>) -> tensor<2xi1>
  %2 = graph.compare GE, %i, %i : (tensor<2xi32>, tensor<2xi32>) -> tensor<2xi1>
  return %0, %1, %2 : tensor<2xi1>, tensor<2xi1>, tensor<2xi1>
}

// FOLD-LABEL: func @constants
func.func @constants() -> (tensor<2xi1>, tensor<i1>, tensor<i1>, tensor<i1>, tensor<i1>) {
  %a = graph.constant dense<[1.0, 3.0]> : tensor<2xf32>
  %b = graph.constant dense<2.0> : tensor<2xf32>
  %nan = graph.constant dense<0x7FC00000> : tensor<f32>
  %max = graph.constant dense<4294967295> : tensor<ui32>
  %one = graph.constant dense<1> : tensor<ui32>
  %m = graph.constant dense<-1> : tensor<i32>
  %n = graph.constant dense<1> : tensor<i32>
  // FOLD-DAG: %[[A:.*]] = graph.constant dense<[true, false]>
  // FOLD-DAG: %[[T:.*]] = graph.constant dense<true>
  // FOLD-DAG: %[[F:.*]] = graph.constant dense<false>
  %0 = graph.compare LT, %a, %b : (tensor<2xf32>, tensor<2xf32>) -> tensor<2xi1>
  %1 = graph.compare NE, %nan, %nan : (tensor<f32>, tensor<f32>) -> tensor<i1>
  %2 = graph.compare GE, %nan, %nan : (tensor<f32>, tensor<f32>) -> tensor<i1>
  %3 = graph.compare GT, %max, %one : (tensor<ui32>, tensor<ui32>) -> tensor<i1>
  %4 = graph.compare GT, %m, %n : (tensor<i32>, tensor<i32>) -> tensor<i1>
  // FOLD: return %[[A]], %[[T]], %[[F]], %[[T]], %[[F]]
  return %0, %1, %2, %3, %4 : tensor<2xi1>, tensor<i1>, tensor<i1>, tensor<i1>, tensor<i1>
}

// -----

func.func @shapes_differ(%x: tensor<2xf32>, %y: tensor<3xf32>) {
  // expected-error@+1 {{'graph.compare' op lhs f32[2] and rhs f32[3] have different shapes}}
  %0 = graph.compare EQ, %x, %y : (tensor<2xf32>, tensor<3xf32>) -> tensor<2xi1>
  return
}

// -----

func.func @unknown_direction(%x: tensor<2xf32>) {
  // expected-error@+1 {{unknown word 'LESS'; there are EQ, NE, LT, LE, GT, GE}}
  %0 = graph.compare LESS, %x, %x : (tensor<2xf32>, tensor<2xf32>) -> tensor<2xi1>
  return
}
