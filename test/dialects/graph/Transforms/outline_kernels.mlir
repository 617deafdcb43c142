// RUN: minigptc-opt %s --graph-outline-kernels | FileCheck %s

// Equal fusions in two functions are one kernel; another type is another kernel.
// CHECK: func.func private @tanh_add_[[H1:[0-9a-f]+]](%arg0: tensor<4xf32>, %arg1: tensor<4xf32>) -> tensor<4xf32> attributes {exec.kernel}
// CHECK-NEXT: %[[T:.*]] = graph.tanh %arg0
// CHECK-NEXT: %[[A:.*]] = graph.add %[[T]], %arg1
// CHECK-NEXT: return %[[A]]
// CHECK: func.func private @tanh_add_[[H2:[0-9a-f]+]](%arg0: tensor<8xf32>
// CHECK: func.func private @tanh_add_{{.*}}(%arg0: tensor<4xf32>
// CHECK-LABEL: func.func @f
// CHECK-NEXT: call @tanh_add_[[H1]](%arg0, %arg0)
// CHECK-NEXT: call @tanh_add_[[H2]](
func.func @f(%x: tensor<4xf32>, %y: tensor<8xf32>) -> (tensor<4xf32>, tensor<8xf32>) {
  %0 = graph.fusion(%x, %x) : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32> {
  ^bb0(%a: tensor<4xf32>, %b: tensor<4xf32>):
    %t = graph.tanh %a : tensor<4xf32>
    %s = graph.add %t, %b : tensor<4xf32>
    graph.yield %s : tensor<4xf32>
  }
  %1 = graph.fusion(%y, %y) : (tensor<8xf32>, tensor<8xf32>) -> tensor<8xf32> {
  ^bb0(%a: tensor<8xf32>, %b: tensor<8xf32>):
    %t = graph.tanh %a : tensor<8xf32>
    %s = graph.add %t, %b : tensor<8xf32>
    graph.yield %s : tensor<8xf32>
  }
  return %0, %1 : tensor<4xf32>, tensor<8xf32>
}

// Operands in another order are another kernel, named likewise.
// CHECK-LABEL: func.func @g
// CHECK-NEXT: call @tanh_add_[[H1]](%arg0, %arg1)
// CHECK-NOT: call @tanh_add_[[H1]]
func.func @g(%x: tensor<4xf32>, %y: tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>) {
  %0 = graph.fusion(%x, %y) : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32> {
  ^bb0(%c: tensor<4xf32>, %d: tensor<4xf32>):
    %t = graph.tanh %c : tensor<4xf32>
    %s = graph.add %t, %d : tensor<4xf32>
    graph.yield %s : tensor<4xf32>
  }
  %1 = graph.fusion(%x, %y) : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32> {
  ^bb0(%c: tensor<4xf32>, %d: tensor<4xf32>):
    %t = graph.tanh %c : tensor<4xf32>
    %s = graph.add %d, %t : tensor<4xf32>
    graph.yield %s : tensor<4xf32>
  }
  return %0, %1 : tensor<4xf32>, tensor<4xf32>
}

// An attribute makes another kernel, and another short name: names do not depend on what else
// is in the module.
// CHECK-LABEL: func.func @h
// CHECK-NEXT: call @[[R0:reduce_[0-9a-f]+]](
// CHECK-NOT: call @[[R0]](
// CHECK: call @reduce_{{[0-9a-f]{8}\(}}
// CHECK: return
func.func @h(%x: tensor<4x4xf32>) -> (tensor<4xf32>, tensor<4xf32>) {
  %0 = graph.fusion(%x) : (tensor<4x4xf32>) -> tensor<4xf32> {
  ^bb0(%a: tensor<4x4xf32>):
    %s = graph.reduce sum, %a, dims = [0] : (tensor<4x4xf32>) -> tensor<4xf32>
    graph.yield %s : tensor<4xf32>
  }
  %1 = graph.fusion(%x) : (tensor<4x4xf32>) -> tensor<4xf32> {
  ^bb0(%a: tensor<4x4xf32>):
    %s = graph.reduce sum, %a, dims = [1] : (tensor<4x4xf32>) -> tensor<4xf32>
    graph.yield %s : tensor<4xf32>
  }
  return %0, %1 : tensor<4xf32>, tensor<4xf32>
}
