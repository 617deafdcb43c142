// RUN: minigptc-opt %s --split-input-file --verify-diagnostics=only-expected | minigptc-opt --split-input-file | FileCheck %s
// RUN: minigptc-opt %s --split-input-file --verify-diagnostics=only-expected --canonicalize --cse | FileCheck %s

// Lines are neither dropped nor merged.
// CHECK-LABEL: func.func @lines
func.func @lines(%x: tensor<f32>, %y: tensor<8x4xi32>) {
  // CHECK-NEXT: graph.print ["x = ", ""](%arg0 : tensor<f32>)
  graph.print ["x = ", ""] (%x : tensor<f32>)
  // CHECK-NEXT: graph.print ["x = ", ""](%arg0 : tensor<f32>)
  graph.print ["x = ", ""] (%x : tensor<f32>)
  // CHECK-NEXT: graph.print ["", " and ", "\0A"](%arg0, %arg1 : tensor<f32>, tensor<8x4xi32>)
  graph.print ["", " and ", "\0A"] (%x, %y : tensor<f32>, tensor<8x4xi32>)
  // CHECK-NEXT: graph.print ["only text"]
  graph.print ["only text"]
  // CHECK-NEXT: graph.print ["", ""](%arg1 : tensor<8x4xi32>) {axes = ["data"], examples = 2 : i64}
  graph.print ["", ""] (%y : tensor<8x4xi32>) {axes = ["data"], examples = 2 : i64}
  return
}

// -----

func.func @texts(%x: tensor<f32>) {
  // expected-error @+1 {{has 1 texts for 1 values; there must be one before each and one behind the last}}
  graph.print ["x = "] (%x : tensor<f32>)
  return
}

// -----

func.func @rank(%x: tensor<f32>) {
  // expected-error @+1 {{has examples along 1 dimensions, but a value f32[]}}
  graph.print ["", ""] (%x : tensor<f32>) {examples = 1 : i64}
  return
}

// -----

func.func @other_examples(%x: tensor<4xf32>, %y: tensor<5xf32>) {
  // expected-error @+1 {{has values of other examples: f32[4] and f32[5]}}
  graph.print ["", " ", ""] (%x, %y : tensor<4xf32>, tensor<5xf32>) {examples = 1 : i64}
  return
}

// -----

func.func @no_examples() {
  // expected-error @+1 {{has examples along 1 dimensions of no value}}
  graph.print [""] {examples = 1 : i64}
  return
}

// -----

func.func @many(%x: tensor<8192x8192xi1>) {
  // expected-error @+1 {{these are more than 16777216}}
  graph.print ["", ""] (%x : tensor<8192x8192xi1>) {examples = 2 : i64}
  return
}
