// RUN: minigptc-opt %s --split-input-file --verify-diagnostics | minigptc-opt --split-input-file | FileCheck %s

// CHECK-LABEL: exec.block @step.0(
// CHECK-NEXT: exec.send %{{.*}} to 1 tag = 3 : memref<4xf32>
// CHECK-NEXT: exec.recv %{{.*}} from 1 tag = 4 : memref<4xf32>
exec.block @step.0(%x: memref<4xf32>, %y: memref<4xf32>) inputs 1 frame 0
    attributes {dist.stage = 0 : i64, dist.stage_of = "step"} {
  exec.send %x to 1 tag = 3 : memref<4xf32>
  exec.recv %y from 1 tag = 4 : memref<4xf32>
  exec.return
}

// -----

exec.block @inner(%x: memref<4xf32>) inputs 1 frame 0 {
  // expected-error@+1 {{stands in a block that is no stage's part of an entry (dist.stage)}}
  exec.send %x to 1 tag = 3 : memref<4xf32>
  exec.return
}

// -----

// A collective in flight leaves nobody else its memory, messages neither.
exec.block @flight(%x: memref<4xf32>, %y: memref<4xf32>) inputs 1 frame 0
    attributes {dist.stage = 0 : i64, dist.stage_of = "step"} {
  // expected-note@+1 {{started here}}
  %t = exec.collective all_reduce over [1] [2] combine = sum ins(%x : memref<4xf32>) outs(%y : memref<4xf32>) outer = [1] inner = [1] block = [4] -> !exec.token
  // expected-error@+1 {{touches what a collective is still writing}}
  exec.send %y to 1 tag = 3 : memref<4xf32>
  exec.wait %t : !exec.token
  exec.return
}
