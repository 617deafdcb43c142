// Lines of a run, on standard error.
// RUN: minigptc-opt %s --run 2>&1 >/dev/null | FileCheck %s

func.func private @body(%x: tensor<f32> {graph.donate = 0 : i64}, %part: tensor<1x2xf32>) -> tensor<f32> {
  graph.print ["part ", " of ", ""] (%part, %x : tensor<1x2xf32>, tensor<f32>)
  %0 = graph.add %x, %x : tensor<f32>
  return %0 : tensor<f32>
}

// CHECK: part {{\[\[}}0.5, 1]] of 1
// CHECK-NEXT: part {{\[\[}}nan, 3]] of 2
// CHECK-NEXT: example [1, 2]
// CHECK-NEXT: example [3, 4]
// CHECK-NEXT: true, [-1, 7], 4294967295
func.func @main() {
  %one = graph.constant dense<1.0> : tensor<f32>
  %xs = graph.constant dense<[[0.5, 1.0], [0x7FC00000, 3.0]]> : tensor<2x2xf32>
  %0 = graph.scan @body() carried(%one) cut(%xs) count = 2 : (tensor<f32>, tensor<2x2xf32>) -> tensor<f32>
  %examples = graph.constant dense<[[1, 2], [3, 4]]> : tensor<2x2xi64>
  graph.print ["example ", ""] (%examples : tensor<2x2xi64>) {examples = 1 : i64}
  %yes = graph.constant dense<true> : tensor<i1>
  %small = graph.constant dense<[-1, 7]> : tensor<2xi8>
  %large = graph.constant dense<4294967295> : tensor<ui32>
  graph.print ["", ", ", ", ", ""] (%yes, %small, %large : tensor<i1>, tensor<2xi8>, tensor<ui32>)
  return
}
