// RUN: minigptc-opt %s --convert-graph-to-exec --split-input-file --verify-diagnostics | FileCheck %s

func.func private @step(%p: tensor<64xf32>, %g: tensor<64xf32>) -> tensor<64xf32> attributes {exec.kernel} {
  %0 = graph.subtract %p, %g : tensor<64xf32>
  return %0 : tensor<64xf32>
}
func.func private @double(%p: tensor<64xf32>) -> tensor<64xf32> attributes {exec.kernel} {
  %0 = graph.add %p, %p : tensor<64xf32>
  return %0 : tensor<64xf32>
}
func.func private @shift(%p: tensor<64xf32>) -> tensor<64xf32> attributes {exec.kernel} {
  %zero = graph.constant dense<0.0> : tensor<f32>
  %0 = graph.pad %p, %zero, low = [1], high = [-1], interior = [0] : (tensor<64xf32>, tensor<f32>) -> tensor<64xf32>
  return %0 : tensor<64xf32>
}
func.func private @schedule(%c: tensor<f64>) -> tensor<f64> attributes {graph.host} {
  return %c : tensor<f64>
}

// The kernel that reads the old value last, at its own index, writes the new one.
// CHECK-LABEL: exec.block @in_place(%arg0: memref<64xf32> {graph.donate = 0 : i64}, %arg1: memref<64xf32>, %arg2: memref<64xf32> {graph.name = "p"}) inputs 2 frame 256 attributes {graph.entry}
// CHECK: exec.launch @double ins(%arg0
// CHECK: exec.launch @step ins(%arg0, {{.*}} outs(%arg2
// CHECK-NOT: exec.copy
func.func @in_place(%p: tensor<64xf32> {graph.donate = 0 : i64}, %x: tensor<64xf32>) -> (tensor<64xf32> {graph.name = "p"}) attributes {graph.entry} {
  %g = call @double(%p) : (tensor<64xf32>) -> tensor<64xf32>
  %0 = call @step(%p, %g) : (tensor<64xf32>, tensor<64xf32>) -> tensor<64xf32>
  return %0 : tensor<64xf32>
}

// So does a block whose kernels allow it; one that reads the old value after it
// begins to write does not.
// CHECK-LABEL: exec.block @in_call
// CHECK: exec.call @update ins(%arg0, %arg1 {{.*}} outs(%arg3
// CHECK: %[[N:.*]] = exec.frame
// CHECK: exec.call @shift_twice ins(%arg2 {{.*}} outs(%[[N]]
// CHECK: exec.copy %[[N]] to %arg4
// CHECK-NEXT: exec.return
func.func private @update(%p: tensor<64xf32>, %x: tensor<64xf32>) -> tensor<64xf32> {
  %g = call @double(%x) : (tensor<64xf32>) -> tensor<64xf32>
  %0 = call @step(%p, %g) : (tensor<64xf32>, tensor<64xf32>) -> tensor<64xf32>
  return %0 : tensor<64xf32>
}
func.func private @shift_twice(%p: tensor<64xf32>) -> tensor<64xf32> {
  %0 = call @shift(%p) : (tensor<64xf32>) -> tensor<64xf32>
  %1 = call @step(%0, %p) : (tensor<64xf32>, tensor<64xf32>) -> tensor<64xf32>
  %2 = call @shift(%p) : (tensor<64xf32>) -> tensor<64xf32>
  %3 = call @step(%1, %2) : (tensor<64xf32>, tensor<64xf32>) -> tensor<64xf32>
  return %1 : tensor<64xf32>
}
func.func @in_call(%p: tensor<64xf32> {graph.donate = 0 : i64}, %x: tensor<64xf32>, %q: tensor<64xf32> {graph.donate = 1 : i64}) -> (tensor<64xf32>, tensor<64xf32>) {
  %0 = call @update(%p, %x) : (tensor<64xf32>, tensor<64xf32>) -> tensor<64xf32>
  %1 = call @shift_twice(%q) : (tensor<64xf32>) -> tensor<64xf32>
  return %0, %1 : tensor<64xf32>, tensor<64xf32>
}

