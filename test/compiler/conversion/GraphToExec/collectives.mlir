// RUN: minigptc-opt %s --convert-graph-to-exec | FileCheck %s

dist.mesh @mesh = <["data"=4, "tensor"=2]>

// An axis is a stride of device numbers and a size; parts lie as the dimension says.
// CHECK-LABEL: exec.block @kinds
// CHECK: exec.collective all_gather over [2] [4] {{.*}} outer = [3, 1] inner = [1, 1] block = [2, 6]
// CHECK: exec.collective reduce_scatter over [1, 2] [2, 4] combine = sum {{.*}} outer = [1] inner = [1] block = [5]
// CHECK: exec.collective all_to_all over [1] [2] {{.*}} outer = [1] inner = [3] block = [2] from_major = [false]
// CHECK: exec.collective all_to_all over [1] [2] {{.*}} outer = [1] inner = [2] block = [3] from_major = [true]
// CHECK: exec.collective permute over [1] [2] {{.*}} block = [6] sources = [1, 0]
// CHECK: exec.device_index [1] [2] to
func.func private @kinds(%x: tensor<3x2xf32>, %g: tensor<8x5xf32>, %a: tensor<3x4xf32>, %b: tensor<4x3xf32>)
    -> (tensor<3x8xf32>, tensor<12x2xf32>, tensor<1x5xf32>, tensor<6x2xf32>, tensor<2x6xf32>, tensor<3x2xf32>, tensor<i64>) {
  %0, %1 = dist.all_gather %x, %x over @mesh ["data"] dims = [1, 0] : (tensor<3x2xf32>, tensor<3x2xf32>) -> (tensor<3x8xf32>, tensor<12x2xf32>)
  %2 = dist.reduce_scatter %g over @mesh ["tensor", "data"] combine = sum dims = [0] : (tensor<8x5xf32>) -> tensor<1x5xf32>
  %3 = dist.all_to_all %a over @mesh ["tensor"] split = [1] concat = [0] : (tensor<3x4xf32>) -> tensor<6x2xf32>
  %4 = dist.all_to_all %b over @mesh ["tensor"] split = [0] concat = [1] : (tensor<4x3xf32>) -> tensor<2x6xf32>
  %5 = dist.collective_permute %x over @mesh ["tensor"] sources = [1, 0] : (tensor<3x2xf32>) -> tensor<3x2xf32>
  %6 = dist.axis_index @mesh ["tensor"] : tensor<i64>
  return %0, %1, %2, %3, %4, %5, %6 : tensor<3x8xf32>, tensor<12x2xf32>, tensor<1x5xf32>, tensor<6x2xf32>, tensor<2x6xf32>, tensor<3x2xf32>, tensor<i64>
}

func.func private @twice(%x: tensor<4xf32>) -> tensor<4xf32> attributes {exec.kernel} {
  %0 = graph.add %x, %x : tensor<4xf32>
  return %0 : tensor<4xf32>
}

// An all-reduce works in place on what dies with it, and leaves what does not.
// CHECK-LABEL: exec.block @in_place
// CHECK: %[[A:.*]] = exec.frame 0
// CHECK: exec.launch @twice ins(%arg0{{.*}} outs(%[[A]]
// CHECK: %[[B:.*]] = exec.frame 0
// CHECK: exec.collective all_reduce over [2] [4] combine = sum ins(%[[A]] {{.*}} outs(%[[B]]
// CHECK: %[[C:.*]] = exec.frame 64
// CHECK: exec.collective all_reduce over [2] [4] combine = max ins(%[[B]] {{.*}} outs(%[[C]]
// CHECK: exec.launch @twice ins(%[[B]]{{.*}} outs(%arg1
// CHECK: exec.launch @twice ins(%[[C]]{{.*}} outs(%arg2
func.func private @in_place(%x: tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>) {
  %0 = call @twice(%x) : (tensor<4xf32>) -> tensor<4xf32>
  %1 = dist.all_reduce %0 over @mesh ["data"] combine = sum : (tensor<4xf32>) -> tensor<4xf32>
  %2 = dist.all_reduce %1 over @mesh ["data"] combine = max : (tensor<4xf32>) -> tensor<4xf32>
  %3 = call @twice(%1) : (tensor<4xf32>) -> tensor<4xf32>
  %4 = call @twice(%2) : (tensor<4xf32>) -> tensor<4xf32>
  return %3, %4 : tensor<4xf32>, tensor<4xf32>
}
