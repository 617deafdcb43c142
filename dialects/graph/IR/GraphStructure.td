//===- GraphStructure.td - ops that hold or call other ops ----------------===//
#ifndef MINIGPTC_GRAPH_STRUCTURE_TD
#define MINIGPTC_GRAPH_STRUCTURE_TD

include "dialects/graph/IR/GraphBase.td"

def Graph_VjpOp : Graph_Op<"vjp", [Graph_PureUnlessPrinting, AttrSizedOperandSegments,
    DeclareOpInterfaceMethods<SymbolUserOpInterface>]> {
  let summary = "results of a function, and its gradient";
  let description = [{
    Calls `callee` on `inputs` and gives its results, followed by the cotangents
    of the inputs numbered `wrt`, for the cotangents of all results given. The
    op of the stage `trace`; `--graph-autodiff` replaces it by a call of the
    callee's forward and one of its backward function.

    ```mlir
    %loss, %dw = graph.vjp @loss(%w, %x) cotangents(%one) wrt [0]
        : (tensor<4xf32>, tensor<8x4xf32>), (tensor<f32>) -> (tensor<f32>, tensor<4xf32>)
    ```
  }];
  let arguments = (ins FlatSymbolRefAttr:$callee, Variadic<Graph_Tensor>:$inputs,
      Variadic<Graph_Tensor>:$cotangents, DenseI64ArrayAttr:$wrt);
  let results = (outs Variadic<Graph_Tensor>:$outputs);
  let assemblyFormat = [{
    $callee `(` $inputs `)` `cotangents` `(` $cotangents `)` `wrt` $wrt attr-dict
    `:` `(` type($inputs) `)` `,` `(` type($cotangents) `)` `->` `(` type($outputs) `)`
  }];
}

def Graph_ScanOp : Graph_Op<"scan", [Graph_PureUnlessPrinting, AttrSizedOperandSegments,
    DeclareOpInterfaceMethods<SymbolUserOpInterface>, DeclareOpInterfaceMethods<LoopOp>]> {
  let summary = "a function called for one part of tensors after the other";
  let description = [{
    `jax.lax.scan` over parts of dimension 0. The private function `callee` is called
    `count` times with the constants, the carried values and one part of each cut
    tensor: of [count·n, …] the k-th call gets rows [k·n, (k+1)·n). It gives the next
    carried values and parts of the stacked results. The op's results are the last
    carried values and the stacked tensors.

    With `reverse` the first call gets the last parts, and makes the last parts of the stacked
    tensors.

    The body is a function named by symbol, not a region, so that it is fused, planned
    and shared like every other function. Its carried argument i has `graph.donate = i`:
    result i takes over its memory, so that nothing that is carried is copied.

    Where it becomes instructions, a part must be a multiple of 64 bytes, to which
    buffers are aligned: `--graph-align-loops` brings that about.

    ```mlir
    %total, %squares = graph.scan @body(%w) carried(%zero) cut(%x) count = 4
        : (tensor<8xf32>, tensor<8xf32>, tensor<64x8xf32>) -> (tensor<8xf32>, tensor<64x8xf32>)
    ```
  }];
  let arguments = (ins FlatSymbolRefAttr:$callee, Variadic<Graph_Tensor>:$constants,
      Variadic<Graph_Tensor>:$carried, Variadic<Graph_Tensor>:$cut, I64Attr:$count, UnitAttr:$reverse);
  let results = (outs Variadic<Graph_Tensor>:$outputs);
  let assemblyFormat = [{
    $callee `(` $constants `)` `carried` `(` $carried `)` `cut` `(` $cut `)` `count` `=` $count (`reverse` $reverse^)? attr-dict
    `:` functional-type(operands, results)
  }];
}

def Graph_CondOp : Graph_Op<"cond", [Graph_PureUnlessPrinting, DeclareOpInterfaceMethods<SymbolUserOpInterface>]> {
  let summary = "one of two functions called";
  let description = [{
    Calls the private function `onTrue` with the inputs if the predicate, a scalar, is true,
    else `onFalse`; the other one is not run. Both have the types of the inputs and of the
    outputs. The host reads the predicate between instructions.

    ```mlir
    %y = graph.cond %p then @double else @negate(%x) : (tensor<i1>, tensor<4xf32>) -> tensor<4xf32>
    ```
  }];
  let arguments = (ins Graph_PredTensor:$predicate, FlatSymbolRefAttr:$onTrue, FlatSymbolRefAttr:$onFalse,
      Variadic<Graph_Tensor>:$inputs);
  let results = (outs Variadic<Graph_Tensor>:$outputs);
  let assemblyFormat = [{
    $predicate `then` $onTrue `else` $onFalse `(` $inputs `)` attr-dict `:` functional-type(operands, results)
  }];
}

def Graph_WhileOp : Graph_Op<"while", [Graph_PureUnlessPrinting, AttrSizedOperandSegments, Graph_Differentiable,
    DeclareOpInterfaceMethods<SymbolUserOpInterface>]> {
  let summary = "a function called as long as a predicate holds";
  let description = [{
    Calls the private function `condition` with the constants and the carried values; while
    that gives true, a scalar, `body` of the same arguments gives the next carried values. The
    results are the last ones. As a scan's, the body's carried argument i has
    `graph.donate = i`. The host reads the predicate between instructions. No derivative: how
    often the body runs is not known before.

    ```mlir
    %y = graph.while @too_large @halve(%limit) carried(%x) : (tensor<f32>, tensor<4xf32>) -> tensor<4xf32>
    ```
  }];
  let arguments = (ins FlatSymbolRefAttr:$condition, FlatSymbolRefAttr:$body,
      Variadic<Graph_Tensor>:$constants, Variadic<Graph_Tensor>:$carried);
  let results = (outs Variadic<Graph_Tensor>:$outputs);
  let assemblyFormat = [{
    $condition $body `(` $constants `)` `carried` `(` $carried `)` attr-dict `:` functional-type(operands, results)
  }];
}

