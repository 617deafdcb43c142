//===- GraphComposite.td - ops whose fused form matters -------------------===//
//
// Each has a decomposition into primitives, which is its meaning. Statistics,
// softmax and losses are computed in f32 for bf16 and f16 operands (f64 for f64).
//
//===----------------------------------------------------------------------===//
#ifndef MINIGPTC_GRAPH_COMPOSITE_TD
#define MINIGPTC_GRAPH_COMPOSITE_TD

include "dialects/graph/IR/GraphBase.td"

class Graph_Activation<string mnemonic, string what>
    : Graph_ElementwiseOp<mnemonic, [Graph_SameTypes, Graph_Decomposable, Graph_Differentiable]> {
  let summary = what;
  let description = "\n```mlir\n%y = graph." # mnemonic # " %x : tensor<2x3xf32>\n```\n";
  let arguments = (ins Graph_FloatTensor:$operand);
  let results = (outs Graph_FloatTensor:$result);
  let assemblyFormat = "$operand attr-dict `:` type($operand)";
}

def Graph_ReluOp : Graph_Activation<"relu", "max(x, 0); the derivative at 0 is 0">;
def Graph_SiluOp : Graph_Activation<"silu", "x · sigmoid(x), stable for large |x|">;
def Graph_GeluOp : Graph_Activation<"gelu", "x · Φ(x), exact (erf) or by tanh"> {
  let arguments = (ins Graph_FloatTensor:$operand, DefaultValuedAttr<BoolAttr, "false">:$approximate);
}

def Graph_SoftmaxOp : Graph_PureOp<"softmax", [Graph_Sharded, Graph_SameTypes, Graph_Decomposable, Graph_Differentiable]> {
  let summary = "e^(x - max) normalised along a dimension";
  let description = [{
    A slice that is -inf everywhere gives zeros.

    ```mlir
    %y = graph.softmax %x, dim = 1 : tensor<2x3xf32>
    ```
  }];
  let arguments = (ins Graph_FloatTensor:$operand, I64Attr:$dim);
  let results = (outs Graph_FloatTensor:$result);
  let assemblyFormat = "$operand `,` `dim` `=` $dim attr-dict `:` type($operand)";
  let fusionKind = "opaque";
  let hasVerifier = 1;
}

def Graph_LayerNormOp : Graph_PureOp<"layer_norm", [Graph_Sharded, Graph_Decomposable, Graph_Differentiable, Graph_Infer]> {
  let summary = "(x - mean) / sqrt(var + epsilon) · scale + bias over the last dimension";
  let description = [{
    The variance is two-pass: mean((x - mean)²), not E[x²] - E[x]². scale and bias
    have the operand's element type, or the one that the norm computes in: f32 for
    a bf16 or f16 operand. A row whose squares add up to more than that type holds
    gives NaN.

    ```mlir
    %y = graph.layer_norm %x, %scale, %bias epsilon = 1.0e-6 : tensor<2x3xf32>, tensor<3xf32>, tensor<3xf32>
    ```
  }];
  let arguments = (ins Graph_FloatTensor:$operand, Graph_FloatTensor:$scale, Graph_FloatTensor:$bias, F64Attr:$epsilon);
  let results = (outs Graph_FloatTensor:$result);
  let assemblyFormat = "$operand `,` $scale `,` $bias `epsilon` `=` $epsilon attr-dict `:` type($operand) `,` type($scale) `,` type($bias)";
  let fusionKind = "opaque";
}

def Graph_RmsNormOp : Graph_PureOp<"rms_norm", [Graph_Sharded, Graph_Decomposable, Graph_Differentiable, Graph_Infer]> {
  let summary = "x / sqrt(mean(x²) + epsilon) · scale over the last dimension";
  let description = [{
    scale has the operand's element type, or the one that the norm computes in: f32
    for a bf16 or f16 operand. A row whose squares add up to more than that type
    holds (f32: |x| from 1.8e19 on) gives NaN, so that training stops there, and not
    the zeros of x · 1/∞.

    ```mlir
    %y = graph.rms_norm %x, %scale epsilon = 1.0e-5 : tensor<2x3xf32>, tensor<3xf32>
    ```
  }];
  let arguments = (ins Graph_FloatTensor:$operand, Graph_FloatTensor:$scale, F64Attr:$epsilon);
  let results = (outs Graph_FloatTensor:$result);
  let assemblyFormat = "$operand `,` $scale `epsilon` `=` $epsilon attr-dict `:` type($operand) `,` type($scale)";
  let fusionKind = "opaque";
}

