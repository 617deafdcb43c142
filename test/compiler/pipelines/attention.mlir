// Attention stays whole, one kernel for each pass, and no score has a place in memory.
// RUN: minigptc-opt %s --minigptc-to-fuse | FileCheck %s --check-prefix=FUSE
// RUN: minigptc-opt %s --minigptc-to-exec | FileCheck %s --check-prefix=EXEC

// FUSE-LABEL: func.func @main
// FUSE: graph.fusion
// FUSE-NEXT: ^bb0
// FUSE-NEXT: graph.attention %
// FUSE-NEXT: graph.yield
// FUSE: graph.fusion
// FUSE-NEXT: ^bb0
// FUSE-NEXT: graph.attention_grad
// FUSE-NEXT: graph.yield
// EXEC-NOT: {{40x48|48x40|40x1x48}}
// EXEC: func.func private @attention_{{.*}}exec.kernel
// EXEC-NOT: {{40x48|48x40|40x1x48}}
func.func private @attend(%q: tensor<2x40x4x8xf32>, %k: tensor<2x48x4x8xf32>, %v: tensor<2x48x4x8xf32>) -> tensor<2x40x4x8xf32> {
  %0, %lse = graph.attention %q, %k, %v scale = 0.5 kind = causal : tensor<2x40x4x8xf32>, tensor<2x48x4x8xf32>, tensor<2x48x4x8xf32> -> tensor<2x40x4x8xf32>, tensor<2x4x40xf32>
  return %0 : tensor<2x40x4x8xf32>
}
func.func @main(%q: tensor<2x40x4x8xf32>, %k: tensor<2x48x4x8xf32>, %v: tensor<2x48x4x8xf32>, %c: tensor<2x40x4x8xf32>) -> (tensor<2x40x4x8xf32>, tensor<2x40x4x8xf32>, tensor<2x48x4x8xf32>) attributes {graph.entry} {
  %y, %dq, %dv = graph.vjp @attend(%q, %k, %v) cotangents(%c) wrt [0, 2] : (tensor<2x40x4x8xf32>, tensor<2x48x4x8xf32>, tensor<2x48x4x8xf32>), (tensor<2x40x4x8xf32>) -> (tensor<2x40x4x8xf32>, tensor<2x40x4x8xf32>, tensor<2x48x4x8xf32>)
  return %y, %dq, %dv : tensor<2x40x4x8xf32>, tensor<2x40x4x8xf32>, tensor<2x48x4x8xf32>
}

// No kernel takes f16 whole.
// FUSE-LABEL: func.func @narrow
// FUSE-NOT: graph.attention
// FUSE: graph.dot_general
func.func @narrow(%q: tensor<1x4x2x8xf16>) -> tensor<1x4x2x8xf16> attributes {graph.entry} {
  %0, %lse = graph.attention %q, %q, %q scale = 0.5 kind = none : tensor<1x4x2x8xf16>, tensor<1x4x2x8xf16>, tensor<1x4x2x8xf16> -> tensor<1x4x2x8xf16>, tensor<1x2x4xf32>
  return %0 : tensor<1x4x2x8xf16>
}
