//===- DistOps.td - meshes, constraints, collectives ----------------------===//
#ifndef MINIGPTC_DIST_OPS_TD
#define MINIGPTC_DIST_OPS_TD

include "dialects/dist/IR/DistDialect.td"
include "dialects/graph/IR/GraphBase.td"

class Dist_Op<string mnemonic, list<Trait> traits = []> : Op<Dist_Dialect, mnemonic, traits>;
defvar Dist_UsesSymbols = DeclareOpInterfaceMethods<SymbolUserOpInterface>;

def Dist_MeshOp : Dist_Op<"mesh", [Symbol]> {
  let summary = "the devices of a program";
  let description = [{
    A module has one.

    ```mlir
    dist.mesh @mesh = <["data"=4, "tensor"=2]>
    ```
  }];
  let arguments = (ins SymbolNameAttr:$sym_name, Dist_MeshAttr:$mesh);
  let assemblyFormat = "$sym_name `=` $mesh attr-dict";
  let hasVerifier = 1;
}

def Dist_ConstraintOp : Dist_Op<"constraint", [Pure, AllTypesMatch<["input", "result"]>, Dist_UsesSymbols,
    DeclareOpInterfaceMethods<DifferentiableOp>]> {
  let summary = "the same value, sharded as said";
  let description = [{
    The user's word: no pass gives the result another sharding than this, but for axes
    that are added to open dimensions. The cotangent has no constraint of its own.

    ```mlir
    %y = dist.constraint %x <@mesh, [{"data"}, {} ]> : tensor<8x4xf32>
    ```
  }];
  let arguments = (ins Graph_Tensor:$input, Dist_ShardingAttr:$sharding);
  let results = (outs Graph_Tensor:$result);
  let assemblyFormat = "$input $sharding attr-dict `:` type($input)";
}

def Dist_ReshardOp : Dist_Op<"reshard", [Pure, AllTypesMatch<["input", "result"]>, Dist_UsesSymbols]> {
  let summary = "the same value, sharded otherwise";
  let description = [{
    Between a value's sharding and one that a use needs; of stage `shard`. The types are
    the global ones.

    ```mlir
    %y = dist.reshard %x to <@mesh, [{}, {"data"} ]> : tensor<8x4xf32>
    ```
  }];
  let arguments = (ins Graph_Tensor:$input, Dist_ShardingAttr:$sharding);
  let results = (outs Graph_Tensor:$result);
  let assemblyFormat = "$input `to` $sharding attr-dict `:` type($input)";
}

def CollectiveOp : OpInterface<"CollectiveOp"> {
  let cppNamespace = "::minigptc::dist";
  let description = [{
    Devices that differ only in their coordinates along `axes` take part together,
    numbered by these, major to minor. Tensors are local. Operand i gives result i; several
    go together (a bucket).
  }];
  let methods = [
    InterfaceMethod<"The mesh.", "::mlir::FlatSymbolRefAttr", "getMeshAttr">,
    InterfaceMethod<"The axes, major to minor.", "::mlir::ArrayAttr", "getAxes">,
    InterfaceMethod<"Bytes that one device of n sends, by a ring algorithm, for operand i.", "double",
      "getBytesSent", (ins "unsigned":$operand, "int64_t":$n)>,
    InterfaceMethod<"Whether a device waits for the others.", "bool", "hasToWait", (ins), "",
      [{ return true; }]>,
    InterfaceMethod<[{
      What all operands of a collective have in common, besides kind, mesh and axes, or null:
      how elements are combined, who sends to whom.
    }], "::mlir::Attribute", "getCommonDetail", (ins), "", [{ return {}; }]>,
    InterfaceMethod<[{
      One collective at the insertion point with the operands of this one and then those of
      `others`, which it can join.
    }], "::minigptc::dist::CollectiveOp", "createJoined",
      (ins "::mlir::OpBuilder &":$builder, "::mlir::Location":$location,
           "::llvm::ArrayRef<::minigptc::dist::CollectiveOp>":$others)>];
  let extraClassDeclaration = [{
    /// Equal for collectives that can be one: of a kind, over the same axes, alike in detail.
    ::mlir::Attribute getJoinKey();
    bool canJoin(CollectiveOp other) { return getJoinKey() == other.getJoinKey(); }
  }];
}

