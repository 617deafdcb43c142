// RUN: minigptc-opt %s --emit-ptx | FileCheck %s --implicit-check-not=.local --implicit-check-not=atom --implicit-check-not=call

// A warp for each row: it is read once, sums go by shuffles, and no other warp is waited for.
// CHECK-LABEL: // @norm: rows, grid 256, block 128, shared memory 0
// CHECK-NOT: bar.sync
// CHECK-NOT: .shared
// CHECK-COUNT-2: ld.global.v4.b32
// CHECK-NOT: ld.global.v4
// CHECK-COUNT-5: shfl.sync.bfly.b32
// CHECK-NOT: shfl
// CHECK: sqrt.rn.f32
// CHECK-COUNT-2: st.global.v4.b32
// CHECK-NOT: bar.sync
// CHECK: ret;
func.func private @norm(%x: tensor<1024x256xf32>) -> tensor<1024x256xf32> attributes {exec.kernel} {
  %q = graph.multiply %x, %x : tensor<1024x256xf32>
  %s = graph.reduce sum, %q, dims = [1] : (tensor<1024x256xf32>) -> tensor<1024xf32>
  %i = graph.rsqrt %s : tensor<1024xf32>
  %ib = graph.broadcast_in_dim %i, dims = [0] : (tensor<1024xf32>) -> tensor<1024x256xf32>
  %y = graph.multiply %x, %ib : tensor<1024x256xf32>
  return %y : tensor<1024x256xf32>
}

// A block for each long row: warps meet in shared memory.
// CHECK-LABEL: // @long: rows, grid 1024, block 128, shared memory 32
// CHECK: shfl.sync.bfly.b32
// CHECK: st.shared.b32
// CHECK: bar.sync 0
// CHECK: ld.shared
// CHECK: bar.sync 0
func.func private @long(%x: tensor<1024x4096xf32>) -> tensor<1024x4096xf32> attributes {exec.kernel} {
  %s = graph.reduce sum, %x, dims = [1] : (tensor<1024x4096xf32>) -> tensor<1024xf32>
  %sb = graph.broadcast_in_dim %s, dims = [0] : (tensor<1024xf32>) -> tensor<1024x4096xf32>
  %y = graph.subtract %x, %sb : tensor<1024x4096xf32>
  return %y : tensor<1024x4096xf32>
}

// One sum of all: a block.
// CHECK-LABEL: // @all: groups, grid 1, block 256, shared memory 64
// CHECK: ld.global.v4.b32
// CHECK: bar.sync 0
// CHECK: st.global.b32
func.func private @all(%x: tensor<30000xf32>) -> tensor<f32> attributes {exec.kernel} {
  %s = graph.reduce sum, %x, dims = [0] : (tensor<30000xf32>) -> tensor<f32>
  return %s : tensor<f32>
}
