//===- GraphDialect.td - the `graph` dialect ------------------------------===//
//
// Pure, value-semantics ops on ranked tensors with static shapes. Names and
// semantics are StableHLO's wherever such an op exists.
//
//===----------------------------------------------------------------------===//
#ifndef MINIGPTC_GRAPH_DIALECT_TD
#define MINIGPTC_GRAPH_DIALECT_TD

include "mlir/IR/AttrTypeBase.td"
include "mlir/IR/OpBase.td"
include "mlir/IR/EnumAttr.td"

def Graph_Dialect : Dialect {
  let name = "graph";
  let cppNamespace = "::minigptc::graph";
  let summary = "tensor programs with value semantics and static shapes";
  let description = [{
    The language of the stages `trace` to `schedule`. Primitive ops carry
    StableHLO names and semantics; composite ops (`softmax`, `attention`, …)
    exist where their fused form matters, and each has a decomposition into
    primitives that defines its meaning.

    Element types: f64, f32, bf16, f16, i64, i32, i8, i1 (signless, signed
    semantics), ui64, ui32. bf16 and f16 accumulate in f32.

    | attribute | on | says |
    |---|---|---|
    | `graph.entry` | a function | it is an entry of the program |
    | `graph.name` | argument or result of an entry | its path in the tree that goes in or comes out |
    | `graph.donate` | argument of an entry, of a loop's body | the number of the result that takes over its memory |
    | `graph.index_bound` | argument of an entry | n, where its values must lie in [0, n) |
    | `graph.host` | a function | it is a host scalar program, for `graph.host_call` |
    | `graph.shared` | a function | it is one body for many calls, and is not inlined |
    | `graph.phase` | a function | it computes in the `forward` or the `backward` part of a step |
    | `graph.piece` | a call | the piece of a pipelined model that it belongs to, from 0 |
    | `graph.backward` | a call with `graph.piece` | it computes gradients |
    | `graph.prints` | an op that calls functions | one of them prints, or calls one that does |
    | `graph.silent` | `graph.vjp` | what it calls prints nothing |
  }];
  let hasConstantMaterializer = 1;
  let useDefaultAttributePrinterParser = 1;
  let dependentDialects = ["::mlir::func::FuncDialect"];
}

class Graph_I32Enum<string name, string summary, list<I32EnumAttrCase> cases>
    : I32EnumAttr<name, summary, cases> {
  let cppNamespace = "::minigptc::graph";
  let genSpecializedAttr = 0;
}

/// An enum as an attribute: #graph.remat<dots>. Ops print the bare word, by
/// `custom<Keyword>`.
class Graph_KindAttr<EnumAttrInfo kind, string mnemonic> : EnumAttr<Graph_Dialect, kind, mnemonic> {
  let assemblyFormat = "`<` $value `>`";
}

def Graph_ReduceKind : Graph_I32Enum<"ReduceKind", "how a reduction combines", [
  I32EnumAttrCase<"sum", 0>, I32EnumAttrCase<"max", 1>,
  I32EnumAttrCase<"min", 2>, I32EnumAttrCase<"prod", 3>,
  I32EnumAttrCase<"any", 4>, I32EnumAttrCase<"all", 5>]>;
def Graph_ReduceKindAttr : Graph_KindAttr<Graph_ReduceKind, "reduce_kind">;

def Graph_ScatterKind : Graph_I32Enum<"ScatterKind", "how a scatter combines", [
  I32EnumAttrCase<"add", 0>, I32EnumAttrCase<"update", 1>]>;
def Graph_ScatterKindAttr : Graph_KindAttr<Graph_ScatterKind, "scatter_kind">;

def Graph_CompareDirection : Graph_I32Enum<"CompareDirection", "comparison", [
  I32EnumAttrCase<"EQ", 0>, I32EnumAttrCase<"NE", 1>, I32EnumAttrCase<"LT", 2>,
  I32EnumAttrCase<"LE", 3>, I32EnumAttrCase<"GT", 4>, I32EnumAttrCase<"GE", 5>]>;
def Graph_CompareDirectionAttr : Graph_KindAttr<Graph_CompareDirection, "compare_direction">;

def Graph_MaskKind : Graph_I32Enum<"MaskKind", "which keys a query attends to", [
  I32EnumAttrCase<"none", 0>, I32EnumAttrCase<"causal", 1>,
  I32EnumAttrCase<"sliding_window", 2>]>;
def Graph_MaskKindAttr : Graph_KindAttr<Graph_MaskKind, "mask_kind">;

/// What a checkpointed function may keep for its backward pass (`jax.checkpoint`
/// policies): `nothing` recomputes all, `dots` keeps results of dot_general and
/// attention, `everything` keeps whatever the backward pass reads.
def Graph_RematPolicy : Graph_I32Enum<"RematPolicy", "what may be saved", [
  I32EnumAttrCase<"nothing", 0>, I32EnumAttrCase<"dots", 1>,
  I32EnumAttrCase<"everything", 2>]>;
def Graph_RematPolicyAttr : Graph_KindAttr<Graph_RematPolicy, "remat">;

/// What the values of an entry's integer argument must be, besides `graph.index_bound`.
def Graph_IndexCheckAttr : AttrDef<Graph_Dialect, "IndexCheck"> {
  let mnemonic = "index_check";
  let summary = "values of [0, bound), or `ignored`, in a part of an argument";
  let description = [{
    The part is elements start, start+stride, … below limit, per dimension; all of the
    argument where it is left out. `--graph-infer-index-bounds` writes them.

    ```mlir
    %batch: tensor<2x9xi32> {graph.index_checks = [
      #graph.index_check<10>, #graph.index_check<10 or -100 in [0, 1] : [2, 9] : [1, 1]>]}
    ```
  }];
  let parameters = (ins "int64_t":$bound, OptionalParameter<"std::optional<int64_t>">:$ignored,
      OptionalParameter<"::mlir::DenseI64ArrayAttr">:$start,
      OptionalParameter<"::mlir::DenseI64ArrayAttr">:$limit,
      OptionalParameter<"::mlir::DenseI64ArrayAttr">:$strides);
  let assemblyFormat = "`<` $bound (`or` $ignored^)? (`in` $start^ `:` $limit `:` $strides)? `>`";
  let genVerifyDecl = 1;
}

#endif // MINIGPTC_GRAPH_DIALECT_TD