def Graph_RopeOp : Graph_PureOp<"rope", [Graph_Sharded, Graph_Decomposable, Graph_Differentiable, Graph_Infer]> {
  let summary = "rotary position embedding of [B, S, H, D]";
  let description = [{
    Pairs (2i, 2i+1) of the last dimension (a, b) become (a cos - b sin,
    a sin + b cos), the angle being positions[s] · theta^(-2i/D), in f32. D is
    even; positions is i32 [S]. `inverse` turns the other way: it is the
    transposed rotation, hence the vjp.

    ```mlir
    %y = graph.rope %x, %positions theta = 1.0e4 : tensor<2x3x4x6xf32>, tensor<3xi32>
    ```
  }];
  let arguments = (ins Graph_FloatTensor:$operand, StaticShapeTensorOf<[I32]>:$positions, F64Attr:$theta,
                       UnitAttr:$inverse);
  let results = (outs Graph_FloatTensor:$result);
  let assemblyFormat = "$operand `,` $positions `theta` `=` $theta (`inverse` $inverse^)? attr-dict `:` type($operand) `,` type($positions)";
  let fusionKind = "opaque";
}

/// What attention and its gradient have in common. S queries, T keys, H query
/// heads in groups over G key heads (G divides H).
class Graph_AttentionLikeOp<string mnemonic, list<Trait> traits, dag tensors, dag outputs>
    : Graph_PureOp<mnemonic, !listconcat([AttrSizedOperandSegments, Graph_Decomposable, Graph_Sharded], traits),
          DeclareOpInterfaceMethods<CostOp, ["getMatmulFlops"]>> {
  let arguments = !con(tensors, (ins
      Optional<Graph_PredTensor>:$mask,
      Optional<StaticShapeTensorOf<[I32]>>:$querySegments,
      Optional<StaticShapeTensorOf<[I32]>>:$keySegments,
      Optional<StaticShapeTensorOf<[I32]>>:$queryOffset,
      F64Attr:$scale, Graph_MaskKindAttr:$maskKind, OptionalAttr<I64Attr>:$window));
  let results = outputs;
  let fusionKind = "opaque";
}

defvar Graph_AttentionTail = [{
    oilist(`mask` `(` $mask `:` type($mask) `)`
         | `segments` `(` $querySegments `,` $keySegments `:` type($querySegments) `,` type($keySegments) `)`
         | `offset` `(` $queryOffset `:` type($queryOffset) `)`
         | `window` `=` $window)
    `scale` `=` $scale `kind` `=` custom<Keyword>($maskKind) attr-dict
}];

def Graph_AttentionOp : Graph_AttentionLikeOp<"attention", [Graph_Differentiable, Graph_Infer],
    (ins Graph_FloatTensor:$query, Graph_FloatTensor:$key, Graph_FloatTensor:$value),
    (outs Graph_FloatTensor:$result, Graph_FloatTensor:$logSumExp)> {
  let summary = "softmax(scale · q·kᵀ + mask) · v";
  let description = [{
    query [B, S, H, D], key [B, T, G, D], value [B, T, G, E], G divides H: query
    head h reads key head h / (H/G). Result [B, S, H, E]; logSumExp [B, H, S] is
    f32 (f64 for f64), -inf for a row without keys, whose result is zeros.

    A query at s stands at position s + queryOffset (scalar, default 0). `causal`
    attends to keys t ≤ position, `sliding_window` to position - window < t ≤
    position. `mask` (i1, [B or 1, H or 1, S, T], true = attend) and equal
    segment ids ([B, S], [B, T]) restrict further.

    ```mlir
    %y, %lse = graph.attention %q, %k, %v scale = 0.5 kind = causal
        : tensor<2x3x4x8xf32>, tensor<2x3x2x8xf32>, tensor<2x3x2x8xf32> -> tensor<2x3x4x8xf32>, tensor<2x4x3xf32>
    ```
  }];
  let assemblyFormat = !strconcat("$query `,` $key `,` $value ", Graph_AttentionTail,
      " `:` type($query) `,` type($key) `,` type($value) `->` type(results)");
}

