//===- GraphRandom.td - counter-based random numbers ----------------------===//
//
// Philox-4x32-10 (Salmon et al., "Parallel random numbers: as easy as 1, 2, 3",
// 2011). A number depends on the key and on the element's index in the global
// tensor, never on how the tensor is cut.
//
// A draw may be one of several parts of a larger one along dimension 0: `part %k of 4` of [2, 3]
// is the rows from 2k on of a draw of [8, 3]. So micro-batches draw what their batch would.
//
//===----------------------------------------------------------------------===//
#ifndef MINIGPTC_GRAPH_RANDOM_TD
#define MINIGPTC_GRAPH_RANDOM_TD

include "dialects/graph/IR/GraphBase.td"

def Graph_FoldInOp : Graph_PureOp<"fold_in"> {
  let summary = "a key for one of many uses of a key";
  let description = [{
    The first two words of philox(key, counter = (low(data), high(data), 0,
    0x464f4c44)), the last word ("FOLD") keeping these draws apart from those of
    `random_bits`. `data` is a scalar, zero-extended to 64 bits.

    ```mlir
    %layer_key = graph.fold_in %key, %layer : tensor<i32>
    ```
  }];
  let arguments = (ins Graph_Key:$key, Graph_IntTensor:$data);
  let results = (outs Graph_Key:$result);
  let assemblyFormat = "$key `,` $data attr-dict `:` type($data)";
  let fusionKind = "opaque";
  let hasVerifier = 1;
}

def Graph_RandomBitsOp : Graph_PureOp<"random_bits", [Graph_Sharded]> {
  let summary = "32 random bits per element";
  let description = [{
    The tensor is the block at `offsets` (i64, one per dimension) of a global
    tensor of `globalShape`. With L the row-major 64-bit index of an element in
    the global tensor: word L mod 4 of philox(key, counter = (low(L/4),
    high(L/4), 0, 0)).

    ```mlir
    %bits = graph.random_bits %key at %offsets of [8, 6] : tensor<2xi64> -> tensor<4x6xui32>
    ```
  }];
  let arguments = (ins Graph_Key:$key, StaticShapeTensorOf<[I64]>:$offsets, DenseI64ArrayAttr:$globalShape);
  let results = (outs StaticShapeTensorOf<[UI32]>:$result);
  let assemblyFormat = "$key `at` $offsets `of` $globalShape attr-dict `:` type($offsets) `->` type($result)";
  let fusionKind = "broadcast";
  let hasVerifier = 1;
}

class Graph_RandomOp<string mnemonic, string what> : Graph_PureOp<mnemonic, [Graph_Decomposable]> {
  let summary = what;
  let arguments = (ins Graph_Key:$key, Optional<Graph_Part>:$part, OptionalAttr<I64Attr>:$parts);
  let results = (outs Graph_FloatTensor:$result);
  let assemblyFormat = "$key (`part` $part^ `of` $parts)? attr-dict `:` type($result)";
  let fusionKind = "broadcast";
  let hasVerifier = 1;
}

def Graph_RandomUniformOp : Graph_RandomOp<"random_uniform", "uniform in [0, 1)"> {
  let description = [{
    (bits >> 8) · 2^-24 in f32, then converted to the result's type (where the
    largest may round up to 1 in bf16 and f16).

    ```mlir
    %x = graph.random_uniform %key : tensor<4xf32>
    ```
  }];
}
def Graph_RandomNormalOp : Graph_RandomOp<"random_normal", "standard normal"> {
  let description = [{
    √2 · erfinv(2u - 1) with u = ((bits >> 9) + 0.5) · 2^-23, in f32; erfinv by
    Giles' polynomials ("Approximating the erfinv function", 2010).

    ```mlir
    %x = graph.random_normal %key : tensor<4xf32>
    ```
  }];
}
def Graph_RandomTruncatedNormalOp : Graph_RandomOp<"random_truncated_normal", "standard normal, truncated to [low, high]"> {
  let description = [{
    The inverse of the truncated distribution: √2 · erfinv(a + u · (b - a)) with
    a = erf(low/√2), b = erf(high/√2), clamped to [low, high]; u as in
    `random_normal`. erfinv's argument is kept within ±(1 - 2^-24).

    ```mlir
    %x = graph.random_truncated_normal %key {low = -3.0, high = 3.0} : tensor<4xf32>
    ```
  }];
  let arguments = (ins Graph_Key:$key, Optional<Graph_Part>:$part, OptionalAttr<I64Attr>:$parts,
      F64Attr:$low, F64Attr:$high);
}

#endif // MINIGPTC_GRAPH_RANDOM_TD
