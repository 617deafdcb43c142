// RUN: minigptc-opt %s --split-input-file --verify-diagnostics | minigptc-opt --split-input-file | FileCheck %s

// CHECK-LABEL: exec.block @good
exec.block @good(%x: memref<2x4xf32>, %y: memref<8x4xf32>, %i: memref<i64>) inputs 1 frame 64 {
  // CHECK: exec.collective all_gather over [2] [4] ins(%arg0 : memref<2x4xf32>) outs(%arg1 : memref<8x4xf32>) outer = [1] inner = [1] block = [8]
  exec.collective all_gather over [2] [4] ins(%x : memref<2x4xf32>) outs(%y : memref<8x4xf32>) outer = [1] inner = [1] block = [8]
  %t = exec.frame 0 : memref<2x4xf32>
  // CHECK: exec.collective reduce_scatter over [4, 1] [2, 2] combine = max ins
  exec.collective reduce_scatter over [4, 1] [2, 2] combine = max ins(%y : memref<8x4xf32>) outs(%t : memref<2x4xf32>) outer = [1] inner = [1] block = [8]
  // CHECK: exec.collective all_reduce over [1] [2] combine = sum ins(%{{.*}}, %arg1
  exec.collective all_reduce over [1] [2] combine = sum ins(%t, %y : memref<2x4xf32>, memref<8x4xf32>) outs(%t, %y : memref<2x4xf32>, memref<8x4xf32>) outer = [1, 1] inner = [1, 1] block = [8, 32]
  // CHECK: exec.collective all_to_all over [1] [2] ins({{.*}}) outer = [1] inner = [2] block = [2] from_major = [false]
  exec.collective all_to_all over [1] [2] ins(%x : memref<2x4xf32>) outs(%t : memref<2x4xf32>) outer = [1] inner = [2] block = [2] from_major = [false]
  // CHECK: exec.collective permute over [1] [2] ins({{.*}}) outer = [1] inner = [1] block = [8] sources = [1, -1]
  exec.collective permute over [1] [2] ins(%x : memref<2x4xf32>) outs(%t : memref<2x4xf32>) outer = [1] inner = [1] block = [8] sources = [1, -1]
  // CHECK: exec.device_index [2] [4] to %arg2 : memref<i64>
  exec.device_index [2] [4] to %i : memref<i64>
  exec.return
}

// -----

exec.block @size(%x: memref<4xf32>, %y: memref<12xf32>) inputs 1 frame 0 {
  // expected-error @+1 {{makes 'memref<12xf32>' of 'memref<4xf32>' by parts of 1 x 1 x 4 elements}}
  exec.collective all_gather over [1] [2] ins(%x : memref<4xf32>) outs(%y : memref<12xf32>) outer = [1] inner = [1] block = [4]
  exec.return
}

// -----

exec.block @type(%x: memref<4xf32>, %y: memref<4xi32>) inputs 1 frame 0 {
  // expected-error @+1 {{makes 'memref<4xi32>' of 'memref<4xf32>'}}
  exec.collective all_reduce over [1] [2] combine = sum ins(%x : memref<4xf32>) outs(%y : memref<4xi32>) outer = [1] inner = [1] block = [4]
  exec.return
}

// -----

exec.block @axes(%x: memref<4xf32>, %y: memref<4xf32>) inputs 1 frame 0 {
  // expected-error @+1 {{has axis of stride 3 and size 2, which is none of a mesh}}
  exec.collective all_reduce over [1, 3] [2, 2] combine = sum ins(%x : memref<4xf32>) outs(%y : memref<4xf32>) outer = [1] inner = [1] block = [4]
  exec.return
}

// -----

exec.block @combine(%x: memref<4xf32>, %y: memref<4xf32>) inputs 1 frame 0 {
  // expected-error @+1 {{does not say how it combines}}
  exec.collective all_reduce over [1] [2] ins(%x : memref<4xf32>) outs(%y : memref<4xf32>) outer = [1] inner = [1] block = [4]
  exec.return
}

// -----

exec.block @combine(%x: memref<4xf32>, %y: memref<8xf32>) inputs 1 frame 0 {
  // expected-error @+1 {{combines, though it only moves}}
  exec.collective all_gather over [1] [2] combine = sum ins(%x : memref<4xf32>) outs(%y : memref<8xf32>) outer = [1] inner = [1] block = [4]
  exec.return
}

// -----

exec.block @counts(%x: memref<4xf32>, %y: memref<4xf32>) inputs 1 frame 0 {
  // expected-error @+1 {{has 1 operands, but sizes of parts for 2}}
  exec.collective all_reduce over [1] [2] combine = sum ins(%x : memref<4xf32>) outs(%y : memref<4xf32>) outer = [1, 1] inner = [1] block = [4]
  exec.return
}

// -----

exec.block @sources(%x: memref<4xf32>, %y: memref<4xf32>) inputs 1 frame 0 {
  // expected-error @+1 {{has source 2; members are 0 to 1, and -1 is none}}
  exec.collective permute over [1] [2] ins(%x : memref<4xf32>) outs(%y : memref<4xf32>) outer = [1] inner = [1] block = [4] sources = [0, 2]
  exec.return
}

// -----

exec.block @major(%x: memref<4xf32>, %y: memref<4xf32>) inputs 1 frame 0 {
  // expected-error @+1 {{needs 'from_major', one for each operand, if and only if it is all_to_all}}
  exec.collective all_to_all over [1] [2] ins(%x : memref<4xf32>) outs(%y : memref<4xf32>) outer = [1] inner = [1] block = [2]
  exec.return
}

// -----

exec.block @index(%y: memref<2xi64>) inputs 0 frame 0 {
  // expected-error @+1 {{writes an i64 scalar, not 'memref<2xi64>'}}
  exec.device_index [1] [2] to %y : memref<2xi64>
  exec.return
}

// -----

exec.block @sum_of_truths(%x: memref<4xi1>, %y: memref<4xi1>) inputs 1 frame 0 {
  // expected-error @+1 {{combines 'memref<4xi1>' by sum, which is for numbers}}
  exec.collective all_reduce over [1] [2] combine = sum ins(%x : memref<4xi1>) outs(%y : memref<4xi1>) outer = [1] inner = [1] block = [4]
  exec.return
}
