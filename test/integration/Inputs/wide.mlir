func.func @f(%x: tensor<4xf64> {graph.name = "x"}) -> (tensor<4xf64> {graph.name = "y"}) attributes {graph.entry} {
  %0 = graph.exponential %x : tensor<4xf64> loc("user/model.cpp":7:3)
  return %0 : tensor<4xf64>
}
