// RUN: minigptc-opt %s --split-input-file --verify-diagnostics=only-expected

exec.block @missing(%a: memref<4xf32>) inputs 0 frame 0 {
  // expected-error@+1 {{'exec.launch' op names @k, but there is no such function}}
  exec.launch @k ins() outs(%a : memref<4xf32>)
  exec.return
}

// -----

// expected-note@+1 {{@f is defined here}}
func.func private @f() -> tensor<4xf32>
exec.block @unmarked(%a: memref<4xf32>) inputs 0 frame 0 {
  // expected-error@+1 {{names @f, which is not marked exec.kernel}}
  exec.launch @f ins() outs(%a : memref<4xf32>)
  exec.return
}

// -----

func.func private @f(tensor<4xf32>) -> tensor<4xf32> attributes {exec.kernel}
exec.block @inputs(%a: memref<4xf32>) inputs 0 frame 0 {
  // expected-error@+1 {{has 0 inputs, but @f has 1}}
  exec.launch @f ins() outs(%a : memref<4xf32>)
  exec.return
}

// -----

// expected-note@+1 {{@f is defined here}}
func.func private @f(tensor<4xf32>) -> tensor<4xf32> attributes {exec.kernel}
exec.block @groups(%a: memref<4xf32>, %b: memref<4xf32>, %c: memref<4xf32>) inputs 1 frame 0 {
  // expected-error@+1 {{has 1 inputs, but @f has 1 and is run 2 times}}
  exec.launch @f groups = 2 ins(%a : memref<4xf32>) outs(%b, %c : memref<4xf32>, memref<4xf32>)
  exec.return
}

// -----

func.func private @f(tensor<4xf32>) -> tensor<4xf32> attributes {exec.kernel}
exec.block @no_groups(%a: memref<4xf32>, %b: memref<4xf32>) inputs 1 frame 0 {
  // expected-error@+1 {{has 0 groups; there must be at least one}}
  exec.launch @f groups = 0 ins(%a : memref<4xf32>) outs(%b : memref<4xf32>)
  exec.return
}

// -----

func.func private @f() -> tensor<5xf32> attributes {exec.kernel}
exec.block @output(%a: memref<4xf32>) inputs 0 frame 0 {
  // expected-error@+1 {{output 0 is 'memref<4xf32>', but @f has 'tensor<5xf32>'}}
  exec.launch @f ins() outs(%a : memref<4xf32>)
  exec.return
}

// -----

func.func private @f(tensor<f64>) -> tensor<f64> attributes {graph.host}
exec.block @scalars(%n: memref<4xf32>, %a: memref<f32>) inputs 1 frame 0 {
  // expected-error@+1 {{'exec.scalars' op has a buffer of type 'memref<4xf32>'; all must be scalars}}
  exec.scalars @f ins(%n : memref<4xf32>) outs(%a : memref<f32>)
  exec.return
}

// -----

exec.block @a(%a: memref<4xf32>) inputs 0 frame 0 {
  // expected-error@+1 {{'exec.call' op names @b, but there is no such block}}
  exec.call @b ins() outs(%a : memref<4xf32>) frame 0
  exec.return
}

// -----

exec.block @b(%x: memref<4xf32>) inputs 0 frame 0 { exec.return }
exec.block @call_inputs(%a: memref<4xf32>) inputs 1 frame 0 {
  // expected-error@+1 {{has 1 inputs, but @b has 0}}
  exec.call @b ins(%a : memref<4xf32>) outs() frame 0
  exec.return
}

// -----

exec.block @b(%x: memref<4xf32>) inputs 0 frame 0 { exec.return }
exec.block @call_type(%a: memref<5xf32>) inputs 0 frame 0 {
  // expected-error@+1 {{argument 0 is 'memref<5xf32>', but @b has 'memref<4xf32>'}}
  exec.call @b ins() outs(%a : memref<5xf32>) frame 0
  exec.return
}

// -----

exec.block @b(%x: memref<4xf32>) inputs 0 frame 128 { exec.return }
exec.block @call_frame(%a: memref<4xf32>) inputs 0 frame 128 {
  // expected-error@+1 {{gives a frame that ends at byte 192, outside the block's frame of 128 bytes}}
  exec.call @b ins() outs(%a : memref<4xf32>) frame 64
  exec.return
}

// -----

exec.block @b(%x: memref<16xf32>, %y: memref<16xf32>) inputs 1 frame 0 { exec.return }
exec.block @repeated(%x: memref<64xf32>, %y: memref<64xf32>) inputs 1 frame 0 {
  exec.call @b ins(%x : memref<64xf32>) outs(%y : memref<64xf32>) frame 0 count = 4 strides = [64, 64]
  exec.return
}

