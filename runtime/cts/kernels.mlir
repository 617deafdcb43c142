module attributes {minigptc.stage = "exec"} {
  func.func private @scale(%a: tensor<10007xf32>, %f: tensor<f32>) -> tensor<10007xf32> attributes {exec.kernel} {
    %0 = graph.broadcast_in_dim %f, dims = [] : (tensor<f32>) -> tensor<10007xf32>
    %1 = graph.multiply %a, %0 : tensor<10007xf32>
    return %1 : tensor<10007xf32>
  }
  func.func private @scale_each(%a: tensor<1003xf32>, %f: tensor<f32>) -> tensor<1003xf32> attributes {exec.kernel} {
    %0 = graph.broadcast_in_dim %f, dims = [] : (tensor<f32>) -> tensor<1003xf32>
    %1 = graph.multiply %a, %0 : tensor<1003xf32>
    return %1 : tensor<1003xf32>
  }
  func.func private @add(%a: tensor<10007xf32>, %b: tensor<10007xf32>) -> tensor<10007xf32> attributes {exec.kernel} {
    %1 = graph.add %a, %b : tensor<10007xf32>
    return %1 : tensor<10007xf32>
  }
  exec.block @main(%a: memref<10007xf32>, %f: memref<f32>, %o: memref<10007xf32>, %p: memref<10007xf32>) inputs 2 frame 0 {
    exec.launch @scale ins(%a, %f : memref<10007xf32>, memref<f32>) outs(%o : memref<10007xf32>)
    exec.launch @add ins(%o, %a : memref<10007xf32>, memref<10007xf32>) outs(%p : memref<10007xf32>)
    exec.return
  }
  exec.block @grouped(%a: memref<1003xf32>, %f: memref<f32>, %g: memref<f32>, %o: memref<1003xf32>, %p: memref<1003xf32>) inputs 3 frame 0 {
    exec.launch @scale_each groups = 2 ins(%a, %f, %a, %g : memref<1003xf32>, memref<f32>, memref<1003xf32>, memref<f32>) outs(%o, %p : memref<1003xf32>, memref<1003xf32>)
    exec.return
  }
}
