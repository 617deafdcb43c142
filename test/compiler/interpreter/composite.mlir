// Ops that stand for several; test/dialects has their decompositions.
// RUN: minigptc-opt %s --run | FileCheck %s
// RUN: minigptc-opt %s --graph-decompose --run | FileCheck %s

// CHECK-LABEL: @test_clamp
func.func @test_clamp() -> (tensor<4xf32>, tensor<2xi32>) {
  %low = graph.constant dense<-1.0> : tensor<4xf32>
  %x = graph.constant dense<[-5.0, 0.5, 7.0, 0x7FC00000]> : tensor<4xf32>
  %high = graph.constant dense<[2.0, 2.0, 2.0, 2.0]> : tensor<4xf32>
  %i = graph.constant dense<[-5, 5]> : tensor<2xi32>
  %zero = graph.constant dense<0> : tensor<2xi32>
  %three = graph.constant dense<3> : tensor<2xi32>
  %0 = graph.clamp %low, %x, %high : tensor<4xf32>
  %1 = graph.clamp %zero, %i, %three : tensor<2xi32>
  // CHECK-NEXT: [-1, 0.5, 2, nan]
  // CHECK-NEXT: [0, 3]
  return %0, %1 : tensor<4xf32>, tensor<2xi32>
}

// CHECK-LABEL: @test_relu
func.func @test_relu() -> tensor<4xf32> {
  %x = graph.constant dense<[-1.0, 0.0, 2.0, 0x7FC00000]> : tensor<4xf32>
  %0 = graph.relu %x : tensor<4xf32>
  // CHECK-NEXT: [{{-?}}0, 0, 2, nan]
  return %0 : tensor<4xf32>
}

// CHECK-LABEL: @test_silu
func.func @test_silu() -> tensor<5xf32> {
  %x = graph.constant dense<[0.0, 1.0, -1.0, 1000.0, -1000.0]> : tensor<5xf32>
  %0 = graph.silu %x : tensor<5xf32>
  // CHECK-NEXT: [0, 0.731059, -0.268941, 1000, -0]
  return %0 : tensor<5xf32>
}

// CHECK-LABEL: @test_gelu
func.func @test_gelu() -> (tensor<4xf32>, tensor<4xf32>) {
  %x = graph.constant dense<[0.0, 1.0, -1.0, 2.0]> : tensor<4xf32>
  %0 = graph.gelu %x : tensor<4xf32>
  %1 = graph.gelu %x {approximate = true} : tensor<4xf32>
  // CHECK-NEXT: [0, 0.841345, -0.158655, 1.9545]
  // CHECK-NEXT: [0, 0.841192, -0.158808, 1.9546]
  return %0, %1 : tensor<4xf32>, tensor<4xf32>
}

// CHECK-LABEL: @test_softmax
func.func @test_softmax() -> (tensor<3x2xf32>, tensor<2x3xf32>, tensor<3xbf16>) {
  // Far apart, and a slice that is -inf everywhere.
  %x = graph.constant dense<[[1000.0, 1000.0], [0xFF800000, 0xFF800000], [0.0, 1.0986123]]> : tensor<3x2xf32>
  %y = graph.constant dense<[[1.0, 0.0, 1000.0], [1.0, 1.0986123, -1000.0]]> : tensor<2x3xf32>
  %b = graph.constant dense<[1.0, 2.0, 3.0]> : tensor<3xbf16>
  %0 = graph.softmax %x, dim = 1 : tensor<3x2xf32>
  %1 = graph.softmax %y, dim = 0 : tensor<2x3xf32>
  %2 = graph.softmax %b, dim = 0 : tensor<3xbf16>
  // CHECK-NEXT: {{\[}}[0.5, 0.5], [0, 0], [0.25, 0.75]]
  // CHECK-NEXT: {{\[}}[0.5, 0.25, 1], [0.5, 0.75, 0]]
  // CHECK-NEXT: [0.0898438, 0.245117, 0.664062]
  return %0, %1, %2 : tensor<3x2xf32>, tensor<2x3xf32>, tensor<3xbf16>
}

// CHECK-LABEL: @test_layer_norm
func.func @test_layer_norm() -> tensor<2x4xf32> {
  // Mean 3, variance 3.5; and a shift that E[x²] - E[x]² would not survive.
  %x = graph.constant dense<[[1.0, 2.0, 3.0, 6.0], [100001.0, 100002.0, 100003.0, 100006.0]]> : tensor<2x4xf32>
  %scale = graph.constant dense<[1.0, 1.0, 1.0, 2.0]> : tensor<4xf32>
  %bias = graph.constant dense<[0.0, 0.0, 5.0, 0.0]> : tensor<4xf32>
  %0 = graph.layer_norm %x, %scale, %bias epsilon = 1.0e-5 : tensor<2x4xf32>, tensor<4xf32>, tensor<4xf32>
  // CHECK-NEXT: {{\[}}[-1.06904, -0.534522, 5, 3.20713], [-1.06904, -0.534522, 5, 3.20713]]
  return %0 : tensor<2x4xf32>
}

// CHECK-LABEL: @test_rms_norm
func.func @test_rms_norm() -> tensor<2x2xf32> {
  // Mean squares 25/2 + 1/2 = 13 and 0 + 1/2.
  %x = graph.constant dense<[[3.0, 4.0], [0.0, 0.0]]> : tensor<2x2xf32>
  %scale = graph.constant dense<[1.0, 2.0]> : tensor<2xf32>
  %0 = graph.rms_norm %x, %scale epsilon = 0.5 : tensor<2x2xf32>, tensor<2xf32>
  // CHECK-NEXT: {{\[}}[0.83205, 2.2188], [0, 0]]
  return %0 : tensor<2x2xf32>
}