def TogetherOp : OpInterface<"TogetherOp"> {
  let cppNamespace = "::minigptc::dist";
  let description = [{
    [external: compiler/interpreter] The reference semantics of an op whose results on one
    device depend on other devices, or on which device it is.
  }];
  let methods = [InterfaceMethod<[{
      Computes the results of all devices of the mesh, into `*results[device]`, from the operands
      of all. Results arrive empty.
    }], "void", "evaluateTogether",
    (ins "::llvm::ArrayRef<::llvm::ArrayRef<::minigptc::interpreter::Tensor>>":$operands,
         "::llvm::ArrayRef<::llvm::SmallVectorImpl<::minigptc::interpreter::Tensor> *>":$results)>];
}

class Dist_Collective<string mnemonic, dag extra, string format, list<string> own = []> : Dist_Op<mnemonic,
    [Pure, DeclareOpInterfaceMethods<CollectiveOp, !listconcat(["getBytesSent", "createJoined"], own)>,
     Dist_UsesSymbols, DeclareOpInterfaceMethods<DifferentiableOp>]> {
  let arguments = !con((ins Variadic<Graph_Tensor>:$inputs, FlatSymbolRefAttr:$mesh, StrArrayAttr:$axes), extra);
  let results = (outs Variadic<Graph_Tensor>:$outputs);
  let assemblyFormat = "$inputs `over` $mesh $axes " # format # " attr-dict `:` functional-type($inputs, $outputs)";
}

def Dist_AllGatherOp : Dist_Collective<"all_gather", (ins DenseI64ArrayAttr:$dims), "`dims` `=` $dims"> {
  let summary = "the devices' parts, one after the other";
  let description = [{
    ```mlir
    %y = dist.all_gather %x over @mesh ["data"] dims = [0] : (tensor<2x4xf32>) -> tensor<8x4xf32>
    ```
  }];
}
def Dist_ReduceScatterOp : Dist_Collective<"reduce_scatter", (ins Graph_ReduceKindAttr:$combine, DenseI64ArrayAttr:$dims),
    "`combine` `=` custom<Keyword>($combine) `dims` `=` $dims", ["getCommonDetail"]> {
  let summary = "each device's part of the combined tensor";
  let description = [{
    Combined in the order of the devices.

    ```mlir
    %y = dist.reduce_scatter %x over @mesh ["data"] combine = sum dims = [0] : (tensor<8x4xf32>) -> tensor<2x4xf32>
    ```
  }];
}
def Dist_AllReduceOp : Dist_Collective<"all_reduce", (ins Graph_ReduceKindAttr:$combine), "`combine` `=` custom<Keyword>($combine)",
    ["getCommonDetail"]> {
  let summary = "the devices' tensors combined";
  let description = [{
    Combined in the order of the devices, so that all have the same bits.

    ```mlir
    %y = dist.all_reduce %x over @mesh ["data"] combine = sum : (tensor<8x4xf32>) -> tensor<8x4xf32>
    ```
  }];
}
def Dist_AllToAllOp : Dist_Collective<"all_to_all", (ins DenseI64ArrayAttr:$splitDims, DenseI64ArrayAttr:$concatDims),
    "`split` `=` $splitDims `concat` `=` $concatDims"> {
  let summary = "cuts along one dimension instead of another";
  let description = [{
    Part r along `split` goes to device r, which puts those that it gets one after the
    other along `concat`.

    ```mlir
    %y = dist.all_to_all %x over @mesh ["data"] split = [1] concat = [0] : (tensor<2x4xf32>) -> tensor<8x1xf32>
    ```
  }];
}
def Dist_CollectivePermuteOp : Dist_Collective<"collective_permute", (ins DenseI64ArrayAttr:$sources),
    "`sources` `=` $sources", ["getCommonDetail"]> {
  let summary = "each device gets the tensor of another";
  let description = [{
    Device i of a group gets the tensor of device `sources[i]`, or zeros where that is -1.

    ```mlir
    %y = dist.collective_permute %x over @mesh ["data"] sources = [3, 0, 1, 2] : (tensor<2x4xf32>) -> tensor<2x4xf32>
    ```
  }];
}
def Dist_AllSliceOp : Dist_Collective<"all_slice", (ins DenseI64ArrayAttr:$dims), "`dims` `=` $dims", ["hasToWait"]> {
  let summary = "this device's part of a tensor that all have";
  let description = [{
    Sends nothing.

    ```mlir
    %y = dist.all_slice %x over @mesh ["data"] dims = [0] : (tensor<8x4xf32>) -> tensor<2x4xf32>
    ```
  }];
}

