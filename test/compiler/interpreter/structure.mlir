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
// CHECK-LABEL: @test_reversed_scan
func.func @test_reversed_scan() -> (tensor<f32>, tensor<3xf32>) {
  %w = graph.constant dense<2.0> : tensor<f32>
  %s = graph.constant dense<100.0> : tensor<f32>
  %x = graph.constant dense<[1.0, 2.0, 3.0, 4.0, 5.0, 6.0]> : tensor<6xf32>
  // CHECK-NEXT: tensor<f32> 142
  // CHECK-NEXT: [142, 136, 122]
  %0:2 = graph.scan @running_sum(%w) carried(%s) cut(%x) count = 3 reverse : (tensor<f32>, tensor<f32>, tensor<6xf32>) -> (tensor<f32>, tensor<3xf32>)
  return %0#0, %0#1 : tensor<f32>, tensor<3xf32>
}

func.func private @double(%x: tensor<2xf32>, %by: tensor<f32>) -> (tensor<2xf32>, tensor<f32>) {
  %0 = graph.add %x, %x : tensor<2xf32>
  return %0, %by : tensor<2xf32>, tensor<f32>
}
func.func private @negate(%x: tensor<2xf32>, %by: tensor<f32>) -> (tensor<2xf32>, tensor<f32>) {
  %0 = graph.negate %x : tensor<2xf32>
  %1 = graph.negate %by : tensor<f32>
  return %0, %1 : tensor<2xf32>, tensor<f32>
}
// CHECK-LABEL: @test_cond
func.func @test_cond() -> (tensor<2xf32>, tensor<f32>, tensor<2xf32>, tensor<f32>) {
  %true = graph.constant dense<true> : tensor<i1>
  %false = graph.constant dense<false> : tensor<i1>
  %x = graph.constant dense<[3.0, 4.0]> : tensor<2xf32>
  %by = graph.constant dense<5.0> : tensor<f32>
  // CHECK-NEXT: [6, 8]
  // CHECK-NEXT: tensor<f32> 5
  %0:2 = graph.cond %true then @double else @negate(%x, %by) : (tensor<i1>, tensor<2xf32>, tensor<f32>) -> (tensor<2xf32>, tensor<f32>)
  // CHECK-NEXT: [-3, -4]
  // CHECK-NEXT: tensor<f32> -5
  %1:2 = graph.cond %false then @double else @negate(%x, %by) : (tensor<i1>, tensor<2xf32>, tensor<f32>) -> (tensor<2xf32>, tensor<f32>)
  return %0#0, %0#1, %1#0, %1#1 : tensor<2xf32>, tensor<f32>, tensor<2xf32>, tensor<f32>
}

func.func private @is_less(%limit: tensor<i32>, %n: tensor<i32>, %sum: tensor<i32>) -> tensor<i1> {
  %0 = graph.compare LT, %sum, %limit : (tensor<i32>, tensor<i32>) -> tensor<i1>
  return %0 : tensor<i1>
}
func.func private @add_next(%limit: tensor<i32>, %n: tensor<i32> {graph.donate = 0 : i64}, %sum: tensor<i32> {graph.donate = 1 : i64}) -> (tensor<i32>, tensor<i32>) {
  %one = graph.constant dense<1> : tensor<i32>
  %0 = graph.add %n, %one : tensor<i32>
  %1 = graph.add %sum, %0 : tensor<i32>
  return %0, %1 : tensor<i32>, tensor<i32>
}
// 1 + 2 + … is 10 at 4, and 0 is not less than 0.
// CHECK-LABEL: @test_while
func.func @test_while() -> (tensor<i32>, tensor<i32>, tensor<i32>) {
  %zero = graph.constant dense<0> : tensor<i32>
  %limit = graph.constant dense<8> : tensor<i32>
  // CHECK-NEXT: tensor<i32> 4
  // CHECK-NEXT: tensor<i32> 10
  %0:2 = graph.while @is_less @add_next(%limit) carried(%zero, %zero) : (tensor<i32>, tensor<i32>, tensor<i32>) -> (tensor<i32>, tensor<i32>)
  // CHECK-NEXT: tensor<i32> 0
  %1:2 = graph.while @is_less @add_next(%zero) carried(%zero, %zero) : (tensor<i32>, tensor<i32>, tensor<i32>) -> (tensor<i32>, tensor<i32>)
  return %0#0, %0#1, %1#0 : tensor<i32>, tensor<i32>, tensor<i32>
}
