// RUN: minigptc-opt %s --split-input-file --verify-diagnostics | minigptc-opt --split-input-file | FileCheck %s

// CHECK-LABEL: func.func @ops(
// CHECK-NEXT: dist.transfer %arg0 from 0 to 1 : tensor<4xf32>
// CHECK-NEXT: dist.send %arg0 to 1 tag = 0 : tensor<4xf32>
// CHECK-NEXT: dist.recv from 1 tag = 1 : tensor<4xf32>
// CHECK-NEXT: dist.absent : tensor<4xf32>
func.func @ops(%x: tensor<4xf32>) -> tensor<4xf32> {
  %0 = dist.transfer %x from 0 to 1 : tensor<4xf32>
  dist.send %x to 1 tag = 0 : tensor<4xf32>
  %1 = dist.recv from 1 tag = 1 : tensor<4xf32>
  %2 = dist.absent : tensor<4xf32>
  return %2 : tensor<4xf32>
}

// -----

func.func @nowhere(%x: tensor<4xf32>) {
  // expected-error@+1 {{goes from stage 1 to stage 1}}
  %0 = dist.transfer %x from 1 to 1 : tensor<4xf32>
  return
}

// -----

func.func @used() {
  // expected-error@+1 {{is used, but it has no value here}}
  %0 = dist.absent : tensor<4xf32>
  // expected-note@+1 {{used here}}
  %1 = graph.negate %0 : tensor<4xf32>
  return
}