def Graph_AttentionGradOp : Graph_AttentionLikeOp<"attention_grad", [AllTypesMatch<["result", "cotangent"]>, Graph_Infer],
    (ins Graph_FloatTensor:$query, Graph_FloatTensor:$key, Graph_FloatTensor:$value,
         Graph_FloatTensor:$result, Graph_FloatTensor:$logSumExp, Graph_FloatTensor:$cotangent),
    (outs Graph_FloatTensor:$queryGrad, Graph_FloatTensor:$keyGrad, Graph_FloatTensor:$valueGrad)> {
  let summary = "the vjp of `attention`";
  let description = [{
    Recomputes the probabilities from the log-sum-exp, so that no [S, T] matrix
    is saved (Dao et al., "FlashAttention", 2022, algorithm 4).

    ```mlir
    %dq, %dk, %dv = graph.attention_grad %q, %k, %v, %y, %lse, %dy scale = 0.5 kind = causal
        : tensor<2x3x4x8xf32>, tensor<2x3x2x8xf32>, tensor<2x3x2x8xf32>, tensor<2x3x4x8xf32>, tensor<2x4x3xf32>
        -> tensor<2x3x4x8xf32>, tensor<2x3x2x8xf32>, tensor<2x3x2x8xf32>
    ```
  }];
  let assemblyFormat = !strconcat("$query `,` $key `,` $value `,` $result `,` $logSumExp `,` $cotangent ", Graph_AttentionTail,
      " `:` type($query) `,` type($key) `,` type($value) `,` type($result) `,` type($logSumExp) `->` type(results)");
}

def Graph_EmbeddingOp : Graph_PureOp<"embedding", [Graph_Sharded, Graph_Decomposable, Graph_Differentiable, Graph_Infer, Graph_Indexing]> {
  let summary = "rows of a table by id";
  let description = [{
    table [V, D], ids [...] give [..., D]. An id outside [0, V) is an error: the
    interpreter reports it; of a compiled program's inputs, those that hold ids
    are checked on the host, before it runs (`--graph-infer-index-bounds`).

    ```mlir
    %rows = graph.embedding %table, %ids : (tensor<10x4xf32>, tensor<2x3xi32>) -> tensor<2x3x4xf32>
    ```
  }];
  let arguments = (ins Graph_FloatTensor:$table, Graph_IndexTensor:$ids);
  let results = (outs Graph_FloatTensor:$result);
  let assemblyFormat = "$table `,` $ids attr-dict `:` functional-type(operands, results)";
  let fusionKind = "data_movement";
}

def Graph_SoftmaxCrossEntropyOp : Graph_PureOp<"softmax_cross_entropy", [Graph_Sharded, Graph_Decomposable, Graph_Differentiable, Graph_Infer, Graph_Indexing]> {
  let summary = "logsumexp(logits) - logits[target] per position";
  let description = [{
    logits [..., V], targets [...] give f32 [...] (f64 for f64). A position whose
    target is `ignoreIndex` gives 0 and has no gradient.

    ```mlir
    %loss = graph.softmax_cross_entropy %logits, %targets ignore -100 : (tensor<2x10xf32>, tensor<2xi32>) -> tensor<2xf32>
    ```
  }];
  let arguments = (ins Graph_FloatTensor:$logits, Graph_IndexTensor:$targets, OptionalAttr<I64Attr>:$ignoreIndex);
  let results = (outs Graph_FloatTensor:$result);
  let assemblyFormat = "$logits `,` $targets (`ignore` $ignoreIndex^)? attr-dict `:` functional-type(operands, results)";
  let fusionKind = "opaque";
}

