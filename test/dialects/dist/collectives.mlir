// RUN: minigptc-opt %s --split-input-file --verify-diagnostics=only-expected | minigptc-opt --split-input-file | FileCheck %s

dist.mesh @mesh = <["data"=4, "tensor"=2]>

// CHECK-LABEL: func @collectives
func.func @collectives(%x: tensor<8x4xf32>, %y: tensor<16xbf16>) {
  // CHECK: dist.all_gather %arg0, %arg1 over @mesh ["data"] dims = [1, 0] : (tensor<8x4xf32>, tensor<16xbf16>) -> (tensor<8x16xf32>, tensor<64xbf16>)
  %0:2 = dist.all_gather %x, %y over @mesh ["data"] dims = [1, 0] : (tensor<8x4xf32>, tensor<16xbf16>) -> (tensor<8x16xf32>, tensor<64xbf16>)
  // CHECK: dist.reduce_scatter %arg0 over @mesh ["data", "tensor"] combine = sum dims = [0] : (tensor<8x4xf32>) -> tensor<1x4xf32>
  %1 = dist.reduce_scatter %x over @mesh ["data", "tensor"] combine = sum dims = [0] : (tensor<8x4xf32>) -> tensor<1x4xf32>
  // CHECK: dist.all_reduce %arg0 over @mesh ["tensor"] combine = max : (tensor<8x4xf32>) -> tensor<8x4xf32>
  %2 = dist.all_reduce %x over @mesh ["tensor"] combine = max : (tensor<8x4xf32>) -> tensor<8x4xf32>
  // CHECK: dist.all_to_all %arg0 over @mesh ["tensor"] split = [1] concat = [0] : (tensor<8x4xf32>) -> tensor<16x2xf32>
  %3 = dist.all_to_all %x over @mesh ["tensor"] split = [1] concat = [0] : (tensor<8x4xf32>) -> tensor<16x2xf32>
  // CHECK: dist.collective_permute %arg0 over @mesh ["data"] sources = [1, 0, -1, 2] : (tensor<8x4xf32>) -> tensor<8x4xf32>
  %4 = dist.collective_permute %x over @mesh ["data"] sources = [1, 0, -1, 2] : (tensor<8x4xf32>) -> tensor<8x4xf32>
  // CHECK: dist.all_slice %arg0 over @mesh ["data"] dims = [0] : (tensor<8x4xf32>) -> tensor<2x4xf32>
  %5 = dist.all_slice %x over @mesh ["data"] dims = [0] : (tensor<8x4xf32>) -> tensor<2x4xf32>
  // CHECK: dist.axis_index @mesh ["data", "tensor"] : tensor<i64>
  %6 = dist.axis_index @mesh ["data", "tensor"] : tensor<i64>
  return
}

// -----

func.func @no_mesh(%x: tensor<8xf32>) {
  // expected-error@+1 {{runs over @mesh, but there is no such mesh}}
  %0 = dist.all_gather %x over @mesh ["x"] dims = [0] : (tensor<8xf32>) -> tensor<16xf32>
  return
}

// -----

// expected-note@+1 {{the mesh is #dist.mesh<["x"=2]>}}
dist.mesh @mesh = <["x"=2]>
func.func @no_axis(%x: tensor<8xf32>) {
  // expected-error@+1 {{runs over axis "y", which the mesh does not have}}
  %0 = dist.all_reduce %x over @mesh ["y"] combine = sum : (tensor<8xf32>) -> tensor<8xf32>
  return
}

// -----

// expected-note@+1 {{the mesh is}}
dist.mesh @mesh = <["x"=2]>
func.func @axis_twice() {
  // expected-error@+1 {{runs over axis "x" twice}}
  %0 = dist.axis_index @mesh ["x", "x"] : tensor<i64>
  return
}

// -----

dist.mesh @mesh = <["x"=2]>
func.func @index_is_a_scalar() {
  // expected-error@+1 {{result i64[1] must be a scalar}}
  %0 = dist.axis_index @mesh ["x"] : tensor<1xi64>
  return
}

// -----

dist.mesh @mesh = <["x"=2]>
func.func @nothing() {
  // expected-error@+1 {{has 0 operands and 0 results; result i is that of operand i}}
  dist.all_reduce over @mesh ["x"] combine = sum : () -> ()
  return
}

// -----

dist.mesh @mesh = <["x"=2]>
func.func @results(%x: tensor<8xf32>) {
  // expected-error@+1 {{has 2 operands and 1 results; result i is that of operand i}}
  %0 = dist.all_reduce %x, %x over @mesh ["x"] combine = sum : (tensor<8xf32>, tensor<8xf32>) -> tensor<8xf32>
  return
}

// -----

