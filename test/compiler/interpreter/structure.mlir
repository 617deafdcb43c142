// Functions, fusions, host scalars.
// RUN: minigptc-opt %s --run | FileCheck %s

func.func private @twice(%x: tensor<2xf32>) -> (tensor<2xf32>, tensor<2xf32>) {
  %0 = graph.add %x, %x : tensor<2xf32>
  return %0, %x : tensor<2xf32>, tensor<2xf32>
}

// CHECK-LABEL: @test_call
func.func @test_call() -> (tensor<2xf32>, tensor<2xf32>) {
  %x = graph.constant dense<[1.0, 2.0]> : tensor<2xf32>
  %0:2 = call @twice(%x) : (tensor<2xf32>) -> (tensor<2xf32>, tensor<2xf32>)
  %1:2 = call @twice(%0#0) : (tensor<2xf32>) -> (tensor<2xf32>, tensor<2xf32>)
  // CHECK-NEXT: [4, 8]
  // CHECK-NEXT: [2, 4]
  return %1#0, %1#1 : tensor<2xf32>, tensor<2xf32>
}

// CHECK-LABEL: @test_fusion
func.func @test_fusion() -> (tensor<2xf32>, tensor<f32>) {
  %x = graph.constant dense<[1.0, 2.0]> : tensor<2xf32>
  %0:2 = graph.fusion(%x) : (tensor<2xf32>) -> (tensor<2xf32>, tensor<f32>) {
  ^bb0(%a: tensor<2xf32>):
    %1 = graph.multiply %a, %a : tensor<2xf32>
    %2 = graph.reduce sum, %1, dims = [0] : (tensor<2xf32>) -> tensor<f32>
    graph.yield %1, %2 : tensor<2xf32>, tensor<f32>
  }
  // CHECK-NEXT: [1, 4]
  // CHECK-NEXT: 5
  return %0#0, %0#1 : tensor<2xf32>, tensor<f32>
}

// The host computes in f64: 1 - 0.999^t would lose digits in f32.
func.func private @schedule(%t: tensor<f64>) -> (tensor<f64>, tensor<f64>) attributes {graph.host} {
  %one = graph.constant dense<1.0> : tensor<f64>
  %beta = graph.constant dense<0.999> : tensor<f64>
  %0 = graph.power %beta, %t : tensor<f64>
  %1 = graph.subtract %one, %0 : tensor<f64>
  return %1, %t : tensor<f64>, tensor<f64>
}

// CHECK-LABEL: @test_host_call
func.func @test_host_call() -> (tensor<f32>, tensor<f64>) {
  %t = graph.constant dense<2> : tensor<i64>
  %0:2 = graph.host_call @schedule(%t) : (tensor<i64>) -> (tensor<f32>, tensor<f64>)
  // CHECK-NEXT: tensor<f32> 0.001999
  // CHECK-NEXT: tensor<f64> 2
  return %0#0, %0#1 : tensor<f32>, tensor<f64>
}

func.func private @running_sum(%w: tensor<f32>, %s: tensor<f32> {graph.donate = 0 : i64}, %x: tensor<2xf32>) -> (tensor<f32>, tensor<1xf32>) {
  %part = graph.reduce sum, %x, dims = [0] : (tensor<2xf32>) -> tensor<f32>
  %scaled = graph.multiply %part, %w : tensor<f32>
  %next = graph.add %s, %scaled : tensor<f32>
  %row = graph.reshape %next : (tensor<f32>) -> tensor<1xf32>
  return %next, %row : tensor<f32>, tensor<1xf32>
}
// CHECK-LABEL: @test_scan
func.func @test_scan() -> (tensor<f32>, tensor<3xf32>) {
  %w = graph.constant dense<2.0> : tensor<f32>
  %s = graph.constant dense<100.0> : tensor<f32>
  %x = graph.constant dense<[1.0, 2.0, 3.0, 4.0, 5.0, 6.0]> : tensor<6xf32>
  // CHECK-NEXT: tensor<f32> 142
  // CHECK-NEXT: [106, 120, 142]
  %0:2 = graph.scan @running_sum(%w) carried(%s) cut(%x) count = 3 : (tensor<f32>, tensor<f32>, tensor<6xf32>) -> (tensor<f32>, tensor<3xf32>)
  return %0#0, %0#1 : tensor<f32>, tensor<3xf32>
}
