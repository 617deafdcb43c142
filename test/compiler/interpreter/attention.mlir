// Attention and its gradient. Keys are zero where only the masks are of interest:
// then a query's result is the mean of the values that it attends to.
// RUN: minigptc-opt %s --run | FileCheck %s
// RUN: minigptc-opt %s --graph-decompose --run | FileCheck %s

// CHECK-LABEL: @test_scores
func.func @test_scores() -> (tensor<1x1x1x2xf32>, tensor<1x1x1xf32>) {
  // Scores 0.5 · (2, 2 + 2 log 3): weights 1/4 and 3/4, sum e + 3e.
  %q = graph.constant dense<[[[[2.0]]]]> : tensor<1x1x1x1xf32>
  %k = graph.constant dense<[[[[1.0]], [[2.0986123]]]]> : tensor<1x2x1x1xf32>
  %v = graph.constant dense<[[[[4.0, 0.0]], [[8.0, -4.0]]]]> : tensor<1x2x1x2xf32>
  %0:2 = graph.attention %q, %k, %v scale = 0.5 kind = none
    : tensor<1x1x1x1xf32>, tensor<1x2x1x1xf32>, tensor<1x2x1x2xf32> -> tensor<1x1x1x2xf32>, tensor<1x1x1xf32>
  // CHECK-NEXT: [{{\[}}[{{\[}}7, -3]]]]
  // CHECK-NEXT: [{{\[}}[2.38629]]]
  return %0#0, %0#1 : tensor<1x1x1x2xf32>, tensor<1x1x1xf32>
}

// CHECK-LABEL: @test_causal
func.func @test_causal() -> (tensor<1x3x1x1xf32>, tensor<1x3x1x1xf32>, tensor<1x1x3xf32>) {
  %q = graph.constant dense<1.0> : tensor<1x3x1x1xf32>
  %k = graph.constant dense<0.0> : tensor<1x3x1x1xf32>
  %v = graph.constant dense<[[[[3.0]], [[5.0]], [[10.0]]]]> : tensor<1x3x1x1xf32>
  %0:2 = graph.attention %q, %k, %v scale = 1.0 kind = causal
    : tensor<1x3x1x1xf32>, tensor<1x3x1x1xf32>, tensor<1x3x1x1xf32> -> tensor<1x3x1x1xf32>, tensor<1x1x3xf32>
  %1:2 = graph.attention %q, %k, %v window = 2 scale = 1.0 kind = sliding_window
    : tensor<1x3x1x1xf32>, tensor<1x3x1x1xf32>, tensor<1x3x1x1xf32> -> tensor<1x3x1x1xf32>, tensor<1x1x3xf32>
  // CHECK-NEXT: [{{\[}}[{{\[}}3]], {{\[}}[4]], {{\[}}[6]]]]
  // CHECK-NEXT: [{{\[}}[{{\[}}3]], {{\[}}[4]], {{\[}}[7.5]]]]
  // The log of the number of keys.
  // CHECK-NEXT: [{{\[}}[0, 0.693147, 1.09861]]]
  return %0#0, %1#0, %0#1 : tensor<1x3x1x1xf32>, tensor<1x3x1x1xf32>, tensor<1x1x3xf32>
}

// CHECK-LABEL: @test_query_offset
func.func @test_query_offset() -> tensor<1x1x1x1xf32> {
  // One query, at position 1 of 3 keys.
  %q = graph.constant dense<1.0> : tensor<1x1x1x1xf32>
  %k = graph.constant dense<0.0> : tensor<1x3x1x1xf32>
  %v = graph.constant dense<[[[[3.0]], [[5.0]], [[10.0]]]]> : tensor<1x3x1x1xf32>
  %one = graph.constant dense<1> : tensor<i32>
  %0:2 = graph.attention %q, %k, %v offset(%one : tensor<i32>) scale = 1.0 kind = causal
    : tensor<1x1x1x1xf32>, tensor<1x3x1x1xf32>, tensor<1x3x1x1xf32> -> tensor<1x1x1x1xf32>, tensor<1x1x1xf32>
  // CHECK-NEXT: [{{\[}}[{{\[}}4]]]]
  return %0#0 : tensor<1x1x1x1xf32>
}

