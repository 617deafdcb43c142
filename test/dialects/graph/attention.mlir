// RUN: minigptc-opt %s --split-input-file --verify-diagnostics=only-expected | minigptc-opt --split-input-file | FileCheck %s

!q = tensor<2x3x4x8xbf16>
!k = tensor<2x5x2x8xbf16>
!v = tensor<2x5x2x6xbf16>
!o = tensor<2x3x4x6xbf16>
!l = tensor<2x4x3xf32>
// CHECK-LABEL: func @attention
func.func @attention(%q: !q, %k: !k, %v: !v, %m: tensor<1x4x3x5xi1>, %s: tensor<2x3xi32>, %t: tensor<2x5xi32>, %at: tensor<i32>) {
  // CHECK: graph.attention %arg0, %arg1, %arg2 scale = 5.000000e-01 kind = none : tensor<2x3x4x8xbf16>, tensor<2x5x2x8xbf16>, tensor<2x5x2x6xbf16> -> tensor<2x3x4x6xbf16>, tensor<2x4x3xf32>
  %0:2 = graph.attention %q, %k, %v scale = 0.5 kind = none : !q, !k, !v -> !o, !l
  // CHECK: graph.attention %arg0, %arg1, %arg2 mask(%arg3 : tensor<1x4x3x5xi1>) segments(%arg4, %arg5 : tensor<2x3xi32>, tensor<2x5xi32>) offset(%arg6 : tensor<i32>) window = 7 scale = 5.000000e-01 kind = sliding_window
  %1:2 = graph.attention %q, %k, %v offset(%at : tensor<i32>) mask(%m : tensor<1x4x3x5xi1>) segments(%s, %t : tensor<2x3xi32>, tensor<2x5xi32>)
      window = 7 scale = 0.5 kind = sliding_window : !q, !k, !v -> !o, !l
  // CHECK: graph.attention_grad %arg0, %arg1, %arg2, %{{.*}}, %{{.*}}, %{{.*}} scale = 5.000000e-01 kind = none
  %2:3 = graph.attention_grad %q, %k, %v, %0#0, %0#1, %0#0 scale = 0.5 kind = none : !q, !k, !v, !o, !l -> !q, !k, !v
  return
}

// -----

!q = tensor<2x3x4x8xf32>
!k = tensor<2x5x3x8xf32>
// expected-note@+2 {{query f32[2,3,4,8] is defined here}}
// expected-note@+1 {{key f32[2,5,3,8] is defined here}}
func.func @groups(%q: !q, %k: !k) {
  // expected-error@+1 {{'graph.attention' op the 4 heads of query f32[2,3,4,8] are not a multiple of the 3 heads of key f32[2,5,3,8]}}
  %0:2 = graph.attention %q, %k, %k scale = 0.5 kind = none : !q, !k, !k -> !q, tensor<2x4x3xf32>
  return
}

// -----

!q = tensor<2x3x4x8xf32>
!k = tensor<2x5x4x6xf32>
func.func @width(%q: !q, %k: !k) {
  // expected-error@+1 {{query f32[2,3,4,8] and key f32[2,5,4,6] have different batch or head sizes}}
  %0:2 = graph.attention %q, %k, %k scale = 0.5 kind = none : !q, !k, !k -> !q, tensor<2x4x3xf32>
  return
}

// -----

!q = tensor<2x3x4x8xf32>
!v = tensor<2x4x4x8xf32>
func.func @values(%q: !q, %v: !v) {
  // expected-error@+1 {{key f32[2,3,4,8] and value f32[2,4,4,8] may differ in the last dimension only}}
  %0:2 = graph.attention %q, %q, %v scale = 0.5 kind = none : !q, !q, !v -> !q, tensor<2x4x3xf32>
  return
}

// -----

!q = tensor<2x3x4x8xf32>
func.func @mask(%q: !q, %m: tensor<2x3x3xi1>) {
  // expected-error@+1 {{mask i1[2,3,3] must have the shape [2 or 1,4 or 1,3,3], [batch, heads, queries, keys]}}
  %0:2 = graph.attention %q, %q, %q mask(%m : tensor<2x3x3xi1>) scale = 0.5 kind = none : !q, !q, !q -> !q, tensor<2x4x3xf32>
  return
}

// -----

!q = tensor<2x3x4x8xf32>
func.func @segments(%q: !q, %s: tensor<2x4xi32>) {
  // expected-error@+1 {{querySegments i32[2,4] must have the shape [2,3], [batch, queries]}}
  %0:2 = graph.attention %q, %q, %q segments(%s, %s : tensor<2x4xi32>, tensor<2x4xi32>) scale = 0.5 kind = none : !q, !q, !q -> !q, tensor<2x4x3xf32>
  return
}

// -----

!q = tensor<2x3x4x8xf32>
func.func @offset(%q: !q, %at: tensor<1xi32>) {
  // expected-error@+1 {{queryOffset i32[1] must be a scalar}}
  %0:2 = graph.attention %q, %q, %q offset(%at : tensor<1xi32>) scale = 0.5 kind = causal : !q, !q, !q -> !q, tensor<2x4x3xf32>
  return
}

// -----

!q = tensor<2x3x4x8xf32>
func.func @no_window(%q: !q) {
  // expected-error@+1 {{kind sliding_window needs a window}}
  %0:2 = graph.attention %q, %q, %q scale = 0.5 kind = sliding_window : !q, !q, !q -> !q, tensor<2x4x3xf32>
  return
}

// -----

!q = tensor<2x3x4x8xf32>
func.func @window(%q: !q) {
  // expected-error@+1 {{a window needs kind sliding_window}}
  %0:2 = graph.attention %q, %q, %q window = 2 scale = 0.5 kind = causal : !q, !q, !q -> !q, tensor<2x4x3xf32>
  return
}

// -----

!q = tensor<2x3x4x8xf32>
func.func @empty_window(%q: !q) {
  // expected-error@+1 {{window 0 must be at least 1}}
  %0:2 = graph.attention %q, %q, %q window = 0 scale = 0.5 kind = sliding_window : !q, !q, !q -> !q, tensor<2x4x3xf32>
  return
}

// -----

!q = tensor<2x3x4x8xf32>
!l = tensor<2x3x4xf32>
func.func @log_sum_exp(%q: !q, %l: !l) {
  // expected-error@+1 {{logSumExp f32[2,3,4] must be f32[2,4,3], as `graph.attention` gives for query f32[2,3,4,8]}}
  %0:3 = graph.attention_grad %q, %q, %q, %q, %l, %q scale = 0.5 kind = none : !q, !q, !q, !q, !l -> !q, !q, !q
  return
}
