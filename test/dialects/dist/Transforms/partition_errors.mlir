// RUN: minigptc-opt %s --dist-partition --verify-diagnostics=only-expected
// All else that may be wrong is found before (check.mlir).


dist.mesh @mesh = <["data"=4]>
func.func private @backwards(%x: tensor<8xf32>) -> tensor<8xf32> {
  // expected-error@+1 {{has no way from [{}] to [{}] partial sum over 'data': nothing makes a value partial}}
  %0 = dist.reshard %x to <@mesh, [{}], partial = sum ["data"]> : tensor<8xf32>
  return %0 : tensor<8xf32>
}