// A row without keys gives zeros and -inf.
// CHECK-LABEL: @test_mask
func.func @test_mask() -> (tensor<1x3x1x1xf32>, tensor<1x1x3xf32>) {
  %q = graph.constant dense<1.0> : tensor<1x3x1x1xf32>
  %k = graph.constant dense<0.0> : tensor<1x2x1x1xf32>
  %v = graph.constant dense<[[[[3.0]], [[5.0]]]]> : tensor<1x2x1x1xf32>
  %mask = graph.constant dense<[[[[true, true], [false, true], [false, false]]]]> : tensor<1x1x3x2xi1>
  %0:2 = graph.attention %q, %k, %v mask(%mask : tensor<1x1x3x2xi1>) scale = 1.0 kind = none
    : tensor<1x3x1x1xf32>, tensor<1x2x1x1xf32>, tensor<1x2x1x1xf32> -> tensor<1x3x1x1xf32>, tensor<1x1x3xf32>
  // CHECK-NEXT: [{{\[}}[{{\[}}4]], {{\[}}[5]], {{\[}}[0]]]]
  // CHECK-NEXT: [{{\[}}[0.693147, 0, -inf]]]
  return %0#0, %0#1 : tensor<1x3x1x1xf32>, tensor<1x1x3xf32>
}

// CHECK-LABEL: @test_segments
func.func @test_segments() -> tensor<1x3x1x1xf32> {
  %q = graph.constant dense<1.0> : tensor<1x3x1x1xf32>
  %k = graph.constant dense<0.0> : tensor<1x3x1x1xf32>
  %v = graph.constant dense<[[[[3.0]], [[5.0]], [[10.0]]]]> : tensor<1x3x1x1xf32>
  %ids = graph.constant dense<[[0, 0, 1]]> : tensor<1x3xi32>
  %0:2 = graph.attention %q, %k, %v segments(%ids, %ids : tensor<1x3xi32>, tensor<1x3xi32>) scale = 1.0 kind = none
    : tensor<1x3x1x1xf32>, tensor<1x3x1x1xf32>, tensor<1x3x1x1xf32> -> tensor<1x3x1x1xf32>, tensor<1x1x3xf32>
  // CHECK-NEXT: [{{\[}}[{{\[}}4]], {{\[}}[4]], {{\[}}[10]]]]
  return %0#0 : tensor<1x3x1x1xf32>
}

// CHECK-LABEL: @test_grouped_heads
func.func @test_grouped_heads() -> tensor<1x1x4x1xf32> {
  // Four query heads, two key heads: 0 and 1 read the first, 2 and 3 the second.
  %q = graph.constant dense<1.0> : tensor<1x1x4x1xf32>
  %k = graph.constant dense<0.0> : tensor<1x2x2x1xf32>
  %v = graph.constant dense<[[[[1.0], [10.0]], [[3.0], [30.0]]]]> : tensor<1x2x2x1xf32>
  %0:2 = graph.attention %q, %k, %v scale = 1.0 kind = none
    : tensor<1x1x4x1xf32>, tensor<1x2x2x1xf32>, tensor<1x2x2x1xf32> -> tensor<1x1x4x1xf32>, tensor<1x4x1xf32>
  // CHECK-NEXT: [{{\[}}[{{\[}}2], [2], [20], [20]]]]
  return %0#0 : tensor<1x1x4x1xf32>
}

