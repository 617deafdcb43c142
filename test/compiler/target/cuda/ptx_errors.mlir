// RUN: minigptc-opt %s --emit-ptx --split-input-file --verify-diagnostics

// expected-error @+1 {{no CUDA code for exp in 'f64': compute it in f32}}
func.func private @wide(%x: tensor<4xf64>) -> tensor<4xf64> attributes {exec.kernel} {
  %0 = graph.exponential %x : tensor<4xf64>
  return %0 : tensor<4xf64>
}

// -----

// expected-error @+1 {{no CUDA code for 'tensor<4xf16>': f16 does not compile for target 'cuda'; use bf16 or f32}}
func.func private @half(%x: tensor<4xf16>) -> tensor<4xf16> attributes {exec.kernel} {
  return %x : tensor<4xf16>
}

// -----

func.func private @attention(%q: tensor<1x4x1x512xf32>) -> (tensor<1x4x1x512xf32>, tensor<1x1x4xf32>) attributes {exec.kernel} {
  // expected-error @+1 {{no CUDA code for attention of heads as wide as 512 and 512: a block would need 139536 bytes of shared memory, and has 101376; more heads are narrower ones, and target 'cpu' takes any}}
  %0, %1 = graph.attention %q, %q, %q scale = 1.0 kind = causal : tensor<1x4x1x512xf32>, tensor<1x4x1x512xf32>, tensor<1x4x1x512xf32> -> tensor<1x4x1x512xf32>, tensor<1x1x4xf32>
  return %0, %1 : tensor<1x4x1x512xf32>, tensor<1x1x4xf32>
}
