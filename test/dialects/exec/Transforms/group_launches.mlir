// RUN: minigptc-opt %s --exec-group-launches | FileCheck %s

func.func private @k(%x: tensor<16xf32>) -> tensor<16xf32> attributes {exec.kernel} {
  %0 = graph.negate %x : tensor<16xf32>
  return %0 : tensor<16xf32>
}
func.func private @l(%x: tensor<16xf32>) -> tensor<16xf32> attributes {exec.kernel} {
  %0 = graph.abs %x : tensor<16xf32>
  return %0 : tensor<16xf32>
}

// Updates in place of donated inputs, with another kernel between them.
// CHECK-LABEL: exec.block @updates
exec.block @updates(%a: memref<16xf32> {graph.donate = 0 : i64}, %b: memref<16xf32> {graph.donate = 1 : i64},
                    %c: memref<16xf32>, %d: memref<16xf32>, %e: memref<16xf32>) inputs 2 frame 64
    attributes {graph.entry} {
  // CHECK: exec.launch @k groups = 2 ins(%arg0, %arg1 : memref<16xf32>, memref<16xf32>) outs(%arg2, %arg3 : memref<16xf32>, memref<16xf32>)
  // CHECK-NEXT: exec.launch @l
  // CHECK-NEXT: exec.return
  exec.launch @k ins(%a : memref<16xf32>) outs(%c : memref<16xf32>)
  exec.launch @l ins(%c : memref<16xf32>) outs(%e : memref<16xf32>)
  exec.launch @k ins(%b : memref<16xf32>) outs(%d : memref<16xf32>)
  exec.return
}

// The second launch reads what the first writes; the third may go with the first, and what
// it reads is there by then.
// CHECK-LABEL: exec.block @chain
exec.block @chain(%a: memref<16xf32>, %c: memref<16xf32>) inputs 1 frame 192 attributes {graph.entry} {
  %t = exec.frame 0 : memref<16xf32>
  // CHECK: %[[U:.*]] = exec.frame 128 : memref<4x4xf32>
  // CHECK: %[[V:.*]] = exec.view %[[U]]
  // CHECK: exec.launch @k groups = 2 ins(%arg0, %arg0 : {{.*}}) outs(%{{.*}}, %[[V]] :
  // CHECK: exec.launch @k ins(
  // CHECK-NOT: exec.launch
  exec.launch @k ins(%a : memref<16xf32>) outs(%t : memref<16xf32>)
  exec.launch @k ins(%t : memref<16xf32>) outs(%c : memref<16xf32>)
  %u = exec.frame 128 : memref<4x4xf32>
  %v = exec.view %u : memref<4x4xf32> to memref<16xf32>
  exec.launch @k ins(%a : memref<16xf32>) outs(%v : memref<16xf32>)
  exec.return
}

// Each launch writes a part of what the one before reads or writes.
// CHECK-LABEL: exec.block @overlaps
// CHECK-NOT: groups
exec.block @overlaps(%a: memref<16xf32>, %c: memref<16xf32>) inputs 1 frame 256 attributes {graph.entry} {
  %s = exec.frame 0 : memref<16xf32>
  %t = exec.frame 64 : memref<32xf32>
  %u = exec.frame 128 : memref<16xf32>
  exec.launch @k ins(%s : memref<16xf32>) outs(%u : memref<16xf32>)
  exec.copy %t to %t : memref<32xf32>, memref<32xf32>
  exec.launch @k ins(%a : memref<16xf32>) outs(%u : memref<16xf32>)
  exec.launch @k ins(%a : memref<16xf32>) outs(%u : memref<16xf32>)
  exec.return
}

// A caller may give an input's buffer as an output.
// CHECK-LABEL: exec.block @called
// CHECK-NOT: groups
exec.block @called(%a: memref<16xf32>, %b: memref<16xf32>, %c: memref<16xf32>, %d: memref<16xf32>) inputs 2 frame 0 {
  exec.launch @k ins(%a : memref<16xf32>) outs(%c : memref<16xf32>)
  exec.launch @k ins(%b : memref<16xf32>) outs(%d : memref<16xf32>)
  exec.return
}

// A called block uses a piece of this one's frame.
// CHECK-LABEL: exec.block @calls
// CHECK-NOT: groups
exec.block @calls(%a: memref<16xf32>, %b: memref<16xf32>, %c: memref<16xf32>, %d: memref<16xf32>) inputs 2 frame 192
    attributes {graph.entry} {
  %t = exec.frame 64 : memref<16xf32>
  exec.launch @k ins(%a : memref<16xf32>) outs(%c : memref<16xf32>)
  exec.call @deep ins(%a : memref<16xf32>) outs(%d : memref<16xf32>) frame 0
  exec.launch @k ins(%b : memref<16xf32>) outs(%t : memref<16xf32>)
  exec.return
}
exec.block @deep(%a: memref<16xf32>, %c: memref<16xf32>) inputs 1 frame 128 {
  %t = exec.frame 64 : memref<16xf32>
  exec.launch @l ins(%a : memref<16xf32>) outs(%t : memref<16xf32>)
  exec.launch @l ins(%t : memref<16xf32>) outs(%c : memref<16xf32>)
  exec.return
}
