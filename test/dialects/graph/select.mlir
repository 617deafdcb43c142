// RUN: minigptc-opt %s --split-input-file --verify-diagnostics=only-expected | minigptc-opt --split-input-file | FileCheck %s
// RUN: minigptc-opt %s --split-input-file --verify-diagnostics=only-expected --canonicalize | FileCheck %s --check-prefix=FOLD

// CHECK-LABEL: func @select
// FOLD-LABEL: func @select
func.func @select(%p: tensor<2xi1>, %s: tensor<i1>, %x: tensor<2xf32>, %y: tensor<2xf32>)
    -> (tensor<2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>) {
  // CHECK: graph.select %arg0, %arg2, %arg3 : tensor<2xi1>, tensor<2xf32>
  %0 = graph.select %p, %x, %y : tensor<2xi1>, tensor<2xf32>
  // CHECK: graph.select %arg1, %arg2, %arg3 : tensor<i1>, tensor<2xf32>
  %1 = graph.select %s, %x, %y : tensor<i1>, tensor<2xf32>
  %2 = graph.select %p, %x, %x : tensor<2xi1>, tensor<2xf32>
  %false = graph.constant dense<false> : tensor<i1>
  %3 = graph.select %false, %x, %y : tensor<i1>, tensor<2xf32>
  // FOLD: return %{{.*}}, %{{.*}}, %arg2, %arg3
  return %0, %1, %2, %3 : tensor<2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>
}

// -----

// expected-note@+1 {{pred i1[3] is defined here}}
func.func @pred_shape(%p: tensor<3xi1>, %x: tensor<2xf32>) {
  // expected-error@+1 {{'graph.select' op pred i1[3] must be a scalar or have the branches' shape [2]}}
  %0 = graph.select %p, %x, %x : tensor<3xi1>, tensor<2xf32>
  return
}