// -----

exec.block @b(%x: memref<16xf32>) inputs 0 frame 0 { exec.return }
exec.block @count(%x: memref<16xf32>) inputs 0 frame 0 {
  // expected-error@+1 {{has the count 0; it must be at least 1}}
  exec.call @b ins() outs(%x : memref<16xf32>) frame 0 count = 0 strides = [0]
  exec.return
}

// -----

exec.block @b(%x: memref<16xf32>) inputs 0 frame 0 { exec.return }
exec.block @strides(%x: memref<64xf32>) inputs 0 frame 0 {
  // expected-error@+1 {{has 2 strides for 1 operands}}
  exec.call @b ins() outs(%x : memref<64xf32>) frame 0 count = 4 strides = [64, 64]
  exec.return
}

// -----

exec.block @b(%x: memref<16xf32>) inputs 0 frame 0 { exec.return }
exec.block @alignment(%x: memref<64xf32>) inputs 0 frame 0 {
  // expected-error@+1 {{has the stride 32, which is not a multiple of 64}}
  exec.call @b ins() outs(%x : memref<64xf32>) frame 0 count = 4 strides = [32]
  exec.return
}

// -----

// expected-note@+1 {{@b is defined here}}
exec.block @b(%x: memref<16xf32>) inputs 0 frame 0 { exec.return }
exec.block @too_far(%x: memref<64xf32>) inputs 0 frame 0 {
  // expected-error@+1 {{argument 0 is 'memref<64xf32>', but @b has 'memref<16xf32>', 5 times at a stride of 64 bytes}}
  exec.call @b ins() outs(%x : memref<64xf32>) frame 0 count = 5 strides = [64]
  exec.return
}

// -----

exec.block @f(%a: memref<4xf32>, %b: memref<4xf32>) inputs 1 frame 64 {
  exec.return
}
exec.block @branch_frame(%p: memref<i1>, %a: memref<4xf32>, %b: memref<4xf32>) inputs 2 frame 64 {
  exec.branch %p then @f else @f ins(%a : memref<4xf32>) outs(%b : memref<4xf32>) frame 0 : memref<i1>
  // expected-error@+1 {{gives a frame that ends at byte 128, outside the block's frame of 64 bytes}}
  exec.branch %p then @f else @f ins(%a : memref<4xf32>) outs(%b : memref<4xf32>) frame 64 : memref<i1>
  exec.return
}

// -----

exec.block @f(%a: memref<4xf32>, %b: memref<4xf32>) inputs 1 frame 0 {
  exec.return
}
exec.block @g(%a: memref<5xf32>, %b: memref<4xf32>) inputs 1 frame 0 {
  exec.return
}
exec.block @branch_types(%p: memref<i1>, %a: memref<4xf32>, %b: memref<4xf32>) inputs 2 frame 0 {
  // expected-error@+1 {{has other buffers than @g}}
  exec.branch %p then @f else @g ins(%a : memref<4xf32>) outs(%b : memref<4xf32>) frame 0 : memref<i1>
  exec.return
}

// -----

exec.block @f(%a: memref<4xf32>, %b: memref<4xf32>) inputs 1 frame 0 {
  exec.return
}
exec.block @predicate(%p: memref<4xf32>, %a: memref<4xf32>, %b: memref<4xf32>) inputs 2 frame 0 {
  // expected-error@+1 {{has the predicate 'memref<4xf32>'; it must be an i1 scalar}}
  exec.branch %p then @f else @f ins(%a : memref<4xf32>) outs(%b : memref<4xf32>) frame 0 : memref<4xf32>
  exec.return
}

// -----

exec.block @condition(%a: memref<4xf32>, %p: memref<i1>) inputs 1 frame 0 {
  exec.return
}
exec.block @body(%a: memref<4xf32>, %b: memref<4xf32>) inputs 1 frame 0 {
  exec.return
}
exec.block @while(%a: memref<4xf32>, %b: memref<4xf32>) inputs 1 frame 64 {
  %p = exec.frame 0 : memref<i1>
  exec.while @condition @body ins(%b : memref<4xf32>) outs(%b : memref<4xf32>) predicate %p frame 0 : memref<i1>
  // expected-error@+1 {{has outputs that are not the last of its inputs}}
  exec.while @condition @body ins(%a : memref<4xf32>) outs(%b : memref<4xf32>) predicate %p frame 0 : memref<i1>
  exec.return
}
