//===- GraphShape.td - constants and data movement ------------------------===//
#ifndef MINIGPTC_GRAPH_SHAPE_TD
#define MINIGPTC_GRAPH_SHAPE_TD

include "dialects/graph/IR/GraphBase.td"

def Graph_ConstantOp : Graph_PureOp<"constant", [ConstantLike, Graph_Infer]> {
  let summary = "a constant tensor";
  let arguments = (ins ElementsAttr:$value);
  let results = (outs Graph_Tensor:$result);
  let assemblyFormat = "attr-dict $value";
  let fusionKind = "broadcast";
  let hasFolder = 1;
}

def Graph_IotaOp : Graph_PureOp<"iota"> {
  let summary = "the index along one dimension";
  let arguments = (ins I64Attr:$dim);
  let results = (outs Graph_NumTensor:$result);
  let assemblyFormat = "`dim` `=` $dim attr-dict `:` type($result)";
  let fusionKind = "broadcast";
  let hasVerifier = 1;
}

def Graph_BroadcastInDimOp : Graph_PureOp<"broadcast_in_dim", [Graph_Differentiable]> {
  let summary = "repeats along new or size-1 dimensions";
  let description = [{
    Operand dimension i becomes result dimension `dims[i]`; it has the same size
    or is 1, in which case it is repeated. `dims` is strictly increasing.
  }];
  let arguments = (ins Graph_Tensor:$operand, DenseI64ArrayAttr:$dims);
  let results = (outs Graph_Tensor:$result);
  let assemblyFormat = "$operand `,` `dims` `=` $dims attr-dict `:` functional-type(operands, results)";
  let fusionKind = "broadcast";
  let hasVerifier = 1;
  let hasFolder = 1;
}

def Graph_ReshapeOp : Graph_PureOp<"reshape", [Graph_Differentiable]> {
  let summary = "the same elements, row-major, under another shape";
  let arguments = (ins Graph_Tensor:$operand);
  let results = (outs Graph_Tensor:$result);
  let assemblyFormat = "$operand attr-dict `:` functional-type(operands, results)";
  let fusionKind = "data_movement";
  let hasVerifier = 1;
  let hasFolder = 1;
  let hasCanonicalizer = 1;
}

def Graph_TransposeOp : Graph_PureOp<"transpose", [Graph_Differentiable, Graph_Infer]> {
  let summary = "result dimension i is operand dimension permutation[i]";
  let arguments = (ins Graph_Tensor:$operand, DenseI64ArrayAttr:$permutation);
  let results = (outs Graph_Tensor:$result);
  let assemblyFormat = "$operand `,` `dims` `=` $permutation attr-dict `:` functional-type(operands, results)";
  let fusionKind = "data_movement";
  let hasFolder = 1;
  let hasCanonicalizer = 1;
}

def Graph_SliceOp : Graph_PureOp<"slice", [Graph_Differentiable, Graph_Infer]> {
  let summary = "elements start, start+stride, … below limit, per dimension";
  let arguments = (ins Graph_Tensor:$operand, DenseI64ArrayAttr:$start,
                       DenseI64ArrayAttr:$limit, DenseI64ArrayAttr:$strides);
  let results = (outs Graph_Tensor:$result);
  let assemblyFormat = "$operand $start `:` $limit `:` $strides attr-dict `:` functional-type(operands, results)";
  let fusionKind = "data_movement";
  let hasFolder = 1;
}

def Graph_DynamicSliceOp : Graph_PureOp<"dynamic_slice", [Graph_Differentiable, Graph_Infer]> {
  let summary = "a block of fixed size at a computed start";
  let description = [{ One scalar start per dimension, clamped so that the block lies inside the operand. }];
  let arguments = (ins Graph_Tensor:$operand, Variadic<Graph_IndexTensor>:$start, DenseI64ArrayAttr:$sizes);
  let results = (outs Graph_Tensor:$result);
  let assemblyFormat = "$operand `[` $start `]` `sizes` `=` $sizes attr-dict `:` functional-type(operands, results)";
  let fusionKind = "data_movement";
}

def Graph_DynamicUpdateSliceOp : Graph_PureOp<"dynamic_update_slice", [Graph_Differentiable, Graph_Infer]> {
  let summary = "the operand with a block replaced";
  let description = [{ One scalar start per dimension, clamped as in `dynamic_slice`. }];
  let arguments = (ins Graph_Tensor:$operand, Graph_Tensor:$update, Variadic<Graph_IndexTensor>:$start);
  let results = (outs Graph_Tensor:$result);
  let assemblyFormat = "$operand `,` $update `[` $start `]` attr-dict `:` functional-type(operands, results)";
  let fusionKind = "data_movement";
}

def Graph_ConcatenateOp : Graph_PureOp<"concatenate", [Graph_Differentiable, Graph_Infer]> {
  let summary = "tensors one after the other along a dimension";
  let arguments = (ins Variadic<Graph_Tensor>:$inputs, I64Attr:$dim);
  let results = (outs Graph_Tensor:$result);
  let assemblyFormat = "$inputs `dim` `=` $dim attr-dict `:` functional-type(operands, results)";
  let fusionKind = "data_movement";
  let hasFolder = 1;
}

def Graph_PadOp : Graph_PureOp<"pad", [Graph_Differentiable, Graph_Infer]> {
  let summary = "surrounds with, and spreads by, a scalar value";
  let description = [{ Per dimension `low` and `high` elements outside (negative: cut off) and `interior` between neighbours. }];
  let arguments = (ins Graph_Tensor:$operand, Graph_Tensor:$value, DenseI64ArrayAttr:$low,
                       DenseI64ArrayAttr:$high, DenseI64ArrayAttr:$interior);
  let results = (outs Graph_Tensor:$result);
  let assemblyFormat = "$operand `,` $value `,` `low` `=` $low `,` `high` `=` $high `,` `interior` `=` $interior attr-dict `:` functional-type(operands, results)";
  let fusionKind = "data_movement";
  let hasFolder = 1;
}

#endif // MINIGPTC_GRAPH_SHAPE_TD
