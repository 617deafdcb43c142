// RUN: minigptc-opt %s --split-input-file --verify-diagnostics=only-expected | minigptc-opt --split-input-file | FileCheck %s
// RUN: minigptc-opt %s --split-input-file --verify-diagnostics=only-expected --canonicalize | FileCheck %s --check-prefix=FOLD

// CHECK-LABEL: func @convert
// FOLD-LABEL: func @convert
func.func @convert(%x: tensor<2xbf16>, %i: tensor<2xi8>, %w: tensor<2xi32>, %f: tensor<2xf32>)
    -> (tensor<2xbf16>, tensor<2xf64>, tensor<2xf32>, tensor<2xi8>, tensor<2xf32>) {
  // Back from a type that holds all values: nothing happened.
  // CHECK: graph.convert %arg0 : (tensor<2xbf16>) -> tensor<2xf32>
  %0 = graph.convert %x : (tensor<2xbf16>) -> tensor<2xf32>
  %1 = graph.convert %0 : (tensor<2xf32>) -> tensor<2xbf16>
  // On to another type: the detour is left out.
  // FOLD-DAG: %[[WIDE:.*]] = graph.convert %arg0 : (tensor<2xbf16>) -> tensor<2xf64>
  %2 = graph.convert %0 : (tensor<2xf32>) -> tensor<2xf64>
  // FOLD-DAG: %[[FLOAT:.*]] = graph.convert %arg1 : (tensor<2xi8>) -> tensor<2xf32>
  %3 = graph.convert %i : (tensor<2xi8>) -> tensor<2xi32>
  %4 = graph.convert %3 : (tensor<2xi32>) -> tensor<2xf32>
  // An integer saturates on its way back from a float, but wraps into a narrower integer.
  // FOLD-DAG: %[[DETOUR:.*]] = graph.convert %arg2 : (tensor<2xi32>) -> tensor<2xf64>
  // FOLD-DAG: %[[BACK:.*]] = graph.convert %[[DETOUR]] : (tensor<2xf64>) -> tensor<2xi8>
  %5 = graph.convert %w : (tensor<2xi32>) -> tensor<2xf64>
  %6 = graph.convert %5 : (tensor<2xf64>) -> tensor<2xi8>
  // Rounding stays.
  // FOLD-DAG: %[[ROUNDED:.*]] = graph.convert %arg3 : (tensor<2xf32>) -> tensor<2xbf16>
  // FOLD-DAG: %[[WIDENED:.*]] = graph.convert %[[ROUNDED]] : (tensor<2xbf16>) -> tensor<2xf32>
  %7 = graph.convert %f : (tensor<2xf32>) -> tensor<2xbf16>
  %8 = graph.convert %7 : (tensor<2xbf16>) -> tensor<2xf32>
  // FOLD: return %arg0, %[[WIDE]], %[[FLOAT]], %[[BACK]], %[[WIDENED]]
  return %1, %2, %4, %6, %8 : tensor<2xbf16>, tensor<2xf64>, tensor<2xf32>, tensor<2xi8>, tensor<2xf32>
}

// FOLD-LABEL: func @constants
func.func @constants() -> (tensor<4xi8>, tensor<4xui32>, tensor<2xbf16>, tensor<2xi8>, tensor<2xf32>, tensor<2xi1>) {
  // Towards zero, saturated; NaN gives 0.
  %a = graph.constant dense<[-1.9, 300.0, -300.0, 0x7FC00000]> : tensor<4xf32>
  // FOLD-DAG: %[[A:.*]] = graph.constant dense<[-1, 127, -128, 0]> : tensor<4xi8>
  %0 = graph.convert %a : (tensor<4xf32>) -> tensor<4xi8>
  // FOLD-DAG: %[[B:.*]] = graph.constant dense<[0, 300, 0, 0]> : tensor<4xui32>
  %1 = graph.convert %a : (tensor<4xf32>) -> tensor<4xui32>
  %b = graph.constant dense<[257.0, 259.0]> : tensor<2xf32>
  // FOLD-DAG: %[[C:.*]] = graph.constant dense<[2.560000e+02, 2.600000e+02]> : tensor<2xbf16>
  %2 = graph.convert %b : (tensor<2xf32>) -> tensor<2xbf16>
  %c = graph.constant dense<[257, -1]> : tensor<2xi32>
  // FOLD-DAG: %[[D:.*]] = graph.constant dense<[1, -1]> : tensor<2xi8>
  %3 = graph.convert %c : (tensor<2xi32>) -> tensor<2xi8>
  %d = graph.constant dense<[true, false]> : tensor<2xi1>
  // FOLD-DAG: %[[E:.*]] = graph.constant dense<[1.000000e+00, 0.000000e+00]> : tensor<2xf32>
  %4 = graph.convert %d : (tensor<2xi1>) -> tensor<2xf32>
  // FOLD-DAG: %[[F:.*]] = graph.constant dense<true> : tensor<2xi1>
  %5 = graph.convert %b : (tensor<2xf32>) -> tensor<2xi1>
  // FOLD: return %[[A]], %[[B]], %[[C]], %[[D]], %[[E]], %[[F]]
  return %0, %1, %2, %3, %4, %5 : tensor<4xi8>, tensor<4xui32>, tensor<2xbf16>, tensor<2xi8>, tensor<2xf32>, tensor<2xi1>
}

// -----

func.func @shape_differs(%x: tensor<2xf32>) {
  // expected-error@+1 {{'graph.convert' op requires the same shape for all operands and results}}
  %0 = graph.convert %x : (tensor<2xf32>) -> tensor<3xf64>
  return
}

// -----

func.func @bitcast(%x: tensor<2xf32>, %y: tensor<2xf64>) {
  // CHECK: graph.bitcast_convert %arg0 : (tensor<2xf32>) -> tensor<2xui32>
  %0 = graph.bitcast_convert %x : (tensor<2xf32>) -> tensor<2xui32>
  return
}

// -----

func.func @bitcast_width(%x: tensor<2xf32>) {
  // expected-error@+1 {{'graph.bitcast_convert' op 'f32' has 32 bits and 'f64' has 64}}
  %0 = graph.bitcast_convert %x : (tensor<2xf32>) -> tensor<2xf64>
  return
}