dist.mesh @mesh = <["x"=2]>
func.func @origins(%x: tensor<8xf32>) {
  // expected-error@+1 {{has 1 operands, but 0 dist.origins}}
  %0 = dist.all_reduce %x over @mesh ["x"] combine = sum {dist.origins = []} : (tensor<8xf32>) -> tensor<8xf32>
  return
}

// -----

dist.mesh @mesh = <["x"=2]>
func.func @uneven(%x: tensor<7x4xf32>) {
  // expected-error@+1 {{cuts dimension 0 of operand 0 f32[7,4] into 2 parts, which does not divide it}}
  %0 = dist.reduce_scatter %x over @mesh ["x"] combine = sum dims = [0] : (tensor<7x4xf32>) -> tensor<4x4xf32>
  return
}

// -----

dist.mesh @mesh = <["x"=2]>
func.func @wrong_type(%x: tensor<8x4xf32>) {
  // expected-error@+1 {{makes f32[16,4] of operand 0 f32[8,4], but result 0 is f32[8,8]}}
  %0 = dist.all_gather %x over @mesh ["x"] dims = [0] : (tensor<8x4xf32>) -> tensor<8x8xf32>
  return
}

// -----

dist.mesh @mesh = <["x"=2]>
func.func @count_of_dims(%x: tensor<8x4xf32>) {
  // expected-error@+1 {{has 1 operands, but dims has 2 entries}}
  %0 = dist.all_slice %x over @mesh ["x"] dims = [0, 1] : (tensor<8x4xf32>) -> tensor<4x4xf32>
  return
}

// -----

dist.mesh @mesh = <["x"=2]>
func.func @dim_out_of_range(%x: tensor<8x4xf32>) {
  // expected-error@+1 {{dims has 2 for operand 0, which has dimensions 0 to 1}}
  %0 = dist.all_gather %x over @mesh ["x"] dims = [2] : (tensor<8x4xf32>) -> tensor<8x4xf32>
  return
}

// -----

dist.mesh @mesh = <["x"=2]>
func.func @split_out_of_range(%x: tensor<8x4xf32>) {
  // expected-error@+1 {{split has -1 for operand 0, which has dimensions 0 to 1}}
  %0 = dist.all_to_all %x over @mesh ["x"] split = [-1] concat = [0] : (tensor<8x4xf32>) -> tensor<8x4xf32>
  return
}

// -----

dist.mesh @mesh = <["x"=2]>
func.func @one_dimension(%x: tensor<8x4xf32>) {
  // expected-error@+1 {{splits and concatenates operand 0 along dimension 1}}
  %0 = dist.all_to_all %x over @mesh ["x"] split = [1] concat = [1] : (tensor<8x4xf32>) -> tensor<8x4xf32>
  return
}

// -----

dist.mesh @mesh = <["x"=2]>
func.func @count_of_sources(%x: tensor<8xf32>) {
  // expected-error@+1 {{has 3 sources for groups of 2}}
  %0 = dist.collective_permute %x over @mesh ["x"] sources = [0, 1, 0] : (tensor<8xf32>) -> tensor<8xf32>
  return
}

// -----

dist.mesh @mesh = <["x"=2]>
func.func @source_out_of_range(%x: tensor<8xf32>) {
  // expected-error@+1 {{has source 2; devices of a group are 0 to 1, and -1 is none}}
  %0 = dist.collective_permute %x over @mesh ["x"] sources = [0, 2] : (tensor<8xf32>) -> tensor<8xf32>
  return
}

// -----

dist.mesh @mesh = <["x"=2]>
func.func @unknown_word(%x: tensor<8xf32>) {
  // expected-error@+1 {{unknown word 'mean'; there are sum, max, min, prod, any, all}}
  %0 = dist.all_reduce %x over @mesh ["x"] combine = mean : (tensor<8xf32>) -> tensor<8xf32>
  return
}

// -----

dist.mesh @mesh = <["x"=2]>
func.func @sum_of_truths(%x: tensor<8xi1>) {
  // expected-error@+1 {{combines by sum, which is for numbers, not for operand 0 i1[8]}}
  %0 = dist.all_reduce %x over @mesh ["x"] combine = sum : (tensor<8xi1>) -> tensor<8xi1>
  return
}

// -----

dist.mesh @mesh = <["x"=2]>
func.func @any_of_numbers(%x: tensor<8xi1>, %y: tensor<8xf32>) {
  // expected-error@+1 {{combines by any, which is for i1, not for operand 1 f32[8]}}
  %0:2 = dist.reduce_scatter %x, %y over @mesh ["x"] combine = any dims = [0, 0] : (tensor<8xi1>, tensor<8xf32>) -> (tensor<4xi1>, tensor<4xf32>)
  return
}