// A kernel that replaces a part of a tensor writes this part; who reads the whole afterwards
// finds it in the output. Not where the part comes from the same memory.
// CHECK-LABEL: exec.block @part
// CHECK-NEXT: exec.launch @put ins(%arg0, %arg1, %arg2 {{.*}} outs(%arg3
// CHECK-NEXT: exec.launch @double ins(%arg3 {{.*}} outs(%arg4
// CHECK-NEXT: exec.return
func.func private @put(%c: tensor<64xf32>, %u: tensor<4xf32>, %i: tensor<i32>) -> tensor<64xf32> attributes {exec.kernel} {
  %0 = graph.dynamic_update_slice %c, %u[%i] : (tensor<64xf32>, tensor<4xf32>, tensor<i32>) -> tensor<64xf32>
  return %0 : tensor<64xf32>
}
func.func @part(%c: tensor<64xf32> {graph.donate = 0 : i64}, %u: tensor<4xf32>, %i: tensor<i32>) -> (tensor<64xf32>, tensor<64xf32>) {
  %0 = call @put(%c, %u, %i) : (tensor<64xf32>, tensor<4xf32>, tensor<i32>) -> tensor<64xf32>
  %1 = call @double(%0) : (tensor<64xf32>) -> tensor<64xf32>
  return %0, %1 : tensor<64xf32>, tensor<64xf32>
}
// CHECK-LABEL: exec.block @part_of_itself
// CHECK: %[[N:.*]] = exec.frame
// CHECK: exec.launch @put_own ins(%arg0, %arg1 {{.*}} outs(%[[N]]
// CHECK: exec.copy %[[N]] to %arg2
func.func private @put_own(%c: tensor<64xf32>, %i: tensor<i32>) -> tensor<64xf32> attributes {exec.kernel} {
  %u = graph.slice %c [0] : [4] : [1] : (tensor<64xf32>) -> tensor<4xf32>
  %0 = graph.dynamic_update_slice %c, %u[%i] : (tensor<64xf32>, tensor<4xf32>, tensor<i32>) -> tensor<64xf32>
  return %0 : tensor<64xf32>
}
func.func @part_of_itself(%c: tensor<64xf32> {graph.donate = 0 : i64}, %i: tensor<i32>) -> tensor<64xf32> {
  %0 = call @put_own(%c, %i) : (tensor<64xf32>, tensor<i32>) -> tensor<64xf32>
  return %0 : tensor<64xf32>
}

// A later reader, or one at other indices: through the frame.
// CHECK-LABEL: exec.block @read_later
// CHECK: %[[N:.*]] = exec.frame
// CHECK: exec.launch @step ins(%arg0, %arg1 {{.*}} outs(%[[N]]
// CHECK: exec.launch @double ins(%arg0 {{.*}} outs(%arg3
// CHECK: exec.copy %[[N]] to %arg2
func.func @read_later(%p: tensor<64xf32> {graph.donate = 0 : i64}, %x: tensor<64xf32>) -> (tensor<64xf32>, tensor<64xf32>) {
  %0 = call @step(%p, %x) : (tensor<64xf32>, tensor<64xf32>) -> tensor<64xf32>
  %1 = call @double(%p) : (tensor<64xf32>) -> tensor<64xf32>
  return %0, %1 : tensor<64xf32>, tensor<64xf32>
}
// CHECK-LABEL: exec.block @other_index
// CHECK: %[[N:.*]] = exec.frame
// CHECK: exec.launch @shift ins(%arg0 {{.*}} outs(%[[N]]
// CHECK: exec.copy %[[N]] to %arg1
func.func @other_index(%p: tensor<64xf32> {graph.donate = 0 : i64}) -> tensor<64xf32> {
  %0 = call @shift(%p) : (tensor<64xf32>) -> tensor<64xf32>
  return %0 : tensor<64xf32>
}