def Graph_HostCallOp : Graph_Op<"host_call", [Pure,
    DeclareOpInterfaceMethods<SymbolUserOpInterface>]> {
  let summary = "scalars that the host computes before the step";
  let description = [{
    Calls a function marked `graph.host`, whose arguments and results are f64
    scalars and whose body is scalar arithmetic: the learning-rate schedule, the
    bias corrections. Operands are scalars that enter the entry function from
    outside (the number of updates done); they are converted to f64, the results
    to the element types of this op's results. The runtime evaluates the
    function in f64, so that no schedule is compiled into a kernel.

    ```mlir
    %rate = graph.host_call @schedule(%count) : (tensor<i64>) -> tensor<f32>
    ```
  }];
  let arguments = (ins FlatSymbolRefAttr:$callee, Variadic<Graph_NumTensor>:$inputs);
  let results = (outs Variadic<Graph_FloatTensor>:$outputs);
  let assemblyFormat = "$callee `(` $inputs `)` attr-dict `:` functional-type($inputs, $outputs)";
}

def Graph_GatherExamplesOp : Graph_Op<"gather_examples", [Pure]> {
  let summary = "the tensors of all examples of a `vmap`";
  let description = [{
    In a function of one example: the tensors that the examples along `axis` have here, along a new
    dimension 0, the same for all. Collectives over a `vmap`'s axis are made of it; the function of
    all examples has none.

    ```mlir
    %all = graph.gather_examples %x over "examples" : (tensor<4xf32>) -> tensor<8x4xf32>
    ```
  }];
  let arguments = (ins Graph_Tensor:$operand, StrAttr:$axis);
  let results = (outs Graph_Tensor:$result);
  let assemblyFormat = "$operand `over` $axis attr-dict `:` functional-type(operands, results)";
  let hasVerifier = 1;
}

def Graph_ExampleIndexOp : Graph_Op<"example_index", [Pure]> {
  let summary = "the number of an example of a `vmap`";
  let description = [{
    As `gather_examples`, in a function of one example: 0, 1, … along `axis`.

    ```mlir
    %i = graph.example_index over "examples" : tensor<i64>
    ```
  }];
  let arguments = (ins StrAttr:$axis);
  let results = (outs Graph_Part:$result);
  let assemblyFormat = "`over` $axis attr-dict `:` type($result)";
}

def Graph_PrintOp : Graph_Op<"print", [MemoryEffects<[MemWrite]>]> {
  let summary = "a line with values of the run";
  let description = [{
    Prints, when it is run, the first text, the first value, the next text, and so on: there is a
    text more than values. It is run once, where it stands: it is not dropped, nor merged with its
    like, keeps its place among other prints of its function, and has no part in a derivative.

    `examples` is the number of dimensions, the first of each value, that go over the examples of
    a `vmap`: there is a line for each.

    Of a program on a mesh the values are whole, and one device prints them. In the function of a
    `dist.manual` they are a device's: there each device along `axes` prints, the axes along which
    they differ.

    ```mlir
    graph.print ["loss ", ", step ", ""] (%loss, %step : tensor<f32>, tensor<i64>)
    graph.print ["", ""] (%each : tensor<8x4xf32>) {examples = 1 : i64}
    ```
  }];
  let arguments = (ins Variadic<Graph_Tensor>:$values, StrArrayAttr:$texts,
      DefaultValuedAttr<I64Attr, "0">:$examples, OptionalAttr<StrArrayAttr>:$axes);
  let assemblyFormat = "$texts (`(` $values^ `:` type($values) `)`)? attr-dict";
  let hasVerifier = 1;
}

def Graph_FusionOp : Graph_Op<"fusion", [Pure, IsolatedFromAbove, SingleBlock]> {
  let summary = "ops that become one kernel";
  let description = [{
    The region's arguments are the inputs; it holds fusible graph ops and ends in
    `graph.yield`. The op of the stage `fuse`; `--graph-outline-kernels` turns
    equal fusions into calls of one function marked `exec.kernel`.

    ```mlir
    %y = graph.fusion(%x) : (tensor<4xf32>) -> tensor<4xf32> {
    ^bb0(%a: tensor<4xf32>):
      %b = graph.negate %a : tensor<4xf32>
      graph.yield %b : tensor<4xf32>
    }
    ```
  }];
  let arguments = (ins Variadic<Graph_Tensor>:$inputs);
  let results = (outs Variadic<Graph_Tensor>:$outputs);
  let regions = (region SizedRegion<1>:$body);
  let assemblyFormat = "`(` $inputs `)` attr-dict-with-keyword `:` functional-type($inputs, $outputs) $body";
  let hasVerifier = 1;
}

def Graph_YieldOp : Graph_Op<"yield", [Pure, Terminator, ReturnLike, ParentOneOf<["FusionOp"]>]> {
  let summary = "results of a region";
  let arguments = (ins Variadic<Graph_Tensor>:$operands);
  let assemblyFormat = "($operands^ `:` type($operands))? attr-dict";
}

#endif // MINIGPTC_GRAPH_STRUCTURE_TD
