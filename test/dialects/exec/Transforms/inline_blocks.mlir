// RUN: minigptc-opt %s --exec-inline-blocks | FileCheck %s

func.func private @k(%x: tensor<16xf32>) -> tensor<16xf32> attributes {exec.kernel} {
  %0 = graph.negate %x : tensor<16xf32>
  return %0 : tensor<16xf32>
}

// The block of one instruction is gone; its piece of the frame lies in the caller's.
// CHECK-NOT: exec.block @small
exec.block @small(%x: memref<16xf32>, %y: memref<4x4xf32>) inputs 1 frame 128 {
  %t = exec.frame 64 : memref<16xf32>
  %v = exec.view %y : memref<4x4xf32> to memref<16xf32>
  exec.launch @k ins(%t : memref<16xf32>) outs(%v : memref<16xf32>)
  exec.return
}

// CHECK: exec.block @large
exec.block @large(%x: memref<16xf32>, %y: memref<16xf32>) inputs 1 frame 64 {
  %t = exec.frame 0 : memref<16xf32>
  exec.launch @k ins(%x : memref<16xf32>) outs(%t : memref<16xf32>)
  exec.launch @k ins(%t : memref<16xf32>) outs(%y : memref<16xf32>)
  exec.return
}

// A call that repeats stays, and so does its block.
// CHECK: exec.block @repeated
exec.block @repeated(%x: memref<16xf32>, %y: memref<16xf32>) inputs 1 frame 0 {
  exec.launch @k ins(%x : memref<16xf32>) outs(%y : memref<16xf32>)
  exec.return
}

// CHECK-LABEL: exec.block @main
exec.block @main(%x: memref<16xf32>, %y: memref<4x4xf32>, %z: memref<16xf32>) inputs 1 frame 256 attributes {graph.entry} {
  // CHECK: %[[T:.*]] = exec.frame 192 : memref<16xf32>
  // CHECK: %[[V:.*]] = exec.view %arg1
  // CHECK: exec.launch @k ins(%[[T]] : memref<16xf32>) outs(%[[V]] : memref<16xf32>)
  exec.call @small ins(%x : memref<16xf32>) outs(%y : memref<4x4xf32>) frame 128
  // CHECK: exec.call @large
  exec.call @large ins(%x : memref<16xf32>) outs(%z : memref<16xf32>) frame 64
  // CHECK: exec.call @repeated
  exec.call @repeated ins(%x : memref<16xf32>) outs(%z : memref<16xf32>) frame 0 count = 2 strides = [0, 0]
  exec.return
}
