// RUN: minigptc-opt %s --dist-propagate=explain=true -split-input-file -verify-diagnostics

// Every op says what it gives and why.
dist.mesh @mesh = <["data"=2, "tensor"=2]>
func.func @f(%x: tensor<8x400xf32> {dist.sharding = #dist.sharding<@mesh, [{"data"}, {} ]>, graph.name = "x"},
             %w: tensor<400x6xf32> {dist.sharding = #dist.sharding<@mesh, [{"tensor"}, {} ]>, dist.stored = "params.w"}) -> tensor<8x6xf32> {
  // expected-remark @below {{[{'data'}, {}] partial sum over 'tensor'; 'data': an input is cut, 'x' P('data', None); 'tensor': a parameter is stored so, and this moves least, 'w' P('tensor', None)}}
  %0 = graph.dot_general %x, %w, batching_dims = [] x [], contracting_dims = [1] x [0] : (tensor<8x400xf32>, tensor<400x6xf32>) -> tensor<8x6xf32>
  // expected-remark @below {{[{'data'}, {}] partial sum over 'tensor'; 'data': an input is cut, 'x' P('data', None); the sum over 'tensor' is made later}}
  %1 = graph.negate %0 : tensor<8x6xf32>
  return %1 : tensor<8x6xf32>
}

// -----

// What only spreads is never cut unevenly: 16 columns into 4, but not 2 heads.
dist.mesh @mesh = <["tensor"=4]>
func.func @uneven(%x: tensor<8x16xf32> {dist.sharding = #dist.sharding<@mesh, [{}, {"tensor"} ]>, graph.name = "x"}) -> tensor<8x2x8xf32> {
  // expected-remark @below {{[{}, {'tensor'}]; 'tensor': an input is cut}}
  %0 = graph.negate %x : tensor<8x16xf32>
  // expected-remark @below {{'tensor' would cut 2 elements into 4 parts, which is uneven: every device has all of them; 'x' P(None, 'tensor') led here}}
  // expected-remark @below {{[{}, {}, {}]}}
  %1 = graph.reshape %0 : (tensor<8x16xf32>) -> tensor<8x2x8xf32>
  return %1 : tensor<8x2x8xf32>
}

// -----

// So does what is added to an argument, a result or a pinned value.
dist.mesh @mesh = <["data"=2]>
// expected-remark @below {{argument 0 of 'g': [{'data'}, {}]; 'data': an input is cut, 'x' P('data', None)}}
func.func private @g(%x: tensor<8x4xf32>) -> tensor<4xf32> {
  // expected-remark @below {{[{}] partial sum over 'data'; 'data': an input is cut, 'x' P('data', None)}}
  %0 = graph.reduce sum, %x, dims = [0] : (tensor<8x4xf32>) -> tensor<4xf32>
  return %0 : tensor<4xf32>
}
func.func @open(%x: tensor<8x4xf32> {dist.sharding = #dist.sharding<@mesh, [{"data"}, {} ]>, graph.name = "x"},
                // expected-remark @below {{'y': [{'data'}, {}]; 'data': an input is cut, 'x' P('data', None)}}
                %y: tensor<8x4xf32> {dist.sharding = #dist.sharding<@mesh, [{?}, {} ]>, graph.name = "y"}) -> tensor<4xf32> {
  // expected-remark @below {{[{'data'}, {}]; 'data': an input is cut, 'x' P('data', None)}}
  %0 = graph.multiply %x, %y : tensor<8x4xf32>
  // expected-remark @below {{the constraint: [{'data'}, {}]; 'data': an input is cut, 'x' P('data', None)}}
  %1 = dist.constraint %0 <@mesh, [{?}, {} ]> : tensor<8x4xf32>
  // expected-remark @below {{result 0 of 'g': [{}] partial sum over 'data'; the sum over 'data' is made later}}
  %2 = call @g(%1) : (tensor<8x4xf32>) -> tensor<4xf32>
  return %2 : tensor<4xf32>
}
