// RUN: minigptc-opt %s --canonicalize | FileCheck %s

// x + (-0) is x; x + 0 is not, for x = -0.
// CHECK-LABEL: func @add_zero
func.func @add_zero(%x: tensor<2xf32>) -> (tensor<2xf32>, tensor<2xf32>, tensor<2xf32>) {
  %negative = graph.constant dense<-0.0> : tensor<2xf32>
  %positive = graph.constant dense<0.0> : tensor<2xf32>
  %0 = graph.add %negative, %x : tensor<2xf32>
  %1 = graph.add %x, %positive : tensor<2xf32>
  %2 = graph.add %positive, %x : tensor<2xf32>
  // CHECK: %[[A:.*]] = graph.add
  // CHECK: %[[B:.*]] = graph.add
  // CHECK: return %arg0, %[[A]], %[[B]]
  return %0, %1, %2 : tensor<2xf32>, tensor<2xf32>, tensor<2xf32>
}

// x - 0 is x; x - (-0) is not, for x = -0.
// CHECK-LABEL: func @subtract_zero
func.func @subtract_zero(%x: tensor<2xf32>) -> (tensor<2xf32>, tensor<2xf32>, tensor<2xf32>) {
  %negative = graph.constant dense<-0.0> : tensor<2xf32>
  %positive = graph.constant dense<0.0> : tensor<2xf32>
  %0 = graph.subtract %x, %positive : tensor<2xf32>
  %1 = graph.subtract %x, %negative : tensor<2xf32>
  %2 = graph.subtract %x, %x : tensor<2xf32>
  // CHECK: %[[A:.*]] = graph.subtract %arg0, %{{.*}}
  // CHECK: %[[B:.*]] = graph.subtract %arg0, %arg0
  // CHECK: return %arg0, %[[A]], %[[B]]
  return %0, %1, %2 : tensor<2xf32>, tensor<2xf32>, tensor<2xf32>
}

// x · 0 is not 0 for NaN, infinities and negative x.
// CHECK-LABEL: func @multiply
func.func @multiply(%x: tensor<2xf32>) -> (tensor<2xf32>, tensor<2xf32>, tensor<2xf32>) {
  %zero = graph.constant dense<0.0> : tensor<2xf32>
  %one = graph.constant dense<1.0> : tensor<2xf32>
  %0 = graph.multiply %x, %zero : tensor<2xf32>
  %1 = graph.multiply %one, %x : tensor<2xf32>
  %2 = graph.divide %x, %one : tensor<2xf32>
  // CHECK: %[[PRODUCT:.*]] = graph.multiply
  // CHECK: return %[[PRODUCT]], %arg0, %arg0
  return %0, %1, %2 : tensor<2xf32>, tensor<2xf32>, tensor<2xf32>
}

// CHECK-LABEL: func @integers
func.func @integers(%x: tensor<2xi32>) -> (tensor<2xi32>, tensor<2xi32>, tensor<2xi32>) {
  %zero = graph.constant dense<0> : tensor<2xi32>
  %0 = graph.multiply %x, %zero : tensor<2xi32>
  %1 = graph.add %x, %zero : tensor<2xi32>
  %2 = graph.subtract %x, %x : tensor<2xi32>
  // CHECK: %[[ZERO:.*]] = graph.constant dense<0>
  // CHECK: return %[[ZERO]], %arg0, %[[ZERO]]
  return %0, %1, %2 : tensor<2xi32>, tensor<2xi32>, tensor<2xi32>
}

// CHECK-LABEL: func @constants
func.func @constants() -> (tensor<2xf32>, tensor<2xbf16>, tensor<2xi8>, tensor<2xi32>) {
  %a = graph.constant dense<[1.0, 2.5]> : tensor<2xf32>
  %b = graph.constant dense<0.5> : tensor<2xf32>
  %c = graph.constant dense<256.0> : tensor<2xbf16>
  %d = graph.constant dense<1.0> : tensor<2xbf16>
  %e = graph.constant dense<[127, -128]> : tensor<2xi8>
  %f = graph.constant dense<[1, 2]> : tensor<2xi8>
  %g = graph.constant dense<[-7, 7]> : tensor<2xi32>
  %h = graph.constant dense<2> : tensor<2xi32>
  // CHECK-DAG: %[[A:.*]] = graph.constant dense<[1.500000e+00, 3.000000e+00]> : tensor<2xf32>
  %0 = graph.add %a, %b : tensor<2xf32>
  // bf16 has 8 bits: 257 rounds to even.
  // CHECK-DAG: %[[B:.*]] = graph.constant dense<2.560000e+02> : tensor<2xbf16>
  %1 = graph.add %c, %d : tensor<2xbf16>
  // CHECK-DAG: %[[C:.*]] = graph.constant dense<[-128, -126]> : tensor<2xi8>
  %2 = graph.add %e, %f : tensor<2xi8>
  // CHECK-DAG: %[[D:.*]] = graph.constant dense<[-3, 3]> : tensor<2xi32>
  %3 = graph.divide %g, %h : tensor<2xi32>
  // CHECK: return %[[A]], %[[B]], %[[C]], %[[D]]
  return %0, %1, %2, %3 : tensor<2xf32>, tensor<2xbf16>, tensor<2xi8>, tensor<2xi32>
}

