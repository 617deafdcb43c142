//===- DistDialect.td - the `dist` dialect: tensors over devices ----------===//
#ifndef MINIGPTC_DIST_DIALECT_TD
#define MINIGPTC_DIST_DIALECT_TD

include "mlir/IR/OpBase.td"
include "mlir/IR/AttrTypeBase.td"

def Dist_Dialect : Dialect {
  let name = "dist";
  let cppNamespace = "::minigptc::dist";
  let summary = "meshes, shardings and collectives";
  let description = [{
    A mesh gives names to the dimensions of a set of devices; a sharding says which mesh
    axes cut each dimension of a tensor. Types stay what they are: shardings are
    attributes beside them, so that every op, fold and kernel is the same on one device
    and on many.

    | attribute | on | says |
    |---|---|---|
    | `dist.sharding` | argument or result of a function | its sharding |
    | `dist.stored` | argument of a function | its sharding is how it is stored between runs, and computes nothing; its name |
    | `dist.shardings` | an op | the shardings of its results |
    | `dist.factors` | an op | per factor of its rule, the axes that cut it |
    | `dist.origins` | an op with `dist.factors`, a reshard, a collective | whence that came |
    | `dist.again` | collective | how many equal ones of the same operands stand before it |
    | `dist.started` | collective of stage `schedule` | it is only started there; a `dist.wait` has its results |
    | `dist.overlap` | module | stage `schedule` puts collectives beside compute |
    | `dist.bucket_bytes` | module | the bytes of a bucket's operands, at most |
    | `dist.local` | a function | a `dist.manual` calls it, directly or through others: its types are local before `spmd`, too |
    | `dist.pipeline` | module | how micro-batches go through stages: a dictionary of `schedule` and `chunks` |
    | `dist.stage` | an op of an entry function | the stage of a pipeline on which it happens |
    | `dist.stage`, `dist.stage_of` | from stage `spmd` on, a function | it is that stage's part of the entry of that name |
    | `dist.task` | a call in an entry | it is a micro-batch's way through a piece: a dictionary of `phase`, `piece` and `micro_batch` |
    | `dist.layer` | a call in a task's function | it is one of the model's layers, for a profile |
    | `dist.stages` | argument or result of an entry | the stages that have it, ascending; without: all |
    | `dist.global_type` | from stage `spmd` on, argument or result of an entry | the whole tensor's type |

    In stages `trace` to `step` they are annotations, of arguments and results of entry
    functions only. From stage `shard` on every value has one, and a use that needs
    another has a `dist.reshard`; ops still have global types. In stage `spmd` the types are those
    of one device, and reshards are collectives.

    `dist.sharding` of an annotated value is checked against its type and mesh. At
    `shard`, an op's operands and results must be sharded as its factors say, and a
    partial value may only go where its sum may be delayed:

    - a collective consumes it, a function may take and give it (but no entry function);
    - an op that is linear in it carries it on: the result is partial over the same axes;
    - anything else refuses it, as it refuses partial · partial and partial + whole.
  }];
  let useDefaultAttributePrinterParser = 1;
  let hasOperationAttrVerify = 1;
  let hasRegionArgAttrVerify = 1;
  let hasRegionResultAttrVerify = 1;
  let dependentDialects = ["::minigptc::graph::GraphDialect"];
  let extraClassDeclaration = "void registerAttributes();";
}

class Dist_Attr<string name, string attrMnemonic> : AttrDef<Dist_Dialect, name> {
  let mnemonic = attrMnemonic;
}

def Dist_MeshAttr : Dist_Attr<"Mesh", "mesh"> {
  let summary = "named axes and their sizes, major to minor";
  let description = [{
    Device number d has coordinate (d / size of all later axes) mod size along an axis.

    ```mlir
    #dist.mesh<["data"=4, "tensor"=2]>
    ```
  }];
  let parameters = (ins ArrayRefParameter<"::mlir::StringAttr">:$names, ArrayRefParameter<"int64_t">:$sizes);
  let hasCustomAssemblyFormat = 1;
  let genVerifyDecl = 1;
  let extraClassDeclaration = [{
    int64_t getNumDevices() const;
    /// The number of an axis, if there is one of that name.
    std::optional<unsigned> find(::llvm::StringRef name) const;
    /// The product of the axes' sizes.
    int64_t getSize(::llvm::ArrayRef<unsigned> axes) const;
  }];
}

def Dist_ShardingAttr : Dist_Attr<"Sharding", "sharding"> {
  let summary = "which axes of a mesh cut each dimension of a tensor";
  let description = [{
    Per dimension a list of axes, major to minor; a `?` at its end lets propagation add
    more (open). `replicated` axes may not be added to any dimension. `partial`: the
    tensor is the sum (max, min, …) of what the devices along these axes hold.

    Part i of a dimension of n elements, cut into k, is the elements from i·⌈n/k⌉ on, at most
    ⌈n/k⌉ of them; where k does not divide n the last parts are filled up with
    elements that mean nothing.

    ```mlir
    #dist.sharding<@mesh, [{"data"}, {"tensor", ?}, {} ], replicated = ["x"], partial = sum ["y"]>
    ```
  }];
  let parameters = (ins "::mlir::FlatSymbolRefAttr":$mesh,
      ArrayRefParameter<"::mlir::ArrayAttr">:$dims, ArrayRefParameter<"bool">:$open,
      ArrayRefParameter<"::mlir::StringAttr">:$replicated,
      ArrayRefParameter<"::mlir::StringAttr">:$partial,
      "::minigptc::graph::ReduceKind":$combine);
  let hasCustomAssemblyFormat = 1;
  let genVerifyDecl = 1;
}

def Dist_OriginAttr : Dist_Attr<"Origin", "origin"> {
  let summary = "whence a sharding or a collective came";
  let description = [{
    `why`: a clause for people ("the rows of %0 are summed over 'tensor'"); `annotation`: the
    annotation that led to it, with its place ("'layers.0.ffn.w2.weight' P('tensor', None)"); `instead`: the
    annotation that would remove it, or empty; `tensor`: the name of what is moved, or empty.
  }];
  let parameters = (ins StringRefParameter<>:$why, StringRefParameter<>:$annotation,
      StringRefParameter<>:$instead, StringRefParameter<>:$tensor);
  let assemblyFormat = "`<` struct(params) `>`";
}

#endif // MINIGPTC_DIST_DIALECT_TD
