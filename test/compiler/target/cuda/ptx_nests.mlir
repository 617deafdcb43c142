// RUN: minigptc-opt %s --emit-ptx | FileCheck %s --implicit-check-not=.local --implicit-check-not=atom --implicit-check-not=call

// Four elements of f32 are one access; nothing is fused but what a polynomial fuses: a value's
// bits do not depend on the kernel that it is computed in.
// CHECK-LABEL: // @muladd: map, grid 1, block 256, shared memory 0
// CHECK: .target sm_80
// CHECK: .maxntid 256, 1, 1
// CHECK-NOT: fma
// CHECK: ld.global.v4.b32
// CHECK: .loc {{[0-9]+}} [[#@LINE+9]] 8
// CHECK: mul.rn.f32
// CHECK: .loc {{[0-9]+}} [[#@LINE+8]] 8
// CHECK: add.rn.f32
// CHECK: st.global.v4.b32
// CHECK-NOT: fma
func.func private @muladd(%a: tensor<1001xf32>, %b: tensor<1001xf32>) -> tensor<1001xf32> attributes {exec.kernel} {
  // The lines that .loc names.

  %0 = graph.multiply %a, %b : tensor<1001xf32>
  %1 = graph.add %0, %b : tensor<1001xf32>
  return %1 : tensor<1001xf32>
}

// Eight of bf16 are one access, also of a vector that all rows share.
// CHECK-LABEL: // @bias: map, grid 375,
// CHECK-COUNT-2: ld.global.v4.b32
// CHECK-NOT: ld.global
// CHECK: st.global.v4.b32
// CHECK-NOT: st.global
func.func private @bias(%a: tensor<1000x768xbf16>, %b: tensor<768xbf16>) -> tensor<1000x768xbf16> attributes {exec.kernel} {
  %0 = graph.broadcast_in_dim %b, dims = [1] : (tensor<768xbf16>) -> tensor<1000x768xbf16>
  %1 = graph.add %a, %0 : tensor<1000x768xbf16>
  return %1 : tensor<1000x768xbf16>
}

// A transpose goes through shared memory.
// CHECK-LABEL: // @transpose: tiles, grid 6, block 256, shared memory 4224
// CHECK: ld.global.b32
// CHECK: st.shared.b32
// CHECK: bar.sync 0
// CHECK: ld.shared.b32
// CHECK: st.global.b32
func.func private @transpose(%x: tensor<70x40xf32>) -> tensor<40x70xf32> attributes {exec.kernel} {
  %0 = graph.transpose %x, dims = [1, 0] : (tensor<70x40xf32>) -> tensor<40x70xf32>
  return %0 : tensor<40x70xf32>
}

// Dimensions that stay rows are copied by vectors.
// CHECK-LABEL: // @heads: map,
// CHECK: ld.global.v4.b32
// CHECK: st.global.v4.b32
func.func private @heads(%x: tensor<2x10x4x64xf32>) -> tensor<2x4x10x64xf32> attributes {exec.kernel} {
  %0 = graph.transpose %x, dims = [0, 2, 1, 3] : (tensor<2x10x4x64xf32>) -> tensor<2x4x10x64xf32>
  return %0 : tensor<2x4x10x64xf32>
}

// A gradient of a table: each row looks for its slices by ballot.
// CHECK-LABEL: // @scatter: scatter, grid 2, block 256
// CHECK: vote.sync.ballot.b32
// CHECK: ld.global.v4.b32
// CHECK: st.global.v4.b32
func.func private @scatter(%t: tensor<10x128xf32>, %i: tensor<40x1xi32>, %u: tensor<40x128xf32>) -> tensor<10x128xf32> attributes {exec.kernel} {
  %0 = graph.scatter add, %t[%i], %u dims = [0] : (tensor<10x128xf32>, tensor<40x1xi32>, tensor<40x128xf32>) -> tensor<10x128xf32>
  return %0 : tensor<10x128xf32>
}

// An output may lie where an input is: every pointer is aligned, none is said to be alone.
// CHECK-LABEL: // @grouped:
// CHECK: .param .u64 .ptr .global .align 16 grouped_param_0
// CHECK-NOT: grouped_param_1
// CHECK: %ctaid.y
// CHECK: ld.global.v4.b32
func.func private @grouped(%a: tensor<256xf32>) -> tensor<256xf32> attributes {exec.kernel, cuda.grouped} {
  %0 = graph.add %a, %a : tensor<256xf32>
  return %0 : tensor<256xf32>
}

// Each output has blocks of its own; only those of the sum make it.
// CHECK-LABEL: // @sum_beside: map, grid 2, block 256
// CHECK-COUNT-5: shfl.sync.bfly
// CHECK-NOT: shfl.sync
// CHECK-LABEL: // @sum_within: map, grid 1, block 256
// CHECK-COUNT-5: shfl.sync.bfly
// CHECK-NOT: shfl.sync
func.func private @sum_beside(%a: tensor<5xf32>) -> (tensor<5xf32>, tensor<f32>) attributes {exec.kernel} {
  %0 = graph.add %a, %a : tensor<5xf32>
  %1 = graph.reduce sum, %0, dims = [0] : (tensor<5xf32>) -> tensor<f32>
  return %0, %1 : tensor<5xf32>, tensor<f32>
}
func.func private @sum_within(%a: tensor<5xf32>) -> tensor<5xf32> attributes {exec.kernel} {
  %0 = graph.reduce sum, %a, dims = [0] : (tensor<5xf32>) -> tensor<f32>
  %1 = graph.broadcast_in_dim %0, dims = [] : (tensor<f32>) -> tensor<5xf32>
  %2 = graph.multiply %a, %1 : tensor<5xf32>
  return %2 : tensor<5xf32>
}
