// RUN: minigptc-opt %s --emit-ptx | FileCheck %s

// Offsets of more than 2^28 elements, which constant indices of LLVM's dialect do not hold.
// CHECK-LABEL: // @rows
// CHECK: ld.global.v4.b32 {{.*}}+536870912];
func.func private @rows(%a: tensor<5000x65536xbf16>) -> tensor<500x65536xbf16> attributes {exec.kernel} {
  %0 = graph.slice %a [4096, 0] : [4596, 65536] : [1, 1] : (tensor<5000x65536xbf16>) -> tensor<500x65536xbf16>
  return %0 : tensor<500x65536xbf16>
}

// Also of more than 2^31 bytes, and of more than 2^31 elements.
// CHECK-LABEL: // @far_rows
// CHECK: ld.global.v4.b32 {{.*}}+1310720000];
func.func private @far_rows(%a: tensor<65536x65536xbf16>) -> tensor<1000x65536xbf16> attributes {exec.kernel} {
  %0 = graph.slice %a [10000, 0] : [11000, 65536] : [1, 1] : (tensor<65536x65536xbf16>) -> tensor<1000x65536xbf16>
  return %0 : tensor<1000x65536xbf16>
}
// CHECK-LABEL: // @farther_rows
// CHECK: add.s64 [[AT:%rd[0-9]+]], {{.*}}, 5242880000;
// CHECK: ld.global.v4.b32 {{.*}}, [[[AT]]];
func.func private @farther_rows(%a: tensor<65536x65536xbf16>) -> tensor<1000x65536xbf16> attributes {exec.kernel} {
  %0 = graph.slice %a [40000, 0] : [41000, 65536] : [1, 1] : (tensor<65536x65536xbf16>) -> tensor<1000x65536xbf16>
  return %0 : tensor<1000x65536xbf16>
}

// The second operand's rows lie before where the result's position points.
// CHECK-LABEL: // @joined
// CHECK: add.s64 {{.*}}, -655360000;
func.func private @joined(%a: tensor<5000x65536xbf16>, %b: tensor<100x65536xbf16>) -> tensor<5100x65536xbf16> attributes {exec.kernel} {
  %0 = graph.concatenate %a, %b dim = 0 : (tensor<5000x65536xbf16>, tensor<100x65536xbf16>) -> tensor<5100x65536xbf16>
  return %0 : tensor<5100x65536xbf16>
}

// Positions have 32 bits where that is enough,
// CHECK-LABEL: // @narrow
// CHECK: mov.u32 [[BLOCK:%r[0-9]+]], %ctaid.x;
// CHECK: shl.b32 {{.*}}, [[BLOCK]], 8;
// CHECK: ld.global.v4.b32
func.func private @narrow(%a: tensor<16383x65536xbf16>) -> tensor<16383x65536xbf16> attributes {exec.kernel} {
  %0 = graph.negate %a : tensor<16383x65536xbf16>
  return %0 : tensor<16383x65536xbf16>
}
// and 64 in kernels of wider tensors.
// CHECK-LABEL: // @wide
// CHECK: mov.u32 [[BLOCK:%r[0-9]+]], %ctaid.x;
// CHECK: mul.wide.u32 {{.*}}, [[BLOCK]], 4096;
// CHECK: ld.global.v4.b32
func.func private @wide(%a: tensor<70000x65536xbf16>) -> tensor<70000x65536xbf16> attributes {exec.kernel} {
  %0 = graph.negate %a : tensor<70000x65536xbf16>
  return %0 : tensor<70000x65536xbf16>
}
