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
  // For tensors of more than 2^28, nearly 2^30 and more than 2^31 elements.
  func.func private @far_rows(%a: tensor<5000x65536xbf16>) -> tensor<64x65536xbf16> attributes {exec.kernel} {
    %0 = graph.slice %a [4900, 0] : [4964, 65536] : [1, 1] : (tensor<5000x65536xbf16>) -> tensor<64x65536xbf16>
    return %0 : tensor<64x65536xbf16>
  }
  func.func private @far_twice(%a: tensor<5000x65536xbf16>) -> tensor<5000x65536xbf16> attributes {exec.kernel} {
    %0 = graph.add %a, %a : tensor<5000x65536xbf16>
    return %0 : tensor<5000x65536xbf16>
  }
  func.func private @large_rows(%a: tensor<16000x65536xbf16>) -> tensor<64x65536xbf16> attributes {exec.kernel} {
    %0 = graph.slice %a [15900, 0] : [15964, 65536] : [1, 1] : (tensor<16000x65536xbf16>) -> tensor<64x65536xbf16>
    return %0 : tensor<64x65536xbf16>
  }
  func.func private @large_twice(%a: tensor<16000x65536xbf16>) -> tensor<16000x65536xbf16> attributes {exec.kernel} {
    %0 = graph.add %a, %a : tensor<16000x65536xbf16>
    return %0 : tensor<16000x65536xbf16>
  }
  func.func private @wide_rows(%a: tensor<33000x65536xbf16>) -> tensor<64x65536xbf16> attributes {exec.kernel} {
    %0 = graph.slice %a [32900, 0] : [32964, 65536] : [1, 1] : (tensor<33000x65536xbf16>) -> tensor<64x65536xbf16>
    return %0 : tensor<64x65536xbf16>
  }
  func.func private @wide_twice(%a: tensor<33000x65536xbf16>) -> tensor<33000x65536xbf16> attributes {exec.kernel} {
    %0 = graph.add %a, %a : tensor<33000x65536xbf16>
    return %0 : tensor<33000x65536xbf16>
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
  exec.block @sizes(%far: memref<5000x65536xbf16>, %large: memref<16000x65536xbf16>, %wide: memref<33000x65536xbf16>, %far_o: memref<64x65536xbf16>, %far_p: memref<5000x65536xbf16>, %large_o: memref<64x65536xbf16>, %large_p: memref<16000x65536xbf16>, %wide_o: memref<64x65536xbf16>, %wide_p: memref<33000x65536xbf16>) inputs 3 frame 0 {
    exec.launch @far_rows ins(%far : memref<5000x65536xbf16>) outs(%far_o : memref<64x65536xbf16>)
    exec.launch @far_twice ins(%far : memref<5000x65536xbf16>) outs(%far_p : memref<5000x65536xbf16>)
    exec.launch @large_rows ins(%large : memref<16000x65536xbf16>) outs(%large_o : memref<64x65536xbf16>)
    exec.launch @large_twice ins(%large : memref<16000x65536xbf16>) outs(%large_p : memref<16000x65536xbf16>)
    exec.launch @wide_rows ins(%wide : memref<33000x65536xbf16>) outs(%wide_o : memref<64x65536xbf16>)
    exec.launch @wide_twice ins(%wide : memref<33000x65536xbf16>) outs(%wide_p : memref<33000x65536xbf16>)
    exec.return
  }
}
