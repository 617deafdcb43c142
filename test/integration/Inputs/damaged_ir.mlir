//--- circle.mlir
module attributes {minigptc.stage = "exec", minigptc.metadata = "{}"} {
exec.block @a(%x: memref<4xf32> {graph.name = "x"}, %y: memref<4xf32> {graph.name = "y"}) inputs 1 frame 0 attributes {graph.entry} {
  exec.call @a ins(%x : memref<4xf32>) outs(%y : memref<4xf32>) frame 0
  exec.return
}
}
//--- host.mlir
module attributes {minigptc.stage = "exec", minigptc.metadata = "{}"} {
func.func private @k(tensor<f64>) -> tensor<f64> attributes {graph.host}
exec.block @a(%x: memref<f64> {graph.name = "x"}, %y: memref<f64> {graph.name = "y"}) inputs 1 frame 0 attributes {graph.entry} {
  exec.scalars @k ins(%x : memref<f64>) outs(%y : memref<f64>)
  exec.return
}
}
//--- huge_kernel.mlir
module attributes {minigptc.stage = "exec", minigptc.metadata = "{}"} {
func.func private @k(%x: tensor<f32>) -> tensor<3000000000x3000000000xf32> attributes {exec.kernel} {
  %0 = graph.broadcast_in_dim %x, dims = [] : (tensor<f32>) -> tensor<3000000000x3000000000xf32>
  return %0 : tensor<3000000000x3000000000xf32>
}
exec.block @a(%x: memref<f32> {graph.name = "x"}, %y: memref<3000000000x3000000000xf32> {graph.name = "y"}) inputs 1 frame 0 attributes {graph.entry} {
  exec.launch @k ins(%x : memref<f32>) outs(%y : memref<3000000000x3000000000xf32>)
  exec.return
}
}
//--- huge_gemm.mlir
module attributes {minigptc.stage = "exec", minigptc.metadata = "{}"} {
exec.block @a(%x: memref<4xf32> {graph.name = "x"}, %y: memref<4xf32> {graph.name = "y"}) inputs 1 frame 0 attributes {graph.entry} {
  exec.gemm %x [0, 0] [] x %x [0, 0] [] into %y [0, 0] [] m = 9223372036854775807 n = 9223372036854775807 k = 9223372036854775807 batch = []
      : memref<4xf32>, memref<4xf32>, memref<4xf32>
  exec.return
}
}
//--- bound.mlir
module attributes {minigptc.stage = "exec", minigptc.metadata = "{}"} {
exec.block @a(%x: memref<4xi32> {graph.name = "x", graph.index_bound = -5 : i64}, %y: memref<4xi32> {graph.name = "y"}) inputs 1 frame 0 attributes {graph.entry} {
  exec.copy %x to %y : memref<4xi32>, memref<4xi32>
  exec.return
}
}
//--- bound_kind.mlir
module attributes {minigptc.stage = "exec", minigptc.metadata = "{}"} {
exec.block @a(%x: memref<4xi32> {graph.name = "x", graph.index_bound = 5.0 : f32}, %y: memref<4xi32> {graph.name = "y"}) inputs 1 frame 0 attributes {graph.entry} {
  exec.copy %x to %y : memref<4xi32>, memref<4xi32>
  exec.return
}
}
//--- check.mlir
module attributes {minigptc.stage = "exec", minigptc.metadata = "{}"} {
exec.block @a(%x: memref<4xi32> {graph.name = "x", graph.index_checks = [#graph.index_check<5 in [0] : [5] : [1]>]}, %y: memref<4xi32> {graph.name = "y"}) inputs 1 frame 0 attributes {graph.entry} {
  exec.copy %x to %y : memref<4xi32>, memref<4xi32>
  exec.return
}
}
//--- check_kind.mlir
module attributes {minigptc.stage = "exec", minigptc.metadata = "{}"} {
exec.block @a(%x: memref<4xi32> {graph.name = "x", graph.index_checks = [5 : i64]}, %y: memref<4xi32> {graph.name = "y"}) inputs 1 frame 0 attributes {graph.entry} {
  exec.copy %x to %y : memref<4xi32>, memref<4xi32>
  exec.return
}
}
//--- check_bound.mlir
func.func @f(%x: tensor<4xi32> {graph.index_checks = [#graph.index_check<0>]})
//--- check_part.mlir
func.func @f(%x: tensor<4xi32> {graph.index_checks = [#graph.index_check<4 in [2] : [2] : [1]>]})
//--- names.mlir
module attributes {minigptc.stage = "exec", minigptc.metadata = "{}"} {
exec.block @a(%x: memref<4xi32> {graph.name = "x"}, %z: memref<4xi32> {graph.name = "x"}, %y: memref<4xi32> {graph.name = "y"}) inputs 2 frame 0 attributes {graph.entry} {
  exec.copy %x to %y : memref<4xi32>, memref<4xi32>
  exec.return
}
}
