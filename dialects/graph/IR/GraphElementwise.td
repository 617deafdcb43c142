//===- GraphElementwise.td - one element in, one element out --------------===//
#ifndef MINIGPTC_GRAPH_ELEMENTWISE_TD
#define MINIGPTC_GRAPH_ELEMENTWISE_TD

include "dialects/graph/IR/GraphBase.td"

/// The element type of an op's example.
class Graph_Example<Type type> {
  string shape = !cond(!eq(type, Graph_LogicalTensor) : "tensor<4xi1>", !eq(type, Graph_IntTensor) : "tensor<4xui32>",
                       true : "tensor<2x3xf32>");
}

class Graph_UnaryOp<string mnemonic, Type type, string what, list<Trait> traits = []>
    : Graph_ElementwiseOp<mnemonic, !listconcat([Graph_SameTypes], traits)> {
  let summary = what;
  let description = "\n```mlir\n%y = graph." # mnemonic # " %x : " # Graph_Example<type>.shape # "\n```\n";
  let arguments = (ins type:$operand);
  let results = (outs type:$result);
  let assemblyFormat = "$operand attr-dict `:` type($operand)";
}

class Graph_BinaryOp<string mnemonic, Type type, string what, list<Trait> traits = []>
    : Graph_ElementwiseOp<mnemonic, !listconcat([Graph_SameTypes], traits)> {
  let summary = what;
  let description = "\n```mlir\n%z = graph." # mnemonic # " %x, %y : " # Graph_Example<type>.shape # "\n```\n";
  let arguments = (ins type:$lhs, type:$rhs);
  let results = (outs type:$result);
  let assemblyFormat = "$lhs `,` $rhs attr-dict `:` type($lhs)";
}

// Unary, floats.
def Graph_CbrtOp : Graph_UnaryOp<"cbrt", Graph_FloatTensor, "cube root", [Graph_Differentiable]>;
def Graph_CeilOp : Graph_UnaryOp<"ceil", Graph_FloatTensor, "round up", [Graph_Differentiable]>;
def Graph_CosineOp : Graph_UnaryOp<"cosine", Graph_FloatTensor, "cos x", [Graph_Differentiable]>;
def Graph_ErfOp : Graph_UnaryOp<"erf", Graph_FloatTensor, "Gauss error function", [Graph_Differentiable]>;
def Graph_ExponentialOp : Graph_UnaryOp<"exponential", Graph_FloatTensor, "e^x", [Graph_Differentiable]>;
def Graph_ExponentialMinusOneOp : Graph_UnaryOp<"exponential_minus_one", Graph_FloatTensor, "e^x - 1", [Graph_Differentiable]>;
def Graph_FloorOp : Graph_UnaryOp<"floor", Graph_FloatTensor, "round down", [Graph_Differentiable]>;
def Graph_LogOp : Graph_UnaryOp<"log", Graph_FloatTensor, "natural logarithm", [Graph_Differentiable]>;
def Graph_LogPlusOneOp : Graph_UnaryOp<"log_plus_one", Graph_FloatTensor, "log(1 + x)", [Graph_Differentiable]>;
def Graph_LogisticOp : Graph_UnaryOp<"logistic", Graph_FloatTensor, "1 / (1 + e^-x), stable for large |x|", [Graph_Differentiable]>;
def Graph_RoundNearestEvenOp : Graph_UnaryOp<"round_nearest_even", Graph_FloatTensor, "round, ties to even", [Graph_Differentiable]>;
def Graph_RsqrtOp : Graph_UnaryOp<"rsqrt", Graph_FloatTensor, "1 / sqrt(x)", [Graph_Differentiable]>;
def Graph_SineOp : Graph_UnaryOp<"sine", Graph_FloatTensor, "sin x", [Graph_Differentiable]>;
def Graph_SqrtOp : Graph_UnaryOp<"sqrt", Graph_FloatTensor, "square root", [Graph_Differentiable]>;
def Graph_TanhOp : Graph_UnaryOp<"tanh", Graph_FloatTensor, "hyperbolic tangent", [Graph_Differentiable]>;

// Unary, numbers.
def Graph_AbsOp : Graph_UnaryOp<"abs", Graph_NumTensor, "|x|", [Graph_Differentiable]>;
def Graph_NegateOp : Graph_UnaryOp<"negate", Graph_NumTensor, "-x", [Graph_Differentiable]> { let hasFolder = 1; let linearity = "joint"; }
def Graph_SignOp : Graph_UnaryOp<"sign", Graph_NumTensor, "-1, 0 or 1", [Graph_Differentiable]>;
def Graph_NotOp : Graph_UnaryOp<"not", Graph_LogicalTensor, "bitwise complement"> { let hasFolder = 1; }

// Binary, numbers.
def Graph_AddOp : Graph_BinaryOp<"add", Graph_NumTensor, "x + y", [Commutative, Graph_Differentiable]> { let hasFolder = 1; let linearity = "joint"; }
def Graph_SubtractOp : Graph_BinaryOp<"subtract", Graph_NumTensor, "x - y", [Graph_Differentiable]> { let hasFolder = 1; let linearity = "joint"; }
def Graph_MultiplyOp : Graph_BinaryOp<"multiply", Graph_NumTensor, "x * y", [Commutative, Graph_Differentiable]> { let hasFolder = 1; let linearity = "each"; }
def Graph_DivideOp : Graph_BinaryOp<"divide", Graph_NumTensor, "x / y; integers truncate towards zero, x / 0 is -1 (all bits set)", [Graph_Differentiable]> {
  let hasFolder = 1;
  let extraDefinition = ""; // its rule depends on the element type
}
def Graph_MaximumOp : Graph_BinaryOp<"maximum", Graph_Tensor, "the larger, NaN if either is NaN; `or` on i1", [Commutative, Graph_Differentiable]> { let hasFolder = 1; }
def Graph_MinimumOp : Graph_BinaryOp<"minimum", Graph_Tensor, "the smaller, NaN if either is NaN; `and` on i1", [Commutative, Graph_Differentiable]> { let hasFolder = 1; }
def Graph_PowerOp : Graph_BinaryOp<"power", Graph_FloatTensor, "x^y", [Graph_Differentiable]>;
def Graph_RemainderOp : Graph_BinaryOp<"remainder", Graph_NumTensor, "remainder of x / y, sign of x; x rem 0 is x for integers", [Graph_Differentiable]>;

