// RUN: minigptc-opt %s --run | FileCheck %s
// RUN: minigptc-opt %s --graph-decompose --run | FileCheck %s
// RUN: minigptc-opt %s --graph-chunk-losses --run | FileCheck %s
// A head of 5 classes and its parts of 3 and 2, with targets of both, one of them ignored.

func.func private @close(%x: tensor<f32>, %y: tensor<f32>) -> tensor<i1> {
  %d = graph.subtract %x, %y : tensor<f32>
  %a = graph.abs %d : tensor<f32>
  %e = graph.constant dense<1.0e-5> : tensor<f32>
  %r = graph.compare LT, %a, %e : (tensor<f32>, tensor<f32>) -> tensor<i1>
  return %r : tensor<i1>
}
func.func private @norm(%x: tensor<3x2xf32>, %y: tensor<3x2xf32>) -> tensor<f32> {
  %d = graph.subtract %x, %y : tensor<3x2xf32>
  %a = graph.abs %d : tensor<3x2xf32>
  %r = graph.reduce max, %a, dims = [0, 1] : (tensor<3x2xf32>) -> tensor<f32>
  return %r : tensor<f32>
}

// CHECK-LABEL: @test_parts
// CHECK-NEXT: tensor<i1> true
// CHECK-NEXT: tensor<i1> true
// CHECK-NEXT: tensor<i1> true
// CHECK-NEXT: tensor<i1> true
func.func @test_parts() -> (tensor<i1>, tensor<i1>, tensor<i1>, tensor<i1>) {
  %h = graph.constant dense<[[0.5, -1.0], [2.0, 0.25], [-0.75, 3.0]]> : tensor<3x2xf32>
  %w0 = graph.constant dense<[[1.0, -2.0, 0.5], [0.25, 1.5, -1.0]]> : tensor<2x3xf32>
  %w1 = graph.constant dense<[[3.0, -0.5], [-1.0, 2.0]]> : tensor<2x2xf32>
  %b0 = graph.constant dense<[0.5, 0.0, -0.25]> : tensor<3xf32>
  %b1 = graph.constant dense<[1.0, -1.0]> : tensor<2xf32>
  %w = graph.concatenate %w0, %w1 dim = 1 : (tensor<2x3xf32>, tensor<2x2xf32>) -> tensor<2x5xf32>
  %b = graph.concatenate %b0, %b1 dim = 0 : (tensor<3xf32>, tensor<2xf32>) -> tensor<5xf32>
  %t = graph.constant dense<[1, 3, 0]> : tensor<3xi32>
  %loss, %dh, %dw, %db = graph.linear_cross_entropy %h, %w, %t bias %b ignore 0
      : (tensor<3x2xf32>, tensor<2x5xf32>, tensor<3xi32>, tensor<5xf32>) -> (tensor<f32>, tensor<3x2xf32>, tensor<2x5xf32>, tensor<5xf32>)

  %t0 = graph.constant dense<[1, -1, -2]> : tensor<3xi32>
  %t1 = graph.constant dense<[-1, 0, -2]> : tensor<3xi32>
  %lse0, %x0 = graph.linear_log_sum_exp %h, %w0, %t0 bias %b0 : (tensor<3x2xf32>, tensor<2x3xf32>, tensor<3xi32>, tensor<3xf32>) -> (tensor<3xf32>, tensor<3xf32>)
  %lse1, %x1 = graph.linear_log_sum_exp %h, %w1, %t1 bias %b1 : (tensor<3x2xf32>, tensor<2x2xf32>, tensor<3xi32>, tensor<2xf32>) -> (tensor<3xf32>, tensor<3xf32>)
  %e0 = graph.exponential %lse0 : tensor<3xf32>
  %e1 = graph.exponential %lse1 : tensor<3xf32>
  %e = graph.add %e0, %e1 : tensor<3xf32>
  %lse = graph.log %e : tensor<3xf32>
  %x = graph.add %x0, %x1 : tensor<3xf32>
  %losses = graph.subtract %lse, %x : tensor<3xf32>
  %counted = graph.slice %losses [0] : [2] : [1] : (tensor<3xf32>) -> tensor<2xf32>
  %sum = graph.reduce sum, %counted, dims = [0] : (tensor<2xf32>) -> tensor<f32>
  %r0 = call @close(%loss, %sum) : (tensor<f32>, tensor<f32>) -> tensor<i1>

  %dh0, %dw0, %db0 = graph.linear_cross_entropy_grad %h, %w0, %t0, %lse bias %b0 ignore -2 : (tensor<3x2xf32>, tensor<2x3xf32>, tensor<3xi32>, tensor<3xf32>, tensor<3xf32>) -> (tensor<3x2xf32>, tensor<2x3xf32>, tensor<3xf32>)
  %dh1, %dw1, %db1 = graph.linear_cross_entropy_grad %h, %w1, %t1, %lse bias %b1 ignore -2 : (tensor<3x2xf32>, tensor<2x2xf32>, tensor<3xi32>, tensor<3xf32>, tensor<2xf32>) -> (tensor<3x2xf32>, tensor<2x2xf32>, tensor<2xf32>)
  %dhs = graph.add %dh0, %dh1 : tensor<3x2xf32>
  %zero = graph.constant dense<0.0> : tensor<f32>
  %n = call @norm(%dh, %dhs) : (tensor<3x2xf32>, tensor<3x2xf32>) -> tensor<f32>
  %r1 = call @close(%n, %zero) : (tensor<f32>, tensor<f32>) -> tensor<i1>

  %dwp = graph.concatenate %dw0, %dw1 dim = 1 : (tensor<2x3xf32>, tensor<2x2xf32>) -> tensor<2x5xf32>
  %ddw = graph.subtract %dw, %dwp : tensor<2x5xf32>
  %adw = graph.abs %ddw : tensor<2x5xf32>
  %mdw = graph.reduce max, %adw, dims = [0, 1] : (tensor<2x5xf32>) -> tensor<f32>
  %r2 = call @close(%mdw, %zero) : (tensor<f32>, tensor<f32>) -> tensor<i1>

  %dbp = graph.concatenate %db0, %db1 dim = 0 : (tensor<3xf32>, tensor<2xf32>) -> tensor<5xf32>
  %ddb = graph.subtract %db, %dbp : tensor<5xf32>
  %adb = graph.abs %ddb : tensor<5xf32>
  %mdb = graph.reduce max, %adb, dims = [0] : (tensor<5xf32>) -> tensor<f32>
  %r3 = call @close(%mdb, %zero) : (tensor<f32>, tensor<f32>) -> tensor<i1>
  return %r0, %r1, %r2, %r3 : tensor<i1>, tensor<i1>, tensor<i1>, tensor<i1>
}
