// RUN: minigptc-opt %s --split-input-file --verify-diagnostics | minigptc-opt --split-input-file | FileCheck %s

func.func private @k(%a: tensor<4xf32>) -> tensor<4xf32> attributes {exec.kernel} {
  return %a : tensor<4xf32>
}
exec.block @callee(%a: memref<4xf32>, %b: memref<4xf32>) inputs 1 frame 64 {
  exec.return
}
// Beside it: what neither writes its input nor touches its output.
// CHECK-LABEL: exec.block @good
// CHECK: %[[T:.*]] = exec.collective permute {{.*}} sources = [1, 0] -> !exec.token
// CHECK: exec.wait %[[T]] : !exec.token
exec.block @good(%x: memref<4xf32>, %y: memref<4xf32>, %z: memref<4xf32>) inputs 1 frame 128 {
  %t = exec.collective permute over [1] [2] ins(%x : memref<4xf32>) outs(%y : memref<4xf32>) outer = [1] inner = [1] block = [4] sources = [1, 0] -> !exec.token
  exec.launch @k ins(%x : memref<4xf32>) outs(%z : memref<4xf32>)
  exec.call @callee ins(%x : memref<4xf32>) outs(%z : memref<4xf32>) frame 64
  exec.wait %t : !exec.token
  exec.launch @k ins(%y : memref<4xf32>) outs(%z : memref<4xf32>)
  exec.return
}

// -----

exec.block @no_wait(%x: memref<4xf32>, %y: memref<4xf32>) inputs 1 frame 0 {
  // expected-error @+1 {{is started, but not waited for, once, in the same block}}
  %t = exec.collective permute over [1] [2] ins(%x : memref<4xf32>) outs(%y : memref<4xf32>) outer = [1] inner = [1] block = [4] sources = [1, 0] -> !exec.token
  exec.return
}

// -----

exec.block @two_waits(%x: memref<4xf32>, %y: memref<4xf32>) inputs 1 frame 0 {
  // expected-error @+1 {{is started, but not waited for, once, in the same block}}
  %t = exec.collective permute over [1] [2] ins(%x : memref<4xf32>) outs(%y : memref<4xf32>) outer = [1] inner = [1] block = [4] sources = [1, 0] -> !exec.token
  exec.wait %t : !exec.token
  exec.wait %t : !exec.token
  exec.return
}

// -----

exec.block @read_early(%x: memref<4xf32>, %y: memref<4xf32>, %z: memref<2x2xf32>) inputs 1 frame 0 {
  // expected-note @+1 {{started here}}
  %t = exec.collective permute over [1] [2] ins(%x : memref<4xf32>) outs(%y : memref<4xf32>) outer = [1] inner = [1] block = [4] sources = [1, 0] -> !exec.token
  %v = exec.view %y : memref<4xf32> to memref<2x2xf32>
  // expected-error @+1 {{touches what a collective is still writing}}
  exec.copy %v to %z : memref<2x2xf32>, memref<2x2xf32>
  exec.wait %t : !exec.token
  exec.return
}

// -----

exec.block @written_early(%y: memref<4xf32>, %z: memref<16xf32>) inputs 0 frame 128 {
  %x = exec.frame 64 : memref<4xf32>
  // expected-note @+1 {{started here}}
  %t = exec.collective permute over [1] [2] ins(%x : memref<4xf32>) outs(%y : memref<4xf32>) outer = [1] inner = [1] block = [4] sources = [1, 0] -> !exec.token
  %all = exec.frame 0 : memref<32xf32>
  // expected-error @+1 {{writes what a collective is still reading}}
  exec.copy %all to %all : memref<32xf32>, memref<32xf32>
  exec.wait %t : !exec.token
  exec.return
}

// -----

exec.block @callee(%a: memref<4xf32>, %b: memref<4xf32>) inputs 1 frame 64 {
  exec.return
}
exec.block @frame_of_a_call(%y: memref<4xf32>, %a: memref<4xf32>, %b: memref<4xf32>) inputs 0 frame 128 {
  %x = exec.frame 64 : memref<4xf32>
  // expected-note @+1 {{started here}}
  %t = exec.collective permute over [1] [2] ins(%x : memref<4xf32>) outs(%y : memref<4xf32>) outer = [1] inner = [1] block = [4] sources = [1, 0] -> !exec.token
  // expected-error @+1 {{writes what a collective is still reading}}
  exec.call @callee ins(%a : memref<4xf32>) outs(%b : memref<4xf32>) frame 64
  exec.wait %t : !exec.token
  exec.return
}

// -----

func.func private @k(%a: tensor<4xf32>) -> tensor<4xf32> attributes {exec.kernel} {
  return %a : tensor<4xf32>
}
exec.block @donated(%x: memref<4xf32> {graph.donate = 1 : i64}, %w: memref<4xf32>, %y: memref<4xf32>, %z: memref<4xf32>) inputs 2 frame 0 {
  // expected-note @+1 {{started here}}
  %t = exec.collective permute over [1] [2] ins(%x : memref<4xf32>) outs(%y : memref<4xf32>) outer = [1] inner = [1] block = [4] sources = [1, 0] -> !exec.token
  // expected-error @+1 {{writes what a collective is still reading}}
  exec.launch @k ins(%w : memref<4xf32>) outs(%z : memref<4xf32>)
  exec.wait %t : !exec.token
  exec.return
}