// CHECK-LABEL: @test_attention_grad
func.func @test_attention_grad() -> (tensor<1x1x1x1xf32>, tensor<1x2x1x1xf32>, tensor<1x2x1x1xf32>) {
  // The scores of @test_scores, values 4 and 8, so weights 1/4, 3/4 and result 7.
  // With the cotangent 1: dv = (1/4, 3/4); ds = p ∘ (v - 7) = (-3/4, 3/4);
  // dk = 0.5 · 2 · ds; dq = 0.5 · ds·k = 0.375 · 1.0986123.
  %q = graph.constant dense<[[[[2.0]]]]> : tensor<1x1x1x1xf32>
  %k = graph.constant dense<[[[[1.0]], [[2.0986123]]]]> : tensor<1x2x1x1xf32>
  %v = graph.constant dense<[[[[4.0]], [[8.0]]]]> : tensor<1x2x1x1xf32>
  %one = graph.constant dense<1.0> : tensor<1x1x1x1xf32>
  %0:2 = graph.attention %q, %k, %v scale = 0.5 kind = none
    : tensor<1x1x1x1xf32>, tensor<1x2x1x1xf32>, tensor<1x2x1x1xf32> -> tensor<1x1x1x1xf32>, tensor<1x1x1xf32>
  %1:3 = graph.attention_grad %q, %k, %v, %0#0, %0#1, %one scale = 0.5 kind = none
    : tensor<1x1x1x1xf32>, tensor<1x2x1x1xf32>, tensor<1x2x1x1xf32>, tensor<1x1x1x1xf32>, tensor<1x1x1xf32>
    -> tensor<1x1x1x1xf32>, tensor<1x2x1x1xf32>, tensor<1x2x1x1xf32>
  // CHECK-NEXT: [{{\[}}[{{\[}}{{0.41198|0.411979}}]]]]
  // CHECK-NEXT: [{{\[}}[{{\[}}-0.75]], {{\[}}[0.75]]]]
  // CHECK-NEXT: [{{\[}}[{{\[}}0.25]], {{\[}}[0.75]]]]
  return %1#0, %1#1, %1#2 : tensor<1x1x1x1xf32>, tensor<1x2x1x1xf32>, tensor<1x2x1x1xf32>
}

// Heads of one group add up in the gradients of their key and value; a query
// without keys gives none.
// CHECK-LABEL: @test_attention_grad_of_groups
func.func @test_attention_grad_of_groups() -> (tensor<1x2x2x1xf32>, tensor<1x2x1x1xf32>) {
  %q = graph.constant dense<1.0> : tensor<1x2x2x1xf32>
  %k = graph.constant dense<0.0> : tensor<1x2x1x1xf32>
  %v = graph.constant dense<[[[[4.0]], [[8.0]]]]> : tensor<1x2x1x1xf32>
  %ct = graph.constant dense<[[[[1.0], [2.0]], [[100.0], [100.0]]]]> : tensor<1x2x2x1xf32>
  %mask = graph.constant dense<[[[[true, true], [false, false]]]]> : tensor<1x1x2x2xi1>
  %0:2 = graph.attention %q, %k, %v mask(%mask : tensor<1x1x2x2xi1>) scale = 1.0 kind = none
    : tensor<1x2x2x1xf32>, tensor<1x2x1x1xf32>, tensor<1x2x1x1xf32> -> tensor<1x2x2x1xf32>, tensor<1x2x2xf32>
  %1:3 = graph.attention_grad %q, %k, %v, %0#0, %0#1, %ct mask(%mask : tensor<1x1x2x2xi1>) scale = 1.0 kind = none
    : tensor<1x2x2x1xf32>, tensor<1x2x1x1xf32>, tensor<1x2x1x1xf32>, tensor<1x2x2x1xf32>, tensor<1x2x2xf32>
    -> tensor<1x2x2x1xf32>, tensor<1x2x1x1xf32>, tensor<1x2x1x1xf32>
  // CHECK-NEXT: [{{\[}}[{{\[}}6], [6]], {{\[}}[0], [0]]]]
  // CHECK-NEXT: [{{\[}}[{{\[}}1.5]], {{\[}}[1.5]]]]
  return %0#0, %1#2 : tensor<1x2x2x1xf32>, tensor<1x2x1x1xf32>
}
