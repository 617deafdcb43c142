// A module of the stage `exec`, with each instruction once: what the lowering
// makes and code generation takes. Kernels are functions on tensors; a launch
// gives them buffers, inputs first.
// RUN: minigptc-opt %s | minigptc-opt | FileCheck %s

module attributes {minigptc.stage = "exec", minigptc.metadata = "{}"} {

// A kernel's body: fusible ops, splat constants, broadcasts read by index.
// Outputs have the same number of elements. A launch may give an output the
// buffer of an input that the body reads at the output's own index only (here
// %x and %out): for each work item, all outputs are computed before any is stored.
func.func private @broadcast_in_dim_add_maximum_0f3a19c2(%x: tensor<8x16xf32>, %bias: tensor<16xf32>) -> tensor<8x16xf32>
    attributes {exec.kernel} {
  %zero = graph.constant dense<0.0> : tensor<8x16xf32>
  %b = graph.broadcast_in_dim %bias, dims = [1] : (tensor<16xf32>) -> tensor<8x16xf32>
  %0 = graph.add %x, %b : tensor<8x16xf32>
  %1 = graph.maximum %0, %zero : tensor<8x16xf32>
  return %1 : tensor<8x16xf32>
}

// A reduction is the last op of its kernel; what it reduces is computed on the way.
func.func private @multiply_reduce_5521c0de(%x: tensor<8x16xf32>) -> tensor<8xf32> attributes {exec.kernel} {
  %0 = graph.multiply %x, %x : tensor<8x16xf32>
  %1 = graph.reduce sum, %0, dims = [1] : (tensor<8x16xf32>) -> tensor<8xf32>
  return %1 : tensor<8xf32>
}

func.func private @reduce_8be20147(%x: tensor<8xf32>) -> tensor<f32> attributes {exec.kernel} {
  %0 = graph.reduce sum, %x, dims = [0] : (tensor<8xf32>) -> tensor<f32>
  return %0 : tensor<f32>
}

// Two outputs over one iteration space; the scalar is read at every element.
func.func private @update_77aa01b3(%p: tensor<16x16xf32>, %m: tensor<16x16xf32>, %rate: tensor<f32>)
    -> (tensor<16x16xf32>, tensor<16x16xf32>) attributes {exec.kernel} {
  %half = graph.constant dense<5.0e-01> : tensor<16x16xf32>
  %r = graph.broadcast_in_dim %rate, dims = [] : (tensor<f32>) -> tensor<16x16xf32>
  %0 = graph.multiply %m, %half : tensor<16x16xf32>
  %1 = graph.multiply %0, %r : tensor<16x16xf32>
  %2 = graph.subtract %p, %1 : tensor<16x16xf32>
  return %2, %0 : tensor<16x16xf32>, tensor<16x16xf32>
}

// An op of kind opaque is alone in its kernel, but for splat constants.
func.func private @scatter_90c1d2e3(%ids: tensor<8x1xi32>, %rows: tensor<8x16xf32>) -> tensor<32x16xf32>
    attributes {exec.kernel} {
  %zero = graph.constant dense<0.0> : tensor<32x16xf32>
  %0 = graph.scatter add, %zero[%ids], %rows dims = [0]
      : (tensor<32x16xf32>, tensor<8x1xi32>, tensor<8x16xf32>) -> tensor<32x16xf32>
  return %0 : tensor<32x16xf32>
}

func.func private @schedule(%count: tensor<f64>) -> tensor<f64> attributes {graph.host} {
  %one = graph.constant dense<1.0> : tensor<f64>
  %0 = graph.add %count, %one : tensor<f64>
  %1 = graph.divide %one, %0 : tensor<f64>
  return %1 : tensor<f64>
}

// A block that is called twice. Its frame lies in the caller's.
// CHECK-LABEL: exec.block @layer
// CHECK-SAME: inputs 3 frame 512
exec.block @layer(%x: memref<8x16xf32>, %w: memref<16x16xf32>, %bias: memref<16xf32>, %y: memref<8x16xf32>) inputs 3 frame 512 {
  %0 = exec.frame 0 : memref<8x16xf32>
  // y = x · w: rows of x 16 apart, columns 1.
  exec.gemm %x [16, 1] [] x %w [16, 1] [] into %0 [16, 1] [] m = 8 n = 16 k = 16 batch = []
      : memref<8x16xf32>, memref<16x16xf32>, memref<8x16xf32>
  exec.launch @broadcast_in_dim_add_maximum_0f3a19c2 ins(%0, %bias : memref<8x16xf32>, memref<16xf32>) outs(%y : memref<8x16xf32>)
  exec.return
}

// An entry: named arguments, outputs after inputs; a donated input and its output are one buffer.
// CHECK-LABEL: exec.block @step
// CHECK-SAME: graph.donate = 0 : i64
exec.block @step(%w: memref<16x16xf32> {graph.name = "state.params.w", graph.donate = 0 : i64},
                 %m: memref<16x16xf32> {graph.name = "state.optimizer.m.w", graph.donate = 1 : i64},
                 %count: memref<i64> {graph.name = "state.optimizer.count"},
                 %x: memref<2x4x16xf32> {graph.name = "batch.x"},
                 %ids: memref<8x1xi32> {graph.name = "batch.ids", graph.index_bound = 32 : i64},
                 %w_out: memref<16x16xf32> {graph.name = "state.params.w"},
                 %m_out: memref<16x16xf32> {graph.name = "state.optimizer.m.w"},
                 %table: memref<32x16xf32> {graph.name = "table"},
                 %norm: memref<f32> {graph.name = "norm"},
                 %copy: memref<2x4x16xf32> {graph.name = "copy"}) inputs 5 frame 1728 attributes {graph.entry} {
  %rate = exec.frame 1664 : memref<f32>
  // CHECK: exec.scalars @schedule
  exec.scalars @schedule ins(%count : memref<i64>) outs(%rate : memref<f32>)
  // CHECK: exec.constant
  %bias = exec.constant dense<[0.0, 1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0, 9.0, 10.0, 11.0, 12.0, 13.0, 14.0, 15.0]> : tensor<16xf32> : memref<16xf32>
  // CHECK: exec.view
  %rows = exec.view %x : memref<2x4x16xf32> to memref<8x16xf32>
  %h = exec.frame 0 : memref<8x16xf32>
  %h2 = exec.frame 512 : memref<8x16xf32>
  // CHECK: exec.call @layer
  exec.call @layer ins(%rows, %w, %bias : memref<8x16xf32>, memref<16x16xf32>, memref<16xf32>) outs(%h : memref<8x16xf32>) frame 1024
  exec.call @layer ins(%h, %w, %bias : memref<8x16xf32>, memref<16x16xf32>, memref<16xf32>) outs(%h2 : memref<8x16xf32>) frame 1024
  %squares = exec.frame 0 : memref<8xf32>
  exec.launch @multiply_reduce_5521c0de ins(%h2 : memref<8x16xf32>) outs(%squares : memref<8xf32>)
  exec.launch @reduce_8be20147 ins(%squares : memref<8xf32>) outs(%norm : memref<f32>)
  exec.launch @scatter_90c1d2e3 ins(%ids, %h2 : memref<8x1xi32>, memref<8x16xf32>) outs(%table : memref<32x16xf32>)
  exec.launch @update_77aa01b3 ins(%w, %m, %rate : memref<16x16xf32>, memref<16x16xf32>, memref<f32>)
      outs(%w_out, %m_out : memref<16x16xf32>, memref<16x16xf32>)
  // CHECK: exec.copy
  exec.copy %x to %copy : memref<2x4x16xf32>, memref<2x4x16xf32>
  exec.return
}
}
