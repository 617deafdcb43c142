// RUN: minigptc-opt %s --pass-pipeline='builtin.module(func.func(graph-fuse-epilogues))' --split-input-file | FileCheck %s

// A bias along the columns, one that is converted first, and what stays as it is: a ReLU behind the
// bias, a product that somebody else reads, a bias of the rows.
module attributes {graph.product_epilogues = {bias = 1, sums = 1}} {
  // CHECK-LABEL: func @bias
  // CHECK: %[[Y:.*]] = graph.dot_bias %arg0, %arg1, %arg2, batching_dims = [] x [], contracting_dims = [1] x [0]
  // CHECK-NEXT: return %[[Y]]
  func.func @bias(%x: tensor<6x3xf32>, %w: tensor<3x2x4xf32>, %b: tensor<2x4xf32>) -> tensor<6x2x4xf32> {
    %p = graph.dot_general %x, %w, batching_dims = [] x [], contracting_dims = [1] x [0] : (tensor<6x3xf32>, tensor<3x2x4xf32>) -> tensor<6x2x4xf32>
    %y = graph.fusion(%b, %p) : (tensor<2x4xf32>, tensor<6x2x4xf32>) -> tensor<6x2x4xf32> {
    ^bb0(%c: tensor<2x4xf32>, %q: tensor<6x2x4xf32>):
      %0 = graph.broadcast_in_dim %c, dims = [1, 2] : (tensor<2x4xf32>) -> tensor<6x2x4xf32>
      %1 = graph.add %q, %0 : tensor<6x2x4xf32>
      graph.yield %1 : tensor<6x2x4xf32>
    }
    return %y : tensor<6x2x4xf32>
  }

  // CHECK-LABEL: func @converted
  // CHECK: %[[B:.*]] = graph.fusion(%arg2) : (tensor<4xf32>) -> tensor<4xbf16>
  // CHECK: graph.dot_bias %arg0, %arg1, %[[B]],
  // CHECK-NOT: graph.add
  func.func @converted(%x: tensor<6x3xbf16>, %w: tensor<3x4xbf16>, %b: tensor<4xf32>) -> tensor<6x4xbf16> {
    %p = graph.dot_general %x, %w, batching_dims = [] x [], contracting_dims = [1] x [0] : (tensor<6x3xbf16>, tensor<3x4xbf16>) -> tensor<6x4xbf16>
    %y = graph.fusion(%b, %p) : (tensor<4xf32>, tensor<6x4xbf16>) -> tensor<6x4xbf16> {
    ^bb0(%c: tensor<4xf32>, %q: tensor<6x4xbf16>):
      %0 = graph.convert %c : (tensor<4xf32>) -> tensor<4xbf16>
      %1 = graph.broadcast_in_dim %0, dims = [1] : (tensor<4xbf16>) -> tensor<6x4xbf16>
      %2 = graph.add %1, %q : tensor<6x4xbf16>
      graph.yield %2 : tensor<6x4xbf16>
    }
    return %y : tensor<6x4xbf16>
  }