// Squares that overflow f32 must not give zeros; in f64 they do not overflow.
// CHECK-LABEL: @test_norms_of_large_values
func.func @test_norms_of_large_values() -> (tensor<2x2xf32>, tensor<2x2xf32>, tensor<2x2xf64>) {
  %x = graph.constant dense<[[2.0e19, 0.0], [1.0e18, 1.0e18]]> : tensor<2x2xf32>
  %one = graph.constant dense<1.0> : tensor<2xf32>
  %0 = graph.rms_norm %x, %one epsilon = 0.0 : tensor<2x2xf32>, tensor<2xf32>
  %c = graph.constant dense<[[4.0e19, 0.0], [2.0e18, 0.0]]> : tensor<2x2xf32>
  %1 = graph.layer_norm %c, %one, %one epsilon = 0.0 : tensor<2x2xf32>, tensor<2xf32>, tensor<2xf32>
  %wide = graph.convert %x : (tensor<2x2xf32>) -> tensor<2x2xf64>
  %ones = graph.constant dense<1.0> : tensor<2xf64>
  %2 = graph.rms_norm %wide, %ones epsilon = 0.0 : tensor<2x2xf64>, tensor<2xf64>
  // CHECK-NEXT: {{\[}}[nan, nan], [1, 1]]
  // CHECK-NEXT: {{\[}}[nan, nan], [2, 0]]
  // CHECK-NEXT: {{\[}}[1.41421, 0], [1, 1]]
  return %0, %1, %2 : tensor<2x2xf32>, tensor<2x2xf32>, tensor<2x2xf64>
}

// CHECK-LABEL: @test_rope
func.func @test_rope() -> (tensor<1x2x1x4xf64>, tensor<1x2x1x4xf64>) {
  %x = graph.constant dense<[[[[1.0, 0.0, 0.0, 1.0]], [[1.0, 0.0, 0.0, 1.0]]]]> : tensor<1x2x1x4xf64>
  %positions = graph.constant dense<[0, 2]> : tensor<2xi32>
  // Frequencies 1 and 10000^(-1/2) = 0.01: angles 2 and 0.02 at position 2.
  %0 = graph.rope %x, %positions theta = 1.0e4 : tensor<1x2x1x4xf64>, tensor<2xi32>
  %1 = graph.rope %0, %positions theta = 1.0e4 inverse : tensor<1x2x1x4xf64>, tensor<2xi32>
  // CHECK-NEXT: {{\[}}[{{\[}}[1, 0, 0, 1]], {{\[}}[-0.416147, 0.909297, -0.0199987, 0.9998]]]]
  // CHECK-NEXT: {{\[}}[{{\[}}[1, 0, 0, 1]], {{\[}}[1, {{.*}}, {{.*}}, 1]]]]
  return %0, %1 : tensor<1x2x1x4xf64>, tensor<1x2x1x4xf64>
}

// CHECK-LABEL: @test_softmax_cross_entropy
func.func @test_softmax_cross_entropy() -> (tensor<4xf32>, tensor<2xf32>) {
  %x = graph.constant dense<[[1.0, 2.0, 3.0], [1.0, 2.0, 3.0], [1000.0, 0.0, 0.0], [0.0, 0.0, 0.0]]> : tensor<4x3xf32>
  %targets = graph.constant dense<[0, 2, 1, 1]> : tensor<4xi32>
  %0 = graph.softmax_cross_entropy %x, %targets : (tensor<4x3xf32>, tensor<4xi32>) -> tensor<4xf32>
  %y = graph.constant dense<0.0> : tensor<2x3xf32>
  %some = graph.constant dense<[-1, 1]> : tensor<2xi32>
  %1 = graph.softmax_cross_entropy %y, %some ignore -1 : (tensor<2x3xf32>, tensor<2xi32>) -> tensor<2xf32>
  // CHECK-NEXT: [2.40761, 0.407606, 1000, 1.09861]
  // The ignored position counts nothing.
  // CHECK-NEXT: [0, 1.09861]
  return %0, %1 : tensor<4xf32>, tensor<2xf32>
}

// CHECK-LABEL: @test_adamw_update
func.func @test_adamw_update() -> (tensor<2xf64>, tensor<2xf64>, tensor<2xf64>) {
  %p = graph.constant dense<[1.0, 0.0]> : tensor<2xf64>
  %g = graph.constant dense<[2.0, -4.0]> : tensor<2xf64>
  %m = graph.constant dense<[1.0, 0.0]> : tensor<2xf64>
  %v = graph.constant dense<[3.0, 0.0]> : tensor<2xf64>
  %lr = graph.constant dense<0.5> : tensor<f64>
  %c1 = graph.constant dense<0.5> : tensor<f64>
  %c2 = graph.constant dense<0.25> : tensor<f64>
  // m = 1/2 + 1 = 1.5, v = 3/4·3 + 4/4 = 3.25; the direction 3 / √13 + 0.1 · 1;
  // m = -2, v = 4; the direction -4 / √16.
  %0:3 = graph.adamw_update %p, %g, %m, %v, %lr, %c1, %c2 {beta1 = 0.5 : f64, beta2 = 0.75 : f64, epsilon = 0.0 : f64, weightDecay = 0.1 : f64}
    : (tensor<2xf64>, tensor<2xf64>, tensor<2xf64>, tensor<2xf64>, tensor<f64>, tensor<f64>, tensor<f64>) -> (tensor<2xf64>, tensor<2xf64>, tensor<2xf64>)
  // CHECK-NEXT: [0.533975, 0.5]
  // CHECK-NEXT: [1.5, -2]
  // CHECK-NEXT: [3.25, 4]
  return %0#0, %0#1, %0#2 : tensor<2xf64>, tensor<2xf64>, tensor<2xf64>
}