// Unchanged: no instruction. Exchanged: each is saved before it is overwritten.
// CHECK-LABEL: exec.block @unchanged
// CHECK-NEXT: exec.return
func.func @unchanged(%p: tensor<64xf32> {graph.donate = 0 : i64}) -> tensor<64xf32> {
  return %p : tensor<64xf32>
}
// CHECK-LABEL: exec.block @exchange
// CHECK: %[[A:.*]] = exec.frame
// CHECK: exec.copy %arg1 to %[[A]]
// CHECK: %[[B:.*]] = exec.frame
// CHECK: exec.copy %arg0 to %[[B]]
// CHECK: exec.copy %[[A]] to %arg2
// CHECK: exec.copy %[[B]] to %arg3
func.func @exchange(%p: tensor<64xf32> {graph.donate = 0 : i64}, %q: tensor<64xf32> {graph.donate = 1 : i64}) -> (tensor<64xf32>, tensor<64xf32>) {
  return %q, %p : tensor<64xf32>, tensor<64xf32>
}

// Host programs run before everything else; their results live from the start.
// CHECK-LABEL: exec.block @host
// CHECK-NEXT: %[[S:.*]] = exec.frame 256 : memref<f32>
// CHECK-NEXT: exec.scalars @schedule ins(%arg0 : memref<i64>) outs(%[[S]] : memref<f32>)
// CHECK: %[[D:.*]] = exec.frame 0
// CHECK: exec.launch @double
func.func private @scale(%x: tensor<64xf32>, %s: tensor<f32>) -> tensor<64xf32> attributes {exec.kernel} {
  %b = graph.broadcast_in_dim %s, dims = [] : (tensor<f32>) -> tensor<64xf32>
  %0 = graph.multiply %x, %b : tensor<64xf32>
  return %0 : tensor<64xf32>
}
func.func @host(%count: tensor<i64>, %x: tensor<64xf32>) -> tensor<64xf32> {
  %d = call @double(%x) : (tensor<64xf32>) -> tensor<64xf32>
  %lr = graph.host_call @schedule(%count) : (tensor<i64>) -> tensor<f32>
  %0 = call @scale(%d, %lr) : (tensor<64xf32>, tensor<f32>) -> tensor<64xf32>
  return %0 : tensor<64xf32>
}

// -----

// expected-error@+1 {{donates arguments 0 and 1 to the same result 0}}
func.func @twice(%p: tensor<4xf32> {graph.donate = 0 : i64}, %q: tensor<4xf32> {graph.donate = 0 : i64}) -> tensor<4xf32> {
  return %p : tensor<4xf32>
}

// -----

// expected-error@+1 {{donates argument 0 of type 'tensor<4xf32>' to result 0 of type 'tensor<5xf32>'}}
func.func @types(%p: tensor<4xf32> {graph.donate = 0 : i64}, %q: tensor<5xf32>) -> tensor<5xf32> {
  return %q : tensor<5xf32>
}

// -----

func.func @unfused(%p: tensor<4xf32>) -> tensor<4xf32> {
  // expected-error@+1 {{has no instruction; it must be in a kernel}}
  %0 = graph.tanh %p : tensor<4xf32>
  return %0 : tensor<4xf32>
}

// -----

func.func private @k(%p: tensor<f64>) -> tensor<f64> attributes {exec.kernel} {
  %0 = graph.tanh %p : tensor<f64>
  return %0 : tensor<f64>
}
func.func private @s(%c: tensor<f64>) -> tensor<f64> attributes {graph.host} {
  return %c : tensor<f64>
}
func.func @computed(%p: tensor<f64>) -> tensor<f64> {
  %0 = call @k(%p) : (tensor<f64>) -> tensor<f64>
  // expected-error@+1 {{reads a value that the step computes}}
  %1 = graph.host_call @s(%0) : (tensor<f64>) -> tensor<f64>
  return %1 : tensor<f64>
}