// Binary, bits.
def Graph_AndOp : Graph_BinaryOp<"and", Graph_LogicalTensor, "bitwise and", [Commutative]> { let hasFolder = 1; }
def Graph_OrOp : Graph_BinaryOp<"or", Graph_LogicalTensor, "bitwise or", [Commutative]> { let hasFolder = 1; }
def Graph_XorOp : Graph_BinaryOp<"xor", Graph_LogicalTensor, "bitwise exclusive or", [Commutative]>;
def Graph_ShiftLeftOp : Graph_BinaryOp<"shift_left", Graph_IntTensor, "x << y, 0 if y is the width or more">;
def Graph_ShiftRightLogicalOp : Graph_BinaryOp<"shift_right_logical", Graph_IntTensor, "x >> y filled with zeros, 0 if y is the width or more">;
def Graph_ShiftRightArithmeticOp : Graph_BinaryOp<"shift_right_arithmetic", Graph_IntTensor, "x >> y filled with the sign, all sign if y is the width or more">;

def Graph_CompareOp : Graph_ElementwiseOp<"compare", [Graph_Infer]> {
  let summary = "elementwise comparison";
  let description = [{
    Any comparison with NaN is false, but for `NE`.

    ```mlir
    %p = graph.compare LT, %x, %y : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xi1>
    ```
  }];
  let arguments = (ins Graph_CompareDirectionAttr:$direction, Graph_Tensor:$lhs, Graph_Tensor:$rhs);
  let results = (outs Graph_PredTensor:$result);
  let assemblyFormat = "custom<Keyword>($direction) `,` $lhs `,` $rhs attr-dict `:` functional-type(operands, results)";
  let hasFolder = 1;
}

def Graph_IsFiniteOp : Graph_ElementwiseOp<"is_finite", [Graph_Infer]> {
  let summary = "neither infinite nor NaN";
  let description = [{
    ```mlir
    %p = graph.is_finite %x : (tensor<4xf32>) -> tensor<4xi1>
    ```
  }];
  let arguments = (ins Graph_FloatTensor:$operand);
  let results = (outs Graph_PredTensor:$result);
  let assemblyFormat = "$operand attr-dict `:` functional-type(operands, results)";
}

def Graph_SelectOp : Graph_ElementwiseOp<"select", [AllTypesMatch<["onTrue", "onFalse"]>, Graph_Differentiable, Graph_Infer]> {
  let summary = "pred ? onTrue : onFalse, elementwise";
  let description = [{
    `pred` has the shape of the branches, or is a scalar that chooses for all elements.

    ```mlir
    %z = graph.select %p, %x, %y : tensor<4xi1>, tensor<4xf32>
    ```
  }];
  let arguments = (ins Graph_PredTensor:$pred, Graph_Tensor:$onTrue, Graph_Tensor:$onFalse);
  let results = (outs Graph_Tensor:$result);
  let assemblyFormat = "$pred `,` $onTrue `,` $onFalse attr-dict `:` type($pred) `,` type($onTrue)";
  let linearity = "joint";
  let linear = "false, true, true";
  let hasFolder = 1;
}

def Graph_ClampOp : Graph_ElementwiseOp<"clamp", [Graph_SameTypes, Graph_Decomposable, Graph_Differentiable]> {
  let summary = "min(max(operand, low), high)";
  let description = [{
    ```mlir
    %y = graph.clamp %low, %x, %high : tensor<4xf32>
    ```
  }];
  let arguments = (ins Graph_NumTensor:$low, Graph_NumTensor:$operand, Graph_NumTensor:$high);
  let results = (outs Graph_NumTensor:$result);
  let assemblyFormat = "$low `,` $operand `,` $high attr-dict `:` type($operand)";
}

def Graph_ConvertOp : Graph_PureOp<"convert", [Graph_Sharded, SameOperandsAndResultShape, Graph_Differentiable, Graph_ElementMove]> {
  let summary = "change of element type";
  let description = [{
    Float to integer truncates towards zero and saturates (NaN gives 0); to i1,
    nonzero is true. Float to a narrower float rounds to nearest even.

    ```mlir
    %y = graph.convert %x : (tensor<4xf32>) -> tensor<4xbf16>
    ```
  }];
  let arguments = (ins Graph_Tensor:$operand);
  let results = (outs Graph_Tensor:$result);
  let assemblyFormat = "$operand attr-dict `:` functional-type(operands, results)";
  let hasFolder = 1;
}

def Graph_BitcastConvertOp : Graph_ElementwiseOp<"bitcast_convert", [SameOperandsAndResultShape]> {
  let summary = "the same bits under another element type of equal width";
  let description = [{
    ```mlir
    %bits = graph.bitcast_convert %x : (tensor<4xf32>) -> tensor<4xui32>
    ```
  }];
  let arguments = (ins Graph_Tensor:$operand);
  let results = (outs Graph_Tensor:$result);
  let assemblyFormat = "$operand attr-dict `:` functional-type(operands, results)";
  let hasVerifier = 1;
}

#endif // MINIGPTC_GRAPH_ELEMENTWISE_TD
