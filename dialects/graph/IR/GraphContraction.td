//===- GraphContraction.td - reductions, products, gather and scatter -----===//
#ifndef MINIGPTC_GRAPH_CONTRACTION_TD
#define MINIGPTC_GRAPH_CONTRACTION_TD

include "dialects/graph/IR/GraphBase.td"

def Graph_ReduceOp : Graph_PureOp<"reduce", [Graph_Sharded, Graph_Differentiable, Graph_Infer]> {
  let summary = "combines the elements along dimensions, which disappear";
  let description = [{
    StableHLO's `reduce` with the combiner as a word instead of a region: that is
    all the two models need, and a word has a derivative and a sharding rule.
    An empty reduction gives the neutral element. bf16 and f16 sums accumulate
    in f32. `any` and `all` are for i1.

    ```mlir
    %y = graph.reduce sum, %x, dims = [0] : (tensor<2x3xf32>) -> tensor<3xf32>
    ```
  }];
  let arguments = (ins Graph_ReduceKindAttr:$kind, Graph_Tensor:$operand, DenseI64ArrayAttr:$dims);
  let results = (outs Graph_Tensor:$result);
  let assemblyFormat = "custom<Keyword>($kind) `,` $operand `,` `dims` `=` $dims attr-dict `:` functional-type(operands, results)";
  let fusionKind = "reduction";
  let hasFolder = 1;
}

def Graph_DotGeneralOp : Graph_PureOp<"dot_general", [Graph_Sharded, Graph_Differentiable, Graph_InferWidening],
    DeclareOpInterfaceMethods<CostOp, ["getMatmulFlops"]>> {
  let summary = "batched contraction of two tensors";
  let description = [{
    Result dimensions: batching dims in their order, then the other dims of lhs,
    then the other dims of rhs. bf16 and f16 accumulate in f32; the result may be f32, too,
    which is the sum before it is rounded (`--dist-widen-sums`).

    ```mlir
    %z = graph.dot_general %x, %y, batching_dims = [0] x [0], contracting_dims = [2] x [1]
        : (tensor<8x2x3xf32>, tensor<8x3x5xf32>) -> tensor<8x2x5xf32>
    ```
  }];
  let arguments = (ins Graph_NumTensor:$lhs, Graph_NumTensor:$rhs,
      DenseI64ArrayAttr:$lhsBatch, DenseI64ArrayAttr:$rhsBatch,
      DenseI64ArrayAttr:$lhsContract, DenseI64ArrayAttr:$rhsContract);
  let results = (outs Graph_NumTensor:$result);
  let assemblyFormat = [{
    $lhs `,` $rhs `,` `batching_dims` `=` $lhsBatch `x` $rhsBatch `,`
    `contracting_dims` `=` $lhsContract `x` $rhsContract attr-dict
    `:` functional-type(operands, results)
  }];
  let fusionKind = "opaque";
}

def Graph_DotAccumulateOp : Graph_Op<"dot_accumulate", [Pure, Graph_Sharded, Graph_Infer,
    DeclareOpInterfaceMethods<CostOp, ["getMatmulFlops"]>]> {
  let summary = "a matrix product added to what is there";
  let description = [{
    accumulator + dot_general(lhs, rhs), as one GEMM with beta = 1; the accumulator and the
    sum are f32 or f64, also where lhs and rhs are bf16. The op of the stage `fuse`, made by
    `--graph-accumulate-dots`. Where the accumulator dies
    here, the result takes over its memory; else it is copied first.

    The sum is rounded as a GEMM rounds: the accumulator comes first, then the terms
    over K, in parts whose size is the library's; never in an order that depends on
    the number of threads. The interpreter adds the product, unrounded, and rounds once.

    ```mlir
    %z = graph.dot_accumulate %acc, %x, %y, batching_dims = [] x [], contracting_dims = [1] x [0]
        : (tensor<2x5xf32>, tensor<2x3xf32>, tensor<3x5xf32>) -> tensor<2x5xf32>
    ```
  }];
  let arguments = (ins Graph_FloatTensor:$accumulator, Graph_FloatTensor:$lhs, Graph_FloatTensor:$rhs,
      DenseI64ArrayAttr:$lhsBatch, DenseI64ArrayAttr:$rhsBatch,
      DenseI64ArrayAttr:$lhsContract, DenseI64ArrayAttr:$rhsContract);
  let results = (outs Graph_FloatTensor:$result);
  let assemblyFormat = [{
    $accumulator `,` $lhs `,` $rhs `,` `batching_dims` `=` $lhsBatch `x` $rhsBatch `,`
    `contracting_dims` `=` $lhsContract `x` $rhsContract attr-dict
    `:` functional-type(operands, results)
  }];
}

