// RUN: minigptc-opt %s --split-input-file --verify-diagnostics=only-expected | minigptc-opt --split-input-file | FileCheck %s

!b = memref<4xf32>
func.func private @k(%x: tensor<4xf32>) -> tensor<4xf32> attributes {exec.kernel} { return %x : tensor<4xf32> }
func.func private @lr(%n: tensor<f64>) -> tensor<f64> attributes {graph.host} { return %n : tensor<f64> }

// CHECK-LABEL: exec.block @layer(%arg0: memref<4xf32>, %arg1: memref<4xf32>) inputs 1 frame 64 {
exec.block @layer(%x: !b, %y: !b) inputs 1 frame 64 {
  // CHECK: %[[T:.*]] = exec.frame 0 : memref<4xf32>
  %t = exec.frame 0 : !b
  // CHECK: exec.launch @k ins(%arg0 : memref<4xf32>) outs(%[[T]] : memref<4xf32>)
  exec.launch @k ins(%x : !b) outs(%t : !b)
  // CHECK: exec.copy %[[T]] to %arg1 : memref<4xf32>, memref<4xf32>
  exec.copy %t to %y : !b, !b
  // CHECK: exec.return
  exec.return
}

// CHECK-LABEL: exec.block @step(%arg0: memref<4xf32> {graph.donate = 0 : i64, graph.name = "w"}, %arg1: memref<i64>, %arg2: memref<4xf32> {graph.name = "w"}) inputs 2 frame 192 attributes {graph.entry} {
exec.block @step(%w: !b {graph.donate = 0 : i64, graph.name = "w"}, %n: memref<i64>, %out: !b {graph.name = "w"})
    inputs 2 frame 192 attributes {graph.entry} {
  // CHECK: exec.constant dense<1.000000e+00> : tensor<4xf32> : memref<4xf32>
  %c = exec.constant dense<1.0> : tensor<4xf32> : !b
  // CHECK: exec.frame 0
  %t = exec.frame 0 : !b
  %lr = exec.frame 64 : memref<f32>
  // CHECK: exec.view %{{.*}} : memref<4xf32> to memref<2x2xf32>
  %v = exec.view %t : !b to memref<2x2xf32>
  // CHECK: exec.scalars @lr ins(%arg1 : memref<i64>) outs(%{{.*}} : memref<f32>)
  exec.scalars @lr ins(%n : memref<i64>) outs(%lr : memref<f32>)
  // CHECK: exec.call @layer ins(%arg0 : memref<4xf32>) outs(%{{.*}} : memref<4xf32>) frame 128
  exec.call @layer ins(%w : !b) outs(%t : !b) frame 128
  // CHECK: exec.gemm %{{.*}} [2, 1] [] x %{{.*}} [1, 2] [] into %{{.*}} [2, 1] [] m = 2 n = 2 k = 2 batch = [] beta = 1.000000e+00 : memref<4xf32>, memref<2x2xf32>, memref<4xf32>
  exec.gemm %c [2, 1] [] x %v [1, 2] [] into %out [2, 1] [] m = 2 n = 2 k = 2 batch = [] beta = 1.0 : !b, memref<2x2xf32>, !b
  exec.return
}

// -----

// expected-error@+1 {{'exec.block' op has 2 inputs but 1 arguments}}
exec.block @b(%x: memref<4xf32>) inputs 2 frame 0 {
  exec.return
}

// -----

// expected-error@+1 {{has a frame of 65 bytes, which is not a multiple of 64}}
exec.block @b(%x: memref<4xf32>) inputs 1 frame 65 {
  exec.return
}

// -----

// expected-error@+1 {{has a buffer of type 'memref<?xf32>'; buffers are memrefs of numbers, of static shape and identity layout}}
exec.block @b(%x: memref<?xf32>) inputs 1 frame 64 {
  exec.return
}

// -----

// expected-note@+1 {{the block is here}}
exec.block @b() inputs 0 frame 64 {
  // expected-error@+1 {{'exec.frame' op ends at byte 68, outside the block's frame of 64 bytes}}
  %0 = exec.frame 0 : memref<17xf32>
  exec.return
}

// -----

exec.block @b() inputs 0 frame 64 {
  // expected-error@+1 {{offset 4 is not a multiple of 64}}
  %0 = exec.frame 4 : memref<1xf32>
  exec.return
}

// -----

exec.block @b(%x: memref<4xf32>) inputs 1 frame 0 {
  // expected-error@+1 {{has contents of type 'tensor<3xf32>' for a buffer of type 'memref<4xf32>'}}
  %0 = exec.constant dense<1.0> : tensor<3xf32> : memref<4xf32>
  exec.return
}

// -----

exec.block @b(%x: memref<4xf32>) inputs 1 frame 0 {
  // expected-error@+1 {{views 16 bytes as 12}}
  %0 = exec.view %x : memref<4xf32> to memref<3xf32>
  exec.return
}

// -----

exec.block @b(%x: memref<4xf32>, %y: memref<2x2xf32>) inputs 1 frame 0 {
  // expected-error@+1 {{copies 'memref<4xf32>' to 'memref<2x2xf32>'}}
  exec.copy %x to %y : memref<4xf32>, memref<2x2xf32>
  exec.return
}
