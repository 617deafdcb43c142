// What prints is kept by passes on the module, which look into functions, and, marked, by those on
// one function.
// RUN: minigptc-opt %s --graph-mark-prints | FileCheck %s --check-prefix=MARK
// RUN: minigptc-opt %s --graph-simplify-functions | FileCheck %s
// RUN: minigptc-opt %s --graph-mark-prints --canonicalize --cse --graph-simplify-functions | FileCheck %s

// MARK-LABEL: func.func @entry
// MARK: call @inner(%arg0) {graph.prints}
// MARK: call @quiet(%arg0) : (tensor
// MARK: graph.scan @body{{.*}} {graph.prints}
// MARK: graph.cond {{.*}} {graph.prints}
// MARK: graph.while {{.*}} {graph.prints}
// MARK: graph.scan @quiet_body({{.*}} count = 2 : (
// MARK-LABEL: func.func private @inner
// MARK: call @say(%arg0) {graph.prints}

// CHECK-LABEL: func.func @entry
// CHECK-NEXT: call @inner(%arg0)
// CHECK-NEXT: call @inner(%arg0)
// CHECK-NEXT: graph.scan @body() carried(%arg0) cut(%arg1) count = 2
// CHECK-NEXT: graph.cond %arg2 then @inner_and_more else @double(%arg0)
// CHECK-NEXT: graph.while @below @step() carried(%arg0)
// CHECK-NEXT: return
func.func @entry(%x: tensor<f32>, %xs: tensor<2x16xf32>, %p: tensor<i1>) attributes {graph.entry} {
  call @inner(%x) : (tensor<f32>) -> ()
  call @inner(%x) : (tensor<f32>) -> ()
  %0 = call @quiet(%x) : (tensor<f32>) -> tensor<f32>
  %1 = graph.scan @body() carried(%x) cut(%xs) count = 2 : (tensor<f32>, tensor<2x16xf32>) -> tensor<f32>
  %2 = graph.cond %p then @inner_and_more else @double(%x) : (tensor<i1>, tensor<f32>) -> tensor<f32>
  %3 = graph.while @below @step() carried(%x) : (tensor<f32>) -> tensor<f32>
  %4 = graph.scan @quiet_body() carried(%x) cut(%xs) count = 2 : (tensor<f32>, tensor<2x16xf32>) -> tensor<f32>
  return
}
func.func private @say(%x: tensor<f32>) {
  graph.print ["x = ", ""] (%x : tensor<f32>)
  return
}
func.func private @inner(%x: tensor<f32>) {
  call @say(%x) : (tensor<f32>) -> ()
  return
}
func.func private @quiet(%x: tensor<f32>) -> tensor<f32> {
  %0 = graph.negate %x : tensor<f32>
  return %0 : tensor<f32>
}
func.func private @body(%x: tensor<f32> {graph.donate = 0 : i64}, %part: tensor<1x16xf32>) -> tensor<f32> {
  %0 = graph.negate %x : tensor<f32>
  call @say(%0) : (tensor<f32>) -> ()
  graph.print ["part ", ""] (%part : tensor<1x16xf32>)
  return %0 : tensor<f32>
}
func.func private @quiet_body(%x: tensor<f32> {graph.donate = 0 : i64}, %part: tensor<1x16xf32>) -> tensor<f32> {
  %0 = graph.negate %x : tensor<f32>
  return %0 : tensor<f32>
}
func.func private @inner_and_more(%x: tensor<f32>) -> tensor<f32> {
  call @inner(%x) : (tensor<f32>) -> ()
  return %x : tensor<f32>
}
func.func private @double(%x: tensor<f32>) -> tensor<f32> {
  %0 = graph.add %x, %x : tensor<f32>
  return %0 : tensor<f32>
}
func.func private @below(%x: tensor<f32>) -> tensor<i1> {
  %eight = graph.constant dense<8.0> : tensor<f32>
  %0 = graph.compare LT, %x, %eight : (tensor<f32>, tensor<f32>) -> tensor<i1>
  return %0 : tensor<i1>
}
func.func private @step(%x: tensor<f32> {graph.donate = 0 : i64}) -> tensor<f32> {
  %0 = call @double(%x) : (tensor<f32>) -> tensor<f32>
  call @say(%0) : (tensor<f32>) -> ()
  return %0 : tensor<f32>
}
