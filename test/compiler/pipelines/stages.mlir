// From each printed stage, with locations, the way on gives the same text.
// RUN: minigptc-opt %s --minigptc-to-exec -mlir-print-debuginfo -o %t.direct
// RUN: minigptc-opt %s --minigptc-to-autodiff -mlir-print-debuginfo -o %t.autodiff
// RUN: minigptc-opt %t.autodiff --minigptc-to-step -mlir-print-debuginfo -o %t.step
// RUN: minigptc-opt %t.step --minigptc-to-fuse -mlir-print-debuginfo -o %t.fuse
// RUN: minigptc-opt %t.fuse --minigptc-to-schedule -mlir-print-debuginfo -o %t.schedule
// RUN: minigptc-opt %t.schedule --minigptc-to-exec -mlir-print-debuginfo -o %t.exec
// RUN: diff %t.direct %t.exec
// RUN: FileCheck %s --check-prefix=AUTODIFF < %t.autodiff
// RUN: FileCheck %s --check-prefix=FUSE < %t.fuse
// RUN: FileCheck %s --check-prefix=SCHEDULE < %t.schedule
// RUN: FileCheck %s --check-prefix=EXEC < %t.exec
// RUN: not minigptc-opt %t.exec --minigptc-to-fuse 2>&1 | FileCheck %s --check-prefix=BACK
// RUN: sed 's/"exec"/"nowhere"/' %t.exec | not minigptc-opt --minigptc-to-exec 2>&1 | FileCheck %s --check-prefix=UNKNOWN

// AUTODIFF: minigptc.stage = "autodiff"
// AUTODIFF-NOT: graph.vjp
// FUSE: minigptc.stage = "fuse"
// FUSE: graph.fusion
// SCHEDULE: minigptc.stage = "schedule"
// SCHEDULE: exec.kernel
// SCHEDULE-NOT: graph.fusion
// EXEC-DAG: #[[LINE:.*]] = loc("model.cpp":7:3)
// EXEC-DAG: #[[CALL:.*]] = loc(callsite(#[[LINE]] at
// EXEC: minigptc.stage = "exec"
// EXEC: exec.block @main
// EXEC: exec.gemm {{.*}} loc(#[[CALL]])
// BACK: error: the module is in stage exec already; there is no way back to fuse
// UNKNOWN: error: the module is in stage "nowhere", which is none of trace, autodiff, step, stage, shard, spmd, fuse, schedule, exec

func.func private @loss(%w: tensor<8x4xf32>, %x: tensor<2x8xf32>) -> tensor<f32> {
  %0 = graph.dot_general %x, %w, batching_dims = [] x [], contracting_dims = [1] x [0] : (tensor<2x8xf32>, tensor<8x4xf32>) -> tensor<2x4xf32> loc("model.cpp":7:3)
  %1 = graph.tanh %0 : tensor<2x4xf32>
  %2 = graph.reduce sum, %1, dims = [0, 1] : (tensor<2x4xf32>) -> tensor<f32>
  return %2 : tensor<f32>
}
func.func @main(%w: tensor<8x4xf32>, %x: tensor<2x8xf32>) -> (tensor<f32>, tensor<8x4xf32>) attributes {graph.entry} {
  %one = graph.constant dense<1.0> : tensor<f32>
  %loss, %dw = graph.vjp @loss(%w, %x) cotangents(%one) wrt [0] : (tensor<8x4xf32>, tensor<2x8xf32>), (tensor<f32>) -> (tensor<f32>, tensor<8x4xf32>)
  return %loss, %dw : tensor<f32>, tensor<8x4xf32>
}