def Graph_LinearCrossEntropyOp : Graph_PureOp<"linear_cross_entropy",
    [Graph_Sharded, Graph_Decomposable, Graph_Differentiable, Graph_InferWidening, Graph_Indexing],
    DeclareOpInterfaceMethods<CostOp, ["getMatmulFlops"]>> {
  let summary = "the summed cross-entropy of a linear head, and its gradients";
  let description = [{
    loss = Σ softmax_cross_entropy(hidden·weight + bias, targets), a scalar: the head of
    a language model and its loss in one op, because the logits [..., V] of a big batch
    would fill the memory. hidden [..., d], weight [d, V], or [V, d] if `transposed` (an
    embedding's table), bias [V]; a position whose target is `ignoreIndex` counts
    nothing. The loss is f32 (f64 for f64).

    The other results are the gradients of the loss. Since the loss is a scalar, its
    vjp is these times the cotangent, so that one walk over rows in the forward pass
    computes everything (`--graph-chunk-losses`); gradients that nobody reads are not
    computed. Gradients of bf16 and f16 may be f32, too: sums that are not rounded yet.

    ```mlir
    %loss, %dh, %dw = graph.linear_cross_entropy %h, %w, %targets ignore -100
        : (tensor<2x3x4xf32>, tensor<4x10xf32>, tensor<2x3xi32>) -> (tensor<f32>, tensor<2x3x4xf32>, tensor<4x10xf32>)
    ```
  }];
  let arguments = (ins Graph_FloatTensor:$hidden, Graph_FloatTensor:$weight, Graph_IndexTensor:$targets,
      Optional<Graph_FloatTensor>:$bias, OptionalAttr<I64Attr>:$ignoreIndex, UnitAttr:$transposed);
  let results = (outs Graph_FloatTensor:$loss, Graph_FloatTensor:$hiddenGrad, Graph_FloatTensor:$weightGrad,
      Optional<Graph_FloatTensor>:$biasGrad);
  let assemblyFormat = [{
    $hidden `,` $weight `,` $targets (`bias` $bias^)? (`ignore` $ignoreIndex^)? (`transposed` $transposed^)?
    attr-dict `:` functional-type(operands, results)
  }];
  let fusionKind = "opaque";
}

/// A head of which a device has some classes.
class Graph_HeadPartOp<string mnemonic, dag operands, dag outputs, Trait cost = CostOp>
    : Graph_PureOp<mnemonic, [Graph_Decomposable, Graph_InferWidening], cost> {
  let arguments = operands;
  let results = outputs;
  let fusionKind = "opaque";
}

def Graph_LinearLogSumExpOp : Graph_HeadPartOp<"linear_log_sum_exp",
    (ins Graph_FloatTensor:$hidden, Graph_FloatTensor:$weight, Graph_IndexTensor:$targets,
         Optional<Graph_FloatTensor>:$bias, UnitAttr:$transposed),
    (outs Graph_FloatTensor:$logSumExp, Graph_FloatTensor:$targetLogit),
    DeclareOpInterfaceMethods<CostOp, ["getMatmulFlops"]>> {
  let summary = "log Σ e^logit of a linear head, and the target's logit";
  let description = [{
    Per position of hidden·weight + bias, as in `linear_cross_entropy`; the target's logit
    is 0 where the target is none of the classes. Both are f32 (f64 for f64). Devices
    that have parts of the classes find so what all classes' is, without the logits:
    the op of stage `spmd`, walked in row chunks.

    ```mlir
    %lse, %logit = graph.linear_log_sum_exp %h, %w, %targets
        : (tensor<2x3x4xf32>, tensor<4x10xf32>, tensor<2x3xi32>) -> (tensor<2x3xf32>, tensor<2x3xf32>)
    ```
  }];
  let assemblyFormat = [{
    $hidden `,` $weight `,` $targets (`bias` $bias^)? (`transposed` $transposed^)?
    attr-dict `:` functional-type(operands, results)
  }];
}

def Graph_LinearCrossEntropyGradOp : Graph_HeadPartOp<"linear_cross_entropy_grad",
    (ins Graph_FloatTensor:$hidden, Graph_FloatTensor:$weight, Graph_IndexTensor:$targets,
         Graph_FloatTensor:$logSumExp, Optional<Graph_FloatTensor>:$bias,
         OptionalAttr<I64Attr>:$ignoreIndex, UnitAttr:$transposed),
    (outs Graph_FloatTensor:$hiddenGrad, Graph_FloatTensor:$weightGrad, Optional<Graph_FloatTensor>:$biasGrad)> {
  let summary = "gradients of a summed cross-entropy, by some of its classes";
  let description = [{
    The gradients of `linear_cross_entropy` where `weight` and `bias` have a part of the
    classes, and `logSumExp` [...] is that of all: a probability is e^(logit - logSumExp).
    The gradient of hidden is this part's summand. A target that is none of the classes
    is another part's. Gradients of bf16 and f16 may be f32, too.

    ```mlir
    %dh, %dw = graph.linear_cross_entropy_grad %h, %w, %targets, %lse ignore -100
        : (tensor<2x3x4xf32>, tensor<4x10xf32>, tensor<2x3xi32>, tensor<2x3xf32>) -> (tensor<2x3x4xf32>, tensor<4x10xf32>)
    ```
  }];
  let assemblyFormat = [{
    $hidden `,` $weight `,` $targets `,` $logSumExp (`bias` $bias^)? (`ignore` $ignoreIndex^)?
    (`transposed` $transposed^)? attr-dict `:` functional-type(operands, results)
  }];
}

def Graph_DropoutOp : Graph_PureOp<"dropout", [Graph_Decomposable, Graph_Differentiable, Graph_Infer]> {
  let summary = "zeroes a share `rate` of the elements, scales the others by 1/(1 - rate)";
  let description = [{
    An element stays where its `random_bits` ≥ round(rate · 2^32). The mask is a
    function of the key, so the vjp is this op on the cotangent with the same key.
    `part %k of n` says that the draw is one of n parts, as for other draws.

    ```mlir
    %y = graph.dropout %x, %key rate = 0.1 : tensor<4xf32>
    ```
  }];
  let arguments = (ins Graph_FloatTensor:$operand, Graph_Key:$key, Optional<Graph_Part>:$part,
      OptionalAttr<I64Attr>:$parts, F64Attr:$rate);
  let results = (outs Graph_FloatTensor:$result);
  let assemblyFormat = "$operand `,` $key (`part` $part^ `of` $parts)? `rate` `=` $rate attr-dict `:` type($operand)";
  let hasVerifier = 1;
}

def Graph_AdamWUpdateOp : Graph_ElementwiseOp<"adamw_update", [Graph_Decomposable, Graph_Infer]> {
  let summary = "one step of AdamW on one tensor";
  let description = [{
    m' = b1 m + (1-b1) g; v' = b2 v + (1-b2) g²;
    p' = p - lr · ((m'/c1) / (√(v'/c2) + ε) + wd · p), with the scalars
    c1 = 1 - b1^t, c2 = 1 - b2^t given by the host (Loshchilov and Hutter,
    "Decoupled weight decay regularization", 2019).

    ```mlir
    %p1, %m1, %v1 = graph.adamw_update %p, %g, %m, %v, %rate, %c1, %c2
        {beta1 = 0.9, beta2 = 0.95, epsilon = 1.0e-8, weightDecay = 0.1}
        : (tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<f32>, tensor<f32>, tensor<f32>)
        -> (tensor<4xf32>, tensor<4xf32>, tensor<4xf32>)
    ```
  }];
  let arguments = (ins Graph_FloatTensor:$param, Graph_FloatTensor:$grad, Graph_FloatTensor:$m, Graph_FloatTensor:$v,
      Graph_FloatTensor:$learningRate, Graph_FloatTensor:$correction1, Graph_FloatTensor:$correction2,
      F64Attr:$beta1, F64Attr:$beta2, F64Attr:$epsilon, F64Attr:$weightDecay);
  let results = (outs Graph_FloatTensor:$newParam, Graph_FloatTensor:$newM, Graph_FloatTensor:$newV);
  let assemblyFormat = "operands attr-dict `:` functional-type(operands, results)";
}

#endif // MINIGPTC_GRAPH_COMPOSITE_TD
