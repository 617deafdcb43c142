//===- GraphShape.td - constants and data movement ------------------------===//
#ifndef MINIGPTC_GRAPH_SHAPE_TD
#define MINIGPTC_GRAPH_SHAPE_TD

include "dialects/graph/IR/GraphBase.td"

def Graph_ConstantOp : Graph_PureOp<"constant", [Graph_Sharded, ConstantLike, Graph_Infer]> {
  let summary = "a constant tensor";
  let description = [{
    ```mlir
    %c = graph.constant dense<[1.0, 2.0]> : tensor<2xf32>
    ```
  }];
  let arguments = (ins ElementsAttr:$value);
  let results = (outs Graph_Tensor:$result);
  let assemblyFormat = "attr-dict $value";
  let fusionKind = "broadcast";
  let hasFolder = 1;
}

def Graph_IotaOp : Graph_PureOp<"iota", [Graph_Sharded]> {
  let summary = "the index along one dimension";
  let description = [{
    ```mlir
    %i = graph.iota dim = 1 : tensor<2x3xi32> // [[0, 1, 2], [0, 1, 2]]
    ```
  }];
  let arguments = (ins I64Attr:$dim);
  let results = (outs Graph_NumTensor:$result);
  let assemblyFormat = "`dim` `=` $dim attr-dict `:` type($result)";
  let fusionKind = "broadcast";
  let hasVerifier = 1;
}

def Graph_BroadcastInDimOp : Graph_PureOp<"broadcast_in_dim", [Graph_Sharded, Graph_Differentiable, Graph_ElementMove]> {
  let summary = "repeats along new or size-1 dimensions";
  let description = [{
    Operand dimension i becomes result dimension `dims[i]`; it has the same size
    or is 1, in which case it is repeated. `dims` is strictly increasing.

    ```mlir
    %y = graph.broadcast_in_dim %x, dims = [1] : (tensor<3xf32>) -> tensor<2x3xf32>
    ```
  }];
  let arguments = (ins Graph_Tensor:$operand, DenseI64ArrayAttr:$dims);
  let results = (outs Graph_Tensor:$result);
  let assemblyFormat = "$operand `,` `dims` `=` $dims attr-dict `:` functional-type(operands, results)";
  let fusionKind = "broadcast";
  let hasVerifier = 1;
  let hasFolder = 1;
}

def Graph_ReshapeOp : Graph_PureOp<"reshape", [Graph_Sharded, Graph_Differentiable, Graph_ElementMove]> {
  let summary = "the same elements, row-major, under another shape";
  let description = [{
    ```mlir
    %y = graph.reshape %x : (tensor<2x3xf32>) -> tensor<6xf32>
    ```
  }];
  let arguments = (ins Graph_Tensor:$operand);
  let results = (outs Graph_Tensor:$result);
  let assemblyFormat = "$operand attr-dict `:` functional-type(operands, results)";
  let fusionKind = "data_movement";
  let hasVerifier = 1;
  let hasFolder = 1;
  let hasCanonicalizer = 1;
}

def Graph_TransposeOp : Graph_PureOp<"transpose", [Graph_Sharded, Graph_Differentiable, Graph_Infer, Graph_ElementMove]> {
  let summary = "result dimension i is operand dimension permutation[i]";
  let description = [{
    ```mlir
    %y = graph.transpose %x, dims = [1, 0] : (tensor<2x3xf32>) -> tensor<3x2xf32>
    ```
  }];
  let arguments = (ins Graph_Tensor:$operand, DenseI64ArrayAttr:$permutation);
  let results = (outs Graph_Tensor:$result);
  let assemblyFormat = "$operand `,` `dims` `=` $permutation attr-dict `:` functional-type(operands, results)";
  let fusionKind = "data_movement";
  let hasFolder = 1;
  let hasCanonicalizer = 1;
}

