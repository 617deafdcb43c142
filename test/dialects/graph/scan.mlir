// RUN: minigptc-opt %s --split-input-file --verify-diagnostics=only-expected | minigptc-opt --split-input-file | FileCheck %s

func.func private @body(%w: tensor<8xf32>, %s: tensor<8xf32> {graph.donate = 0 : i64}, %x: tensor<16x8xf32>) -> (tensor<8xf32>, tensor<16x8xf32>) {
  return %s, %x : tensor<8xf32>, tensor<16x8xf32>
}
// CHECK-LABEL: func @scan
func.func @scan(%w: tensor<8xf32>, %x: tensor<64x8xf32>) {
  // CHECK: graph.scan @body(%arg0) carried(%arg0) cut(%arg1) count = 4 : (tensor<8xf32>, tensor<8xf32>, tensor<64x8xf32>) -> (tensor<8xf32>, tensor<64x8xf32>)
  %0:2 = graph.scan @body(%w) carried(%w) cut(%x) count = 4 : (tensor<8xf32>, tensor<8xf32>, tensor<64x8xf32>) -> (tensor<8xf32>, tensor<64x8xf32>)
  // CHECK: graph.scan @body(%arg0) carried(%arg0) cut(%arg1) count = 4 reverse : (tensor<8xf32>,
  %1:2 = graph.scan @body(%w) carried(%w) cut(%x) count = 4 reverse : (tensor<8xf32>, tensor<8xf32>, tensor<64x8xf32>) -> (tensor<8xf32>, tensor<64x8xf32>)
  return
}

// -----

func.func @missing(%x: tensor<64x8xf32>) {
  // expected-error@+1 {{calls @body, but there is no such function}}
  graph.scan @body() carried() cut(%x) count = 4 : (tensor<64x8xf32>) -> ()
  return
}

// -----

func.func private @body(%x: tensor<16x8xf32>)
func.func @count(%x: tensor<64x8xf32>) {
  // expected-error@+1 {{has the count 0; it must be at least 1}}
  graph.scan @body() carried() cut(%x) count = 0 : (tensor<64x8xf32>) -> ()
  return
}

// -----

// expected-note@+1 {{@body is defined here}}
func.func private @body(%x: tensor<16x8xf32>)
func.func @part(%x: tensor<64x8xf32>) {
  // expected-error@+1 {{operand 0 is f32[64,8], but @body asks for f32[80,8]}}
  graph.scan @body() carried() cut(%x) count = 5 : (tensor<64x8xf32>) -> ()
  return
}

// -----

// expected-note@+1 {{@body is defined here}}
func.func private @body(%x: tensor<16x8xf32>) -> tensor<16xf32>
func.func @stacked(%x: tensor<64x8xf32>) {
  // expected-error@+1 {{result 0 is f32[16], but @body asks for f32[64]}}
  %0 = graph.scan @body() carried() cut(%x) count = 4 : (tensor<64x8xf32>) -> (tensor<16xf32>)
  return
}

// -----

// expected-note@+1 {{@body is defined here}}
func.func private @body(%s: tensor<8xf32>) -> tensor<8xf32>
func.func @donate(%x: tensor<8xf32>) {
  // expected-error@+1 {{calls @body, whose argument 0 is carried and needs graph.donate = 0}}
  %0 = graph.scan @body() carried(%x) cut() count = 4 : (tensor<8xf32>) -> (tensor<8xf32>)
  return
}

// -----

// expected-note@+1 {{@body is defined here}}
func.func private @body(%s: tensor<8xf32> {graph.donate = 0 : i64}) -> tensor<8xf32>
func.func @constant(%x: tensor<8xf32>) {
  // expected-error@+1 {{whose argument 0 is not carried and must not have graph.donate}}
  %0 = graph.scan @body(%x) carried() cut() count = 4 : (tensor<8xf32>) -> (tensor<32xf32>)
  return
}

// -----

// expected-note@+1 {{@body is defined here}}
func.func private @body(%x: tensor<f32>)
func.func @scalar(%x: tensor<f32>) {
  // expected-error@+1 {{cuts or stacks a scalar, which has no dimension 0}}
  graph.scan @body() carried() cut(%x) count = 4 : (tensor<f32>) -> ()
  return
}