def Dist_AxisIndexOp : Dist_Op<"axis_index", [Pure, Dist_UsesSymbols]> {
  let summary = "this device's coordinate along axes, major to minor";
  let description = [{
    The one op whose value differs between devices that hold the same.

    ```mlir
    %i = dist.axis_index @mesh ["data", "tensor"] : tensor<i64>
    ```
  }];
  let arguments = (ins FlatSymbolRefAttr:$mesh, StrArrayAttr:$axes);
  let results = (outs StaticShapeTensorOf<[I64]>:$result);
  let assemblyFormat = "$mesh $axes attr-dict `:` type($result)";
}

def Dist_VaryOp : Dist_Op<"vary", [Pure, AllTypesMatch<["input", "result"]>, Dist_UsesSymbols,
    DeclareOpInterfaceMethods<DifferentiableOp>, DeclareOpInterfaceMethods<FusibleOp>]> {
  let summary = "a value that is the same on all devices, as one that may differ";
  let description = [{
    In the function of a `dist.manual`. Moves nothing; its cotangent is the sum of the devices',
    and so it says where a gradient is summed: where a value that is the same along `axes`
    meets one that is not. The partitioner erases it.

    ```mlir
    %y = dist.vary %x over @mesh ["data"] : tensor<2x4xf32>
    ```
  }];
  let arguments = (ins Graph_Tensor:$input, FlatSymbolRefAttr:$mesh, StrArrayAttr:$axes);
  let results = (outs Graph_Tensor:$result);
  let assemblyFormat = "$input `over` $mesh $axes attr-dict `:` type($input)";
}

def Dist_WaitOp : Dist_Op<"wait", [Pure, DeclareOpInterfaceMethods<InferTypeOpInterface>]> {
  let summary = "the results of a collective that was started before";
  let description = [{
    A collective with `dist.started` goes on beside the ops behind it: until this op, which has
    all of its results, in order, nobody reads them, and its operands are in use. Nothing
    but a wait, in the same block, uses what a started collective gives.

    ```mlir
    %y = dist.all_gather %x over @mesh ["data"] dims = [0] {dist.started} : (tensor<2x4xf32>) -> tensor<8x4xf32>
    …
    %z = dist.wait %y : tensor<8x4xf32>
    ```
  }];
  let arguments = (ins Variadic<Graph_Tensor>:$inputs);
  let results = (outs Variadic<Graph_Tensor>:$outputs);
  let assemblyFormat = "$inputs attr-dict `:` type($inputs)";
  let hasVerifier = 1;
}

def Dist_TransferOp : Dist_Op<"transfer", [Pure, AllTypesMatch<["input", "result"]>,
    DeclareOpInterfaceMethods<ShardingRuleOp>]> {
  let summary = "the same value on another stage of a pipeline";
  let description = [{
    Stage s: the devices whose coordinate along the mesh's axis `stage` is s. In an entry function
    that has these ops, everything else happens on one stage, that of its operands, or on every
    stage that needs it; see `--dist-project-stages`. Both sides have the same sharding, so that each
    device sends its part to the one with the same coordinates along the other axes.

    ```mlir
    %y = dist.transfer %x from 0 to 1 : tensor<8x4xf32>
    ```
  }];
  let arguments = (ins Graph_Tensor:$input, I64Attr:$from, I64Attr:$to);
  let results = (outs Graph_Tensor:$result);
  let assemblyFormat = "$input `from` $from `to` $to attr-dict `:` type($input)";
  let hasVerifier = 1;
}

def Dist_ShareOp : Dist_Op<"share", [Pure, AllTypesMatch<["input", "result"]>,
    DeclareOpInterfaceMethods<ShardingRuleOp>]> {
  let summary = "a stage's value on every stage that reads it";
  let description = [{
    As `dist.transfer`, but the result is on no stage of its own: it is there wherever it is
    read, and so is what is made of it. Stages that do not read it get no message.

    ```mlir
    %y = dist.share %x from 1 : tensor<f32>
    ```
  }];
  let arguments = (ins Graph_Tensor:$input, I64Attr:$from);
  let results = (outs Graph_Tensor:$result);
  let assemblyFormat = "$input `from` $from attr-dict `:` type($input)";
}