def Graph_SliceOp : Graph_PureOp<"slice", [Graph_Sharded, Graph_Differentiable, Graph_Infer, Graph_ElementMove]> {
  let summary = "elements start, start+stride, … below limit, per dimension";
  let description = [{
    ```mlir
    %y = graph.slice %x [1] : [8] : [2] : (tensor<10xf32>) -> tensor<4xf32> // elements 1, 3, 5, 7
    ```
  }];
  let arguments = (ins Graph_Tensor:$operand, DenseI64ArrayAttr:$start,
                       DenseI64ArrayAttr:$limit, DenseI64ArrayAttr:$strides);
  let results = (outs Graph_Tensor:$result);
  let assemblyFormat = "$operand $start `:` $limit `:` $strides attr-dict `:` functional-type(operands, results)";
  let fusionKind = "data_movement";
  let hasFolder = 1;
}

def Graph_DynamicSliceOp : Graph_PureOp<"dynamic_slice", [Graph_Sharded, Graph_Differentiable, Graph_Infer]> {
  let summary = "a block of fixed size at a computed start";
  let description = [{
    One scalar start per dimension, clamped so that the block lies inside the operand.

    ```mlir
    %y = graph.dynamic_slice %x[%i, %j] sizes = [2, 2] : (tensor<4x5xf32>, tensor<i32>, tensor<i32>) -> tensor<2x2xf32>
    ```
  }];
  let arguments = (ins Graph_Tensor:$operand, Variadic<Graph_IndexTensor>:$start, DenseI64ArrayAttr:$sizes);
  let results = (outs Graph_Tensor:$result);
  let assemblyFormat = "$operand `[` $start `]` `sizes` `=` $sizes attr-dict `:` functional-type(operands, results)";
  let fusionKind = "data_movement";
  let hasFolder = 1;
}

def Graph_DynamicUpdateSliceOp : Graph_PureOp<"dynamic_update_slice", [Graph_Sharded, Graph_Differentiable, Graph_Infer]> {
  let summary = "the operand with a block replaced";
  let description = [{
    One scalar start per dimension, clamped as in `dynamic_slice`. Compiled code
    writes the block only, where the result may have the operand's memory (a
    donated argument that nothing reads later).

    ```mlir
    %y = graph.dynamic_update_slice %x, %u[%i] : (tensor<4xf32>, tensor<2xf32>, tensor<i32>) -> tensor<4xf32>
    ```
  }];
  let arguments = (ins Graph_Tensor:$operand, Graph_Tensor:$update, Variadic<Graph_IndexTensor>:$start);
  let results = (outs Graph_Tensor:$result);
  let assemblyFormat = "$operand `,` $update `[` $start `]` attr-dict `:` functional-type(operands, results)";
  let fusionKind = "opaque";
  let hasFolder = 1;
}

def Graph_ConcatenateOp : Graph_PureOp<"concatenate", [Graph_Sharded, Graph_Differentiable, Graph_Infer, Graph_ElementMove]> {
  let summary = "tensors one after the other along a dimension";
  let description = [{
    ```mlir
    %z = graph.concatenate %x, %y dim = 1 : (tensor<2x3xf32>, tensor<2x1xf32>) -> tensor<2x4xf32>
    ```
  }];
  let arguments = (ins Variadic<Graph_Tensor>:$inputs, I64Attr:$dim);
  let results = (outs Graph_Tensor:$result);
  let assemblyFormat = "$inputs `dim` `=` $dim attr-dict `:` functional-type(operands, results)";
  let fusionKind = "data_movement";
  let hasFolder = 1;
}

def Graph_PadOp : Graph_PureOp<"pad", [Graph_Sharded, Graph_Differentiable, Graph_Infer]> {
  let summary = "surrounds with, and spreads by, a scalar value";
  let description = [{
    Per dimension `low` and `high` elements outside (negative: cut off) and `interior` between neighbours.

    ```mlir
    %y = graph.pad %x, %zero, low = [1], high = [0], interior = [2] : (tensor<3xf32>, tensor<f32>) -> tensor<8xf32>
    ```
  }];
  let arguments = (ins Graph_Tensor:$operand, Graph_Tensor:$value, DenseI64ArrayAttr:$low,
                       DenseI64ArrayAttr:$high, DenseI64ArrayAttr:$interior);
  let results = (outs Graph_Tensor:$result);
  let assemblyFormat = "$operand `,` $value `,` `low` `=` $low `,` `high` `=` $high `,` `interior` `=` $interior attr-dict `:` functional-type(operands, results)";
  let fusionKind = "data_movement";
  let hasFolder = 1;
}

#endif // MINIGPTC_GRAPH_SHAPE_TD