// Left to run time: infinities by division, NaN, integer division by zero.
// CHECK-LABEL: func @not_folded
func.func @not_folded() -> (tensor<f32>, tensor<f32>, tensor<i32>, tensor<i32>) {
  %zero = graph.constant dense<0.0> : tensor<f32>
  %one = graph.constant dense<1.0> : tensor<f32>
  %inf = graph.constant dense<0x7F800000> : tensor<f32>
  %least = graph.constant dense<-2147483648> : tensor<i32>
  %minus = graph.constant dense<-1> : tensor<i32>
  %none = graph.constant dense<0> : tensor<i32>
  // CHECK: graph.divide
  %0 = graph.divide %one, %zero : tensor<f32>
  // CHECK: graph.subtract
  %1 = graph.subtract %inf, %inf : tensor<f32>
  // CHECK: graph.divide
  %2 = graph.divide %least, %none : tensor<i32>
  // CHECK: graph.divide
  %3 = graph.divide %least, %minus : tensor<i32>
  return %0, %1, %2, %3 : tensor<f32>, tensor<f32>, tensor<i32>, tensor<i32>
}

// CHECK-LABEL: func @extrema
func.func @extrema(%x: tensor<2xf32>, %u: tensor<2xui32>, %p: tensor<2xi1>)
    -> (tensor<2xf32>, tensor<2xf32>, tensor<2xui32>, tensor<2xi1>, tensor<2xf32>) {
  %lowest = graph.constant dense<0xFF800000> : tensor<2xf32>
  %zero = graph.constant dense<0> : tensor<2xui32>
  %true = graph.constant dense<true> : tensor<2xi1>
  %0 = graph.maximum %x, %lowest : tensor<2xf32>
  %1 = graph.minimum %x, %x : tensor<2xf32>
  %2 = graph.maximum %zero, %u : tensor<2xui32>
  %3 = graph.minimum %p, %true : tensor<2xi1>
  %4 = graph.minimum %x, %lowest : tensor<2xf32>
  // CHECK: %[[MIN:.*]] = graph.minimum
  // CHECK: return %arg0, %arg0, %arg1, %arg2, %[[MIN]]
  return %0, %1, %2, %3, %4 : tensor<2xf32>, tensor<2xf32>, tensor<2xui32>, tensor<2xi1>, tensor<2xf32>
}

// CHECK-LABEL: func @unsigned_maximum
func.func @unsigned_maximum() -> (tensor<ui32>, tensor<i32>) {
  %a = graph.constant dense<4294967295> : tensor<ui32>
  %b = graph.constant dense<1> : tensor<ui32>
  %c = graph.constant dense<-1> : tensor<i32>
  %d = graph.constant dense<1> : tensor<i32>
  // CHECK-DAG: dense<4294967295> : tensor<ui32>
  %0 = graph.maximum %a, %b : tensor<ui32>
  // CHECK-DAG: dense<1> : tensor<i32>
  %1 = graph.maximum %c, %d : tensor<i32>
  return %0, %1 : tensor<ui32>, tensor<i32>
}

// CHECK-LABEL: func @bits
func.func @bits(%x: tensor<2xi32>, %p: tensor<i1>) -> (tensor<2xi32>, tensor<2xi32>, tensor<i1>, tensor<i1>) {
  %zero = graph.constant dense<0> : tensor<2xi32>
  %true = graph.constant dense<true> : tensor<i1>
  %0 = graph.and %x, %zero : tensor<2xi32>
  %1 = graph.or %zero, %x : tensor<2xi32>
  %2 = graph.and %p, %true : tensor<i1>
  %3 = graph.or %p, %true : tensor<i1>
  // CHECK-DAG: %[[ZERO:.*]] = graph.constant dense<0>
  // CHECK-DAG: %[[TRUE:.*]] = graph.constant dense<true>
  // CHECK: return %[[ZERO]], %arg0, %arg1, %[[TRUE]]
  return %0, %1, %2, %3 : tensor<2xi32>, tensor<2xi32>, tensor<i1>, tensor<i1>
}

// CHECK-LABEL: func @twice
func.func @twice(%x: tensor<2xf32>, %p: tensor<i1>) -> (tensor<2xf32>, tensor<i1>, tensor<f32>) {
  %0 = graph.negate %x : tensor<2xf32>
  %1 = graph.negate %0 : tensor<2xf32>
  %2 = graph.not %p : tensor<i1>
  %3 = graph.not %2 : tensor<i1>
  %zero = graph.constant dense<0.0> : tensor<f32>
  %4 = graph.negate %zero : tensor<f32>
  // CHECK: %[[ZERO:.*]] = graph.constant dense<-0.000000e+00>
  // CHECK: return %arg0, %arg1, %[[ZERO]]
  return %1, %3, %4 : tensor<2xf32>, tensor<i1>, tensor<f32>
}