def Dist_SendOp : Dist_Op<"send", [MemoryEffects<[MemRead, MemWrite]>]> {
  let summary = "sends this device's part to a stage";
  let description = [{
    In an entry of one stage: to the device of stage `to` with the same coordinates along the other
    axes. There is one `dist.recv` with its tag in the entries of the same program. What one stage
    sends to another is received in the order in which it is sent; a message may wait there
    for the next to be received.

    ```mlir
    dist.send %x to 1 tag = 3 : tensor<2x4xf32>
    ```
  }];
  let arguments = (ins Graph_Tensor:$input, I64Attr:$to, I64Attr:$tag);
  let assemblyFormat = "$input `to` $to `tag` `=` $tag attr-dict `:` type($input)";
}

def Dist_RecvOp : Dist_Op<"recv", [MemoryEffects<[MemRead, MemWrite]>]> {
  let summary = "receives what a device of another stage sends";
  let description = [{
    ```mlir
    %y = dist.recv from 0 tag = 3 : tensor<2x4xf32>
    ```
  }];
  let arguments = (ins I64Attr:$from, I64Attr:$tag);
  let results = (outs Graph_Tensor:$result);
  let assemblyFormat = "`from` $from `tag` `=` $tag attr-dict `:` type($result)";
}

def Dist_AbsentOp : Dist_Op<"absent", [Pure]> {
  let summary = "what other stages return, and this one does not";
  let description = [{
    Only returned, by an entry of one stage: the result has no memory there.

    ```mlir
    %y = dist.absent : tensor<2x4xf32>
    ```
  }];
  let results = (outs Graph_Tensor:$result);
  let assemblyFormat = "attr-dict `:` type($result)";
  let hasVerifier = 1;
}

def Dist_ManualOp : Dist_Op<"manual", [Graph_PureUnlessPrinting, Dist_UsesSymbols, DeclareOpInterfaceMethods<MappedCallOp>,
    DeclareOpInterfaceMethods<ShardingRuleOp>]> {
  let summary = "a function of one device's parts, with collectives of the user's own";
  let description = [{
    `shard_map`: every device calls the private function `callee` on its parts of the operands,
    cut as `in` says, and what the devices return are the parts of the results, cut as `out`
    says. The types of the function are local, those of the op global. In the function, and
    in those that it calls, devices talk through collectives over the mesh's axes, all of which
    are manual there; `callee` has no `dist.manual` of its own. Parts are equal: a cut dimension
    is a multiple of its number of parts.

    Along an axis that `out` does not use, all devices must return the same: the frontend
    refuses what does not follow from the operands and collectives, this op believes it, and the
    interpreter reports a difference. A value is the same along an axis if nothing that it is made of
    differs: operands differ along the axes of their `in`, `dist.axis_index` along its own;
    `all_reduce` and `all_gather` make it the same along theirs. Where such a value meets a float that
    differs, and takes part in a derivative, it passes a `dist.vary` before. The cotangent of a value
    that is the same along an axis is then whole on each device, that of one that differs is each
    device's own, so that no derivative needs a sum or a quotient at the border.

    ```mlir
    func.func private @body(%x: tensor<2x4xf32>) -> tensor<2x4xf32> {
      %0 = dist.all_reduce %x over @mesh ["data"] combine = sum : (tensor<2x4xf32>) -> tensor<2x4xf32>
      …
    %y = dist.manual @body(%x) over @mesh in = [#dist.sharding<@mesh, [{"data"}, {} ]>]
        out = [#dist.sharding<@mesh, [{}, {} ]>] : (tensor<8x4xf32>) -> tensor<2x4xf32>
    ```
  }];
  let arguments = (ins FlatSymbolRefAttr:$callee, Variadic<Graph_Tensor>:$inputs, FlatSymbolRefAttr:$mesh,
      TypedArrayAttrBase<Dist_ShardingAttr, "shardings">:$inShardings,
      TypedArrayAttrBase<Dist_ShardingAttr, "shardings">:$outShardings);
  let results = (outs Variadic<Graph_Tensor>:$outputs);
  let assemblyFormat = [{
    $callee `(` $inputs `)` `over` $mesh `in` `=` $inShardings `out` `=` $outShardings attr-dict
    `:` functional-type($inputs, $outputs)
  }];
  let extraClassDeclaration = [{
    /// The axes that `in` or `out` use, ascending: each is a factor of the op's rule, of its number here.
    ::llvm::SmallVector<unsigned, 2> getUsedAxes(MeshAttr mesh);
  }];
}

#endif // MINIGPTC_DIST_OPS_TD