/// A product of the stage `schedule` with an epilogue, for targets whose products have it; made by
/// `--graph-fuse-epilogues`.
class Graph_EpilogueOp<string mnemonic, dag extra, dag made> : Graph_Op<mnemonic, [Pure, Graph_InferWidening,
    DeclareOpInterfaceMethods<CostOp, ["getMatmulFlops"]>]> {
  let arguments = !con((ins Graph_FloatTensor:$lhs, Graph_FloatTensor:$rhs), extra,
      (ins DenseI64ArrayAttr:$lhsBatch, DenseI64ArrayAttr:$rhsBatch,
           DenseI64ArrayAttr:$lhsContract, DenseI64ArrayAttr:$rhsContract));
  let results = !con((outs Graph_FloatTensor:$result), made);
  let assemblyFormat = [{
    operands `,` `batching_dims` `=` $lhsBatch `x` $rhsBatch `,`
    `contracting_dims` `=` $lhsContract `x` $rhsContract attr-dict
    `:` functional-type(operands, results)
  }];
  let hasVerifier = 1;
}

def Graph_DotBiasOp : Graph_EpilogueOp<"dot_bias", (ins Graph_FloatTensor:$bias), (outs)> {
  let summary = "a matrix product with a bias for each column";
  let description = [{
    dot_general(lhs, rhs) + bias, whose shape is that of the result's last dimensions; rounded
    once, after the sum. The op of the stage `schedule`, for targets whose products
    have epilogues; made by `--graph-fuse-epilogues`.

    ```mlir
    %z = graph.dot_bias %x, %y, %b, batching_dims = [] x [], contracting_dims = [1] x [0]
        : (tensor<2x3xf32>, tensor<3x5xf32>, tensor<5xf32>) -> tensor<2x5xf32>
    ```
  }];
}

def Graph_DotSumsOp : Graph_EpilogueOp<"dot_sums", (ins), (outs Graph_FloatTensor:$sums)> {
  let summary = "a matrix product, and the sums of its right operand";
  let description = [{
    dot_general(lhs, rhs), and the sums of rhs over the contracted dimensions, rounded to the
    result's element type: the gradients of a weight and of the bias beside it. Made by
    `--graph-fuse-epilogues`.

    ```mlir
    %dw, %db = graph.dot_sums %x, %dy, batching_dims = [] x [], contracting_dims = [0] x [0]
        : (tensor<64x3xf32>, tensor<64x5xf32>) -> (tensor<3x5xf32>, tensor<5xf32>)
    ```
  }];
}

def Graph_GatherOp : Graph_PureOp<"gather", [Graph_Sharded, Graph_Differentiable, Graph_Infer]> {
  let summary = "picks whole slices by index";
  let description = [{
    StableHLO's `gather` where `index_vector_dim` is the last dimension of
    `indices`, `start_index_map` and `collapsed_slice_dims` are `dims`, and the
    slices are whole. The last dimension of `indices` has size `dims.size()`;
    result dimensions: the others of `indices`, then those of the operand that
    are not in `dims`. Indices are clamped into range.

    ```mlir
    %rows = graph.gather %table[%ids] dims = [0] : (tensor<10x4xf32>, tensor<7x1xi32>) -> tensor<7x4xf32>
    ```
  }];
  let arguments = (ins Graph_Tensor:$operand, Graph_IndexTensor:$indices, DenseI64ArrayAttr:$dims);
  let results = (outs Graph_Tensor:$result);
  let assemblyFormat = "$operand `[` $indices `]` `dims` `=` $dims attr-dict `:` functional-type(operands, results)";
  let fusionKind = "data_movement";
}

def Graph_ScatterOp : Graph_PureOp<"scatter", [Graph_Sharded, Graph_Differentiable, Graph_Infer]> {
  let summary = "the operand with slices added or replaced by index";
  let description = [{
    The counterpart of `gather`, with its `dims`: slices of `updates` are combined
    into the operand in row-major order of `indices`. An index out of range drops
    its slice. `update` with a repeated index keeps the last slice.

    ```mlir
    %sum = graph.scatter add, %table[%ids], %rows dims = [0]
        : (tensor<10x4xf32>, tensor<7x1xi32>, tensor<7x4xf32>) -> tensor<10x4xf32>
    ```
  }];
  let arguments = (ins Graph_ScatterKindAttr:$kind, Graph_Tensor:$operand, Graph_IndexTensor:$indices,
                       Graph_Tensor:$updates, DenseI64ArrayAttr:$dims);
  let results = (outs Graph_Tensor:$result);
  let assemblyFormat = "custom<Keyword>($kind) `,` $operand `[` $indices `]` `,` $updates `dims` `=` $dims attr-dict `:` functional-type(operands, results)";
  let fusionKind = "opaque";
}

#endif // MINIGPTC_GRAPH_CONTRACTION_TD
