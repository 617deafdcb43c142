// RUN: minigptc-opt %s --split-input-file --verify-diagnostics=only-expected | minigptc-opt --split-input-file | FileCheck %s

// CHECK-LABEL: exec.block @batched
exec.block @batched(%a: memref<2x3x4xf64>, %b: memref<2x4x5xf64>, %c: memref<2x3x5xf64>) inputs 2 frame 0 {
  // CHECK: exec.gemm %arg0 [4, 1] [12] x %arg1 [5, 1] [20] into %arg2 [5, 1] [15] m = 3 n = 5 k = 4 batch = [2]
  exec.gemm %a [4, 1] [12] x %b [5, 1] [20] into %c [5, 1] [15] m = 3 n = 5 k = 4 batch = [2]
      : memref<2x3x4xf64>, memref<2x4x5xf64>, memref<2x3x5xf64>
  exec.return
}

// -----

exec.block @bounds(%a: memref<12xf32>) inputs 1 frame 0 {
  // expected-error@+1 {{'exec.gemm' op rhs reaches element 12 of a buffer of 12 elements}}
  exec.gemm %a [4, 1] [] x %a [4, 1] [] into %a [1, 1] [] m = 3 n = 1 k = 4 batch = [] : memref<12xf32>, memref<12xf32>, memref<12xf32>
  exec.return
}

// -----

exec.block @strides(%a: memref<12xf32>) inputs 1 frame 0 {
  // expected-error@+1 {{lhs needs two strides and one stride per batch dimension, none negative}}
  exec.gemm %a [4, 1] [] x %a [4, 1] [1] into %a [1, 1] [1] m = 1 n = 1 k = 1 batch = [2] : memref<12xf32>, memref<12xf32>, memref<12xf32>
  exec.return
}

// -----

exec.block @types(%a: memref<4xf32>, %b: memref<4xf64>) inputs 1 frame 0 {
  // expected-error@+1 {{multiplies 'memref<4xf64>' into 'memref<4xf32>'}}
  exec.gemm %a [1, 1] [] x %b [1, 1] [] into %a [1, 1] [] m = 1 n = 1 k = 1 batch = [] : memref<4xf32>, memref<4xf64>, memref<4xf32>
  exec.return
}

// -----

exec.block @integers(%a: memref<4xi32>) inputs 1 frame 0 {
  // expected-error@+1 {{is for f32, f64 and bf16, not for 'i32'}}
  exec.gemm %a [1, 1] [] x %a [1, 1] [] into %a [1, 1] [] m = 1 n = 1 k = 1 batch = [] : memref<4xi32>, memref<4xi32>, memref<4xi32>
  exec.return
}

// -----

// CHECK-LABEL: exec.block @narrow
exec.block @narrow(%a: memref<4xbf16>, %b: memref<4xf32>, %c: memref<4xbf16>) inputs 2 frame 0 {
  // CHECK: exec.gemm {{.*}} : memref<4xbf16>, memref<4xf32>, memref<4xbf16>
  exec.gemm %a [2, 1] [] x %b [2, 1] [] into %c [2, 1] [] m = 2 n = 2 k = 2 batch = [] : memref<4xbf16>, memref<4xf32>, memref<4xbf16>
  // CHECK: exec.gemm {{.*}} beta = 1.0
  exec.gemm %a [2, 1] [] x %a [2, 1] [] into %b [2, 1] [] m = 2 n = 2 k = 2 batch = [] beta = 1.0 : memref<4xbf16>, memref<4xbf16>, memref<4xf32>
  exec.return
}

// -----

exec.block @rounded_twice(%a: memref<4xbf16>) inputs 1 frame 0 {
  // expected-error@+1 {{adds to a bf16 matrix, whose sums would be rounded twice}}
  exec.gemm %a [2, 1] [] x %a [2, 1] [] into %a [2, 1] [] m = 2 n = 2 k = 2 batch = [] beta = 1.0 : memref<4xbf16>, memref<4xbf16>, memref<4xbf16>
  exec.return
}