  // CHECK-LABEL: func @others
  // CHECK-NOT: graph.dot_bias
  func.func @others(%x: tensor<4x3xf32>, %w: tensor<3x4xf32>, %b: tensor<4xf32>) -> (tensor<4x4xf32>, tensor<4x4xf32>, tensor<4x4xf32>, tensor<4x4xf32>) {
    %p = graph.dot_general %x, %w, batching_dims = [] x [], contracting_dims = [1] x [0] : (tensor<4x3xf32>, tensor<3x4xf32>) -> tensor<4x4xf32>
    %q = graph.dot_general %x, %w, batching_dims = [] x [], contracting_dims = [1] x [0] : (tensor<4x3xf32>, tensor<3x4xf32>) -> tensor<4x4xf32>
    %r = graph.dot_general %x, %w, batching_dims = [] x [], contracting_dims = [1] x [0] : (tensor<4x3xf32>, tensor<3x4xf32>) -> tensor<4x4xf32>
    %relu = graph.fusion(%b, %p) : (tensor<4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32> {
    ^bb0(%c: tensor<4xf32>, %s: tensor<4x4xf32>):
      %zero = graph.constant dense<0.0> : tensor<4x4xf32>
      %0 = graph.broadcast_in_dim %c, dims = [1] : (tensor<4xf32>) -> tensor<4x4xf32>
      %1 = graph.add %s, %0 : tensor<4x4xf32>
      %2 = graph.maximum %1, %zero : tensor<4x4xf32>
      graph.yield %2 : tensor<4x4xf32>
    }
    %shared = graph.fusion(%b, %q) : (tensor<4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32> {
    ^bb0(%c: tensor<4xf32>, %s: tensor<4x4xf32>):
      %0 = graph.broadcast_in_dim %c, dims = [1] : (tensor<4xf32>) -> tensor<4x4xf32>
      %1 = graph.add %s, %0 : tensor<4x4xf32>
      graph.yield %1 : tensor<4x4xf32>
    }
    %rows = graph.fusion(%b, %r) : (tensor<4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32> {
    ^bb0(%c: tensor<4xf32>, %s: tensor<4x4xf32>):
      %0 = graph.broadcast_in_dim %c, dims = [0] : (tensor<4xf32>) -> tensor<4x4xf32>
      %1 = graph.add %s, %0 : tensor<4x4xf32>
      graph.yield %1 : tensor<4x4xf32>
    }
    return %relu, %shared, %q, %rows : tensor<4x4xf32>, tensor<4x4xf32>, tensor<4x4xf32>, tensor<4x4xf32>
  }
}

// -----

// Kernels that do nothing but add up the rows of a weight's gradient; and sums that stay kernels: of
// the columns, of what the product does not contract, of what is wider than the product, maxima,
// and sums that are read before the product is made.
module attributes {graph.product_epilogues = {sums = 1}} {
  // CHECK-LABEL: func @sums
  // CHECK-NEXT: %[[P:.*]], %[[S:.*]] = graph.dot_sums %arg0, %arg1, batching_dims = [] x [], contracting_dims = [0, 1] x [0, 1] : (tensor<3x7x5xf32>, tensor<3x7x2x4xf32>) -> (tensor<5x2x4xf32>, tensor<2x4xf32>)
  // CHECK-NEXT: return %[[P]], %[[S]]
  func.func @sums(%x: tensor<3x7x5xf32>, %g: tensor<3x7x2x4xf32>) -> (tensor<5x2x4xf32>, tensor<2x4xf32>) {
    %s = graph.fusion(%g) : (tensor<3x7x2x4xf32>) -> tensor<3x2x4xf32> {
    ^bb0(%a: tensor<3x7x2x4xf32>):
      %0 = graph.reduce sum, %a, dims = [1] : (tensor<3x7x2x4xf32>) -> tensor<3x2x4xf32>
      graph.yield %0 : tensor<3x2x4xf32>
    }
    %t = graph.fusion(%s) : (tensor<3x2x4xf32>) -> tensor<2x4xf32> {
    ^bb0(%a: tensor<3x2x4xf32>):
      %0 = graph.reduce sum, %a, dims = [0] : (tensor<3x2x4xf32>) -> tensor<2x4xf32>
      graph.yield %0 : tensor<2x4xf32>
    }
    %p = graph.dot_general %x, %g, batching_dims = [] x [], contracting_dims = [0, 1] x [0, 1] : (tensor<3x7x5xf32>, tensor<3x7x2x4xf32>) -> tensor<5x2x4xf32>
    return %p, %t : tensor<5x2x4xf32>, tensor<2x4xf32>
  }

  // CHECK-LABEL: func @parts
  // CHECK: graph.dot_sums %arg0, %arg1, {{.*}} -> (tensor<5x4xf32>, tensor<4xf32>)
  // CHECK-NOT: graph.fusion
  func.func @parts(%x: tensor<32x5xbf16>, %g: tensor<32x4xbf16>) -> (tensor<5x4xf32>, tensor<4xf32>) {
    %p = graph.dot_general %x, %g, batching_dims = [] x [], contracting_dims = [0] x [0] : (tensor<32x5xbf16>, tensor<32x4xbf16>) -> tensor<5x4xf32>
    %s = graph.fusion(%g) : (tensor<32x4xbf16>) -> tensor<8x4xf32> {
    ^bb0(%a: tensor<32x4xbf16>):
      %0 = graph.convert %a : (tensor<32x4xbf16>) -> tensor<32x4xf32>
      %1 = graph.reshape %0 : (tensor<32x4xf32>) -> tensor<8x4x4xf32>
      %2 = graph.reduce sum, %1, dims = [1] : (tensor<8x4x4xf32>) -> tensor<8x4xf32>
      graph.yield %2 : tensor<8x4xf32>
    }
    %t = graph.fusion(%s) : (tensor<8x4xf32>) -> tensor<4xf32> {
    ^bb0(%a: tensor<8x4xf32>):
      %0 = graph.reduce sum, %a, dims = [0] : (tensor<8x4xf32>) -> tensor<4xf32>
      graph.yield %0 : tensor<4xf32>
    }
    return %p, %t : tensor<5x4xf32>, tensor<4xf32>
  }

  // CHECK-LABEL: func @others
  // CHECK-NOT: graph.dot_sums
  func.func @others(%x: tensor<4x4xf32>, %g: tensor<4x4xf32>, %h: tensor<4x2x4xbf16>, %i: tensor<4x4xbf16>) -> (tensor<4x4xf32>, tensor<4xf32>, tensor<4x4xf32>, tensor<4xf32>, tensor<4x4xbf16>, tensor<4xf32>, tensor<4x2x4xbf16>, tensor<2x4xbf16>) {
    %p = graph.dot_general %x, %g, batching_dims = [] x [], contracting_dims = [0] x [0] : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
    %columns = graph.fusion(%g) : (tensor<4x4xf32>) -> tensor<4xf32> {
    ^bb0(%a: tensor<4x4xf32>):
      %0 = graph.reduce sum, %a, dims = [1] : (tensor<4x4xf32>) -> tensor<4xf32>
      graph.yield %0 : tensor<4xf32>
    }
    %q = graph.dot_general %g, %x, batching_dims = [] x [], contracting_dims = [1] x [1] : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
    %kept = graph.fusion(%x) : (tensor<4x4xf32>) -> tensor<4xf32> {
    ^bb0(%a: tensor<4x4xf32>):
      %0 = graph.reduce sum, %a, dims = [0] : (tensor<4x4xf32>) -> tensor<4xf32>
      graph.yield %0 : tensor<4xf32>
    }
    %r = graph.dot_general %i, %i, batching_dims = [] x [], contracting_dims = [0] x [0] : (tensor<4x4xbf16>, tensor<4x4xbf16>) -> tensor<4x4xbf16>
    %wider = graph.fusion(%i) : (tensor<4x4xbf16>) -> tensor<4xf32> {
    ^bb0(%a: tensor<4x4xbf16>):
      %0 = graph.convert %a : (tensor<4x4xbf16>) -> tensor<4x4xf32>
      %1 = graph.reduce sum, %0, dims = [0] : (tensor<4x4xf32>) -> tensor<4xf32>
      graph.yield %1 : tensor<4xf32>
    }
    %s = graph.dot_general %i, %h, batching_dims = [] x [], contracting_dims = [0] x [0] : (tensor<4x4xbf16>, tensor<4x2x4xbf16>) -> tensor<4x2x4xbf16>
    %early = graph.fusion(%h) : (tensor<4x2x4xbf16>) -> tensor<2x4xbf16> {
    ^bb0(%a: tensor<4x2x4xbf16>):
      %0 = graph.convert %a : (tensor<4x2x4xbf16>) -> tensor<4x2x4xf32>
      %1 = graph.reduce max, %0, dims = [0] : (tensor<4x2x4xf32>) -> tensor<2x4xf32>
      %2 = graph.convert %1 : (tensor<2x4xf32>) -> tensor<2x4xbf16>
      graph.yield %2 : tensor<2x4xbf16>
    }
    return %p, %columns, %q, %kept, %r, %wider, %s, %early : tensor<4x4xf32>, tensor<4xf32>, tensor<4x4xf32>, tensor<4xf32>, tensor<4x4xbf16>, tensor<4xf32>, tensor<4x2x4xbf16>, tensor<2x4xbf16>
  }

  // CHECK-LABEL: func @early
  // CHECK: graph.dot_general
  func.func @early(%x: tensor<4x4xf32>, %g: tensor<4x4xf32>) -> (tensor<4x4xf32>, tensor<4xf32>) {
    %t = graph.fusion(%g) : (tensor<4x4xf32>) -> tensor<4xf32> {
    ^bb0(%a: tensor<4x4xf32>):
      %0 = graph.reduce sum, %a, dims = [0] : (tensor<4x4xf32>) -> tensor<4xf32>
      graph.yield %0 : tensor<4xf32>
    }
    %n = graph.fusion(%t) : (tensor<4xf32>) -> tensor<4xf32> {
    ^bb0(%a: tensor<4xf32>):
      %0 = graph.negate %a : tensor<4xf32>
      graph.yield %0 : tensor<4xf32>
    }
    %p = graph.dot_general %x, %g, batching_dims = [] x [], contracting_dims = [0] x [0] : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
    return %p, %n : tensor<4x4xf32>, tensor<4xf32>
  }
}

// -----

// Without epilogues a product is a product.
// CHECK-LABEL: func @none
// CHECK: graph.dot_general
// CHECK: graph.fusion
func.func @none(%x: tensor<6x3xf32>, %w: tensor<3x4xf32>, %b: tensor<4xf32>) -> tensor<6x4xf32> {
  %p = graph.dot_general %x, %w, batching_dims = [] x [], contracting_dims = [1] x [0] : (tensor<6x3xf32>, tensor<3x4xf32>) -> tensor<6x4xf32>
  %y = graph.fusion(%b, %p) : (tensor<4xf32>, tensor<6x4xf32>) -> tensor<6x4xf32> {
  ^bb0(%c: tensor<4xf32>, %q: tensor<6x4xf32>):
    %0 = graph.broadcast_in_dim %c, dims = [1] : (tensor<4xf32>) -> tensor<6x4xf32>
    %1 = graph.add %q, %0 : tensor<6x4xf32>
    graph.yield %1 : tensor<6x4xf32>
  }
  return %y : tensor<6x4xf32>
}
