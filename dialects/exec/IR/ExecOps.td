//===- ExecOps.td - instructions ------------------------------------------===//
#ifndef MINIGPTC_EXEC_OPS_TD
#define MINIGPTC_EXEC_OPS_TD

include "dialects/exec/IR/ExecDialect.td"
include "mlir/IR/EnumAttr.td"

def Exec_BlockOp : Exec_Op<"block", [FunctionOpInterface, IsolatedFromAbove, SingleBlock, Symbol]> {
  let summary = "a sequence of instructions over one frame";
  let description = [{
    Arguments: `numInputs` inputs, then the outputs. `frameSize` bytes (a multiple
    of 64) are handed to it by its caller, aligned to 64. An entry block has the
    attribute `graph.entry` and the argument attributes of the entry function
    (`graph.name`, `graph.donate`: this input's buffer is also that output's).

    ```mlir
    exec.block @step(%x: memref<4xf32>, %y: memref<4xf32>) inputs 1 frame 64 {
      %t = exec.frame 0 : memref<4xf32>
      exec.launch @k ins(%x : memref<4xf32>) outs(%t : memref<4xf32>)
      exec.copy %t to %y : memref<4xf32>
      exec.return
    }
    ```
  }];
  let arguments = (ins SymbolNameAttr:$sym_name, TypeAttrOf<FunctionType>:$function_type,
      I64Attr:$numInputs, I64Attr:$frameSize,
      OptionalAttr<DictArrayAttr>:$arg_attrs, OptionalAttr<DictArrayAttr>:$res_attrs);
  let regions = (region SizedRegion<1>:$body);
  let hasCustomAssemblyFormat = 1;
  let hasVerifier = 1;
  let extraClassDeclaration = [{
    ::llvm::ArrayRef<::mlir::Type> getArgumentTypes() { return getFunctionType().getInputs(); }
    ::llvm::ArrayRef<::mlir::Type> getResultTypes() { return getFunctionType().getResults(); }
    ::mlir::Region *getCallableRegion() { return &getBody(); }
  }];
}

def Exec_FrameOp : Exec_Op<"frame", [Pure]> {
  let summary = "a buffer at a byte offset of the frame";
  let description = [{
    The offset is a multiple of 64. Buffers of a frame may overlap where their
    lifetimes do not.

    ```mlir
    %t = exec.frame 64 : memref<4xf32>
    ```
  }];
  let arguments = (ins I64Attr:$offset);
  let results = (outs AnyMemRef:$result);
  let assemblyFormat = "$offset attr-dict `:` type($result)";
  let hasVerifier = 1;
}

def Exec_ConstantOp : Exec_Op<"constant", [Pure]> {
  let summary = "a read-only buffer with given contents";
  let description = [{
    ```mlir
    %c = exec.constant dense<1.0> : tensor<4xf32> : memref<4xf32>
    ```
  }];
  let arguments = (ins ElementsAttr:$value);
  let results = (outs AnyMemRef:$result);
  let assemblyFormat = "$value attr-dict `:` type($result)";
  let hasVerifier = 1;
}

def Exec_ViewOp : Exec_Op<"view", [Pure]> {
  let summary = "the same bytes as another type (a reshape)";
  let description = [{
    ```mlir
    %v = exec.view %t : memref<4xf32> to memref<2x2xf32>
    ```
  }];
  let arguments = (ins AnyMemRef:$source);
  let results = (outs AnyMemRef:$result);
  let assemblyFormat = "$source attr-dict `:` type($source) `to` type($result)";
  let hasVerifier = 1;
}

def Exec_LaunchOp : Exec_Op<"launch", [AttrSizedOperandSegments, DeclareOpInterfaceMethods<SymbolUserOpInterface>]> {
  let summary = "runs a kernel";
  let description = [{
    `kernel` is a function marked `exec.kernel` with graph ops: its arguments are
    the inputs' values, its results are written to the outputs. An output may be
    an input's buffer only where the kernel reads each element before it writes it.

    ```mlir
    exec.launch @kernel ins(%x : memref<4xf32>) outs(%y : memref<4xf32>)
    ```
    With `groups` the kernel is run so often, in any order or at once, as one grid of work
    items over many buffers: the inputs are those of group 0, of group 1, …, so are the outputs.
    No group touches memory that another one writes.

    ```mlir
    exec.launch @kernel groups = 2 ins(%a, %b : memref<4xf32>, memref<4xf32>)
        outs(%c, %d : memref<4xf32>, memref<4xf32>)
    ```
  }];
  let arguments = (ins FlatSymbolRefAttr:$kernel, DefaultValuedAttr<I64Attr, "1">:$groups,
      Variadic<AnyMemRef>:$inputs, Variadic<AnyMemRef>:$outputs);
  let assemblyFormat = "$kernel (`groups` `=` $groups^)? `ins` `(` ($inputs^ `:` type($inputs))? `)` `outs` `(` $outputs `:` type($outputs) `)` attr-dict";
}

// The order is that of runtime/hal/Gemm.h.
def Exec_Epilogue : I32EnumAttr<"Epilogue", "what a product does beside", [
    I32EnumAttrCase<"none", 0>, I32EnumAttrCase<"bias", 1>, I32EnumAttrCase<"sums", 2>]> {
  let cppNamespace = "::minigptc::exec";
}

def Exec_GemmOp : Exec_Op<"gemm"> {
  let summary = "batched C = A·B + beta·C";
  let description = [{
    Over `batch` = [B0, B1, …] (may be empty), C[m, n] (M×N) gets A[m, k]·B[k, n].
    An element of an operand is at Σ batch index · batch stride + row · strides[0]
    + column · strides[1], in elements. Operands are f32 or f64; in a
    product of f32 each may be bf16 instead: it is widened where it is read, and C is
    rounded once, from sums in f32 (with a beta of 0). With `tf32` operands of f32 may be
    rounded to TF32 first.

    An epilogue has a vector of C's type (no batch, a beta of 0, and rows of C one after the
    other): with `bias` C[m, n] gets A[m, k]·B[k, n] + vector[n], with `sums` vector[n] gets the sum
    of B[k, n] over k.

    ```mlir
    exec.gemm %a [4, 1] [12] x %b [5, 1] [20] into %c [5, 1] [15] m = 3 n = 5 k = 4 batch = [2]
        : memref<2x3x4xf32>, memref<2x4x5xf32>, memref<2x3x5xf32>
    ```
  }];
  let arguments = (ins AnyMemRef:$lhs, AnyMemRef:$rhs, AnyMemRef:$out,
      Optional<AnyMemRef>:$vector,
      I64Attr:$m, I64Attr:$n, I64Attr:$k, DenseI64ArrayAttr:$batch,
      DenseI64ArrayAttr:$lhsStrides, DenseI64ArrayAttr:$rhsStrides, DenseI64ArrayAttr:$outStrides,
      DenseI64ArrayAttr:$lhsBatchStrides, DenseI64ArrayAttr:$rhsBatchStrides,
      DenseI64ArrayAttr:$outBatchStrides, DefaultValuedAttr<F64Attr, "0.0">:$beta, UnitAttr:$tf32,
      DefaultValuedAttr<Exec_Epilogue, "::minigptc::exec::Epilogue::none">:$epilogue);
  let assemblyFormat = [{
    $lhs $lhsStrides $lhsBatchStrides `x` $rhs $rhsStrides $rhsBatchStrides `into` $out $outStrides $outBatchStrides
    `m` `=` $m `n` `=` $n `k` `=` $k `batch` `=` $batch (`beta` `=` $beta^)? (`tf32` $tf32^)?
    ($epilogue^ `(` $vector `:` type($vector) `)`)? attr-dict
    `:` type($lhs) `,` type($rhs) `,` type($out)
  }];
  let hasVerifier = 1;
}

def Exec_CallOp : Exec_Op<"call", [AttrSizedOperandSegments, DeclareOpInterfaceMethods<SymbolUserOpInterface>]> {
  let summary = "runs another block with its frame at an offset of this one's";
  let description = [{
    The callee writes its outputs and uses as many bytes of this frame, from
    `frame` on, as its own frame has.

    ```mlir
    exec.call @layer ins(%x : memref<4xf32>) outs(%y : memref<4xf32>) frame 128
    ```
    With a `count` the call is made as often, one after the other; in call k operand i
    begins k · `strides[i]` bytes further on (a multiple of 64; 0: always the same). With `reverse`
    the calls come in the other order: the last parts first.

    ```mlir
    exec.call @rows ins(%w, %x : memref<4xf32>, memref<64x4xf32>) outs(%y : memref<64x4xf32>) frame 0
        count = 4 strides = [0, 256, 256] // rows: 16x4
    ```
  }];
  let arguments = (ins FlatSymbolRefAttr:$callee, Variadic<AnyMemRef>:$inputs, Variadic<AnyMemRef>:$outputs, I64Attr:$frame,
      DefaultValuedAttr<I64Attr, "1">:$count, OptionalAttr<DenseI64ArrayAttr>:$strides,
      UnitAttr:$reverse);
  let assemblyFormat = [{
    $callee `ins` `(` ($inputs^ `:` type($inputs))? `)` `outs` `(` ($outputs^ `:` type($outputs))? `)` `frame` $frame
    (`count` `=` $count^ `strides` `=` $strides (`reverse` $reverse^)?)? attr-dict
  }];
}

def Exec_BranchOp : Exec_Op<"branch", [AttrSizedOperandSegments, DeclareOpInterfaceMethods<SymbolUserOpInterface>]> {
  let summary = "runs one of two blocks";
  let description = [{
    The host reads the predicate, and calls `onTrue` if it is true, else `onFalse`, as
    `exec.call` does. The frame is large enough for both.

    ```mlir
    exec.branch %p then @double else @negate ins(%x : memref<4xf32>) outs(%y : memref<4xf32>) frame 128
    ```
  }];
  let arguments = (ins AnyMemRef:$predicate, FlatSymbolRefAttr:$onTrue, FlatSymbolRefAttr:$onFalse,
      Variadic<AnyMemRef>:$inputs, Variadic<AnyMemRef>:$outputs, I64Attr:$frame);
  let assemblyFormat = [{
    $predicate `then` $onTrue `else` $onFalse `ins` `(` ($inputs^ `:` type($inputs))? `)` `outs` `(` ($outputs^ `:` type($outputs))? `)`
    `frame` $frame attr-dict `:` type($predicate)
  }];
}

def Exec_WhileOp : Exec_Op<"while", [AttrSizedOperandSegments, DeclareOpInterfaceMethods<SymbolUserOpInterface>]> {
  let summary = "runs a block as long as another one says so";
  let description = [{
    Calls `condition` with the inputs, which writes `predicate`; if that is true, calls `body`
    with the inputs and outputs, and so on. What is carried lies in the outputs, which are the
    last of the inputs. The frame is large enough for both.

    ```mlir
    exec.while @too_large @halve ins(%limit, %x : memref<f32>, memref<4xf32>) outs(%x : memref<4xf32>)
        predicate %p frame 128 : memref<i1>
    ```
  }];
  let arguments = (ins FlatSymbolRefAttr:$condition, FlatSymbolRefAttr:$body,
      Variadic<AnyMemRef>:$inputs, Variadic<AnyMemRef>:$outputs, AnyMemRef:$predicate, I64Attr:$frame);
  let assemblyFormat = [{
    $condition $body `ins` `(` ($inputs^ `:` type($inputs))? `)` `outs` `(` ($outputs^ `:` type($outputs))? `)`
    `predicate` $predicate `frame` $frame attr-dict `:` type($predicate)
  }];
}

def Exec_ScalarsOp : Exec_Op<"scalars", [AttrSizedOperandSegments, DeclareOpInterfaceMethods<SymbolUserOpInterface>]> {
  let summary = "evaluates a host scalar program";
  let description = [{
    `program` is a function marked `graph.host`. Inputs are scalar buffers that
    the host reads before the step, outputs scalar buffers that it writes.

    ```mlir
    exec.scalars @schedule ins(%n : memref<i64>) outs(%rate : memref<f32>)
    ```
  }];
  let arguments = (ins FlatSymbolRefAttr:$program, Variadic<AnyMemRef>:$inputs, Variadic<AnyMemRef>:$outputs);
  let assemblyFormat = "$program `ins` `(` ($inputs^ `:` type($inputs))? `)` `outs` `(` $outputs `:` type($outputs) `)` attr-dict";
}

def Exec_CopyOp : Exec_Op<"copy"> {
  let summary = "copies a buffer";
  let description = [{
    ```mlir
    exec.copy %x to %y : memref<4xf32>, memref<4xf32>
    ```
  }];
  let arguments = (ins AnyMemRef:$source, AnyMemRef:$target);
  let assemblyFormat = "$source `to` $target attr-dict `:` type($source) `,` type($target)";
  let hasVerifier = 1;
}

def Exec_CollectiveKind : I32EnumAttr<"CollectiveKind", "what devices do together", [
    I32EnumAttrCase<"all_gather", 0>, I32EnumAttrCase<"reduce_scatter", 1>, I32EnumAttrCase<"all_reduce", 2>,
    I32EnumAttrCase<"all_to_all", 3>, I32EnumAttrCase<"permute", 4>]> {
  let cppNamespace = "::minigptc::exec";
}
/// In the order of graph's `ReduceKind`.
def Exec_Combine : I32EnumAttr<"Combine", "how a collective combines", [
    I32EnumAttrCase<"sum", 0>, I32EnumAttrCase<"max", 1>, I32EnumAttrCase<"min", 2>, I32EnumAttrCase<"prod", 3>,
    I32EnumAttrCase<"any", 4>, I32EnumAttrCase<"all", 5>]> {
  let cppNamespace = "::minigptc::exec";
}

def Exec_CollectiveOp : Exec_Op<"collective", [SameVariadicOperandSize,
    DeclareOpInterfaceMethods<SymbolUserOpInterface>]> {
  let summary = "moves or combines buffers between the devices of a group";
  let description = [{
    A group: the devices that differ only in their coordinates along some axes of the
    mesh, given by strides (of device numbers) and sizes, major to minor; its n members are
    numbered so. All of them run this instruction; output i is that of input i.

    A device's *part* of operand i is `outer[i]` x `inner[i]` blocks of `block[i]` elements. A
    tensor of n parts is *major*, [outer, n, inner, block], or *minor*, [outer, inner, n, block].

    | kind | input | output |
    |---|---|---|
    | all_gather | a part | the members' parts, major |
    | reduce_scatter | n parts, major | this member's part, combined over all members |
    | all_reduce | a part | the members' parts combined; may be the input's buffer |
    | all_to_all | n parts: part r goes to member r | a part of each member; minor if the input is major (`fromMajor`), else major |
    | permute | a part | the part of member `sources[r]`, or zeros if that is -1 |

    Combined in the order of members, bf16 and f16 in f32 and then rounded once, so that all
    devices have the same bits.

    ```mlir
    exec.collective all_gather over [2] [4] ins(%x : memref<2x4xf32>) outs(%y : memref<8x4xf32>)
        outer = [1] inner = [1] block = [8]
    ```
    With a token it is only started, and goes on beside the instructions behind it, up to the
    `exec.wait` of the token, one in the same block. Until then none of them writes what it reads,
    or touches what it writes.
  }];
  let arguments = (ins Exec_CollectiveKind:$kind, DenseI64ArrayAttr:$strides, DenseI64ArrayAttr:$sizes,
      OptionalAttr<Exec_Combine>:$combine, Variadic<AnyMemRef>:$inputs, Variadic<AnyMemRef>:$outputs,
      DenseI64ArrayAttr:$outer, DenseI64ArrayAttr:$inner, DenseI64ArrayAttr:$block,
      OptionalAttr<DenseBoolArrayAttr>:$fromMajor, OptionalAttr<DenseI64ArrayAttr>:$sources);
  let results = (outs Optional<Exec_Token>:$token);
  let assemblyFormat = [{
    $kind `over` $strides $sizes (`combine` `=` $combine^)? `ins` `(` $inputs `:` type($inputs) `)` `outs` `(` $outputs `:` type($outputs) `)`
    `outer` `=` $outer `inner` `=` $inner `block` `=` $block (`from_major` `=` $fromMajor^)? (`sources` `=` $sources^)? (`->` type($token)^)? attr-dict
  }];
  let hasVerifier = 1;
  let extraClassDeclaration = [{
    /// Members of a group.
    int64_t getGroupSize();
    /// Null if it is done at once.
    WaitOp getWait();
  }];
}

def Exec_WaitOp : Exec_Op<"wait"> {
  let summary = "the end of what was started";
  let description = [{
    What is behind it comes after the collective that gave the token.

    ```mlir
    %t = exec.collective all_reduce over [1] [4] combine = sum ins(%x : memref<4xf32>) outs(%y : memref<4xf32>)
        outer = [1] inner = [1] block = [4] -> !exec.token
    exec.launch @other ins(%a : memref<4xf32>) outs(%b : memref<4xf32>)
    exec.wait %t : !exec.token
    ```
  }];
  let arguments = (ins Exec_Token:$token);
  let assemblyFormat = "$token attr-dict `:` type($token)";
  let extraClassDeclaration = [{
    /// What is waited for.
    CollectiveOp getStart();
  }];
}

def Exec_DeviceIndexOp : Exec_Op<"device_index"> {
  let summary = "writes this device's number in its group";
  let description = [{
    The group as in `exec.collective`.

    ```mlir
    exec.device_index [2] [4] to %i : memref<i64>
    ```
  }];
  let arguments = (ins DenseI64ArrayAttr:$strides, DenseI64ArrayAttr:$sizes, AnyMemRef:$target);
  let assemblyFormat = "$strides $sizes `to` $target attr-dict `:` type($target)";
  let hasVerifier = 1;
}

def Exec_PrintOp : Exec_Op<"print"> {
  let summary = "prints a line with the contents of buffers";
  let description = [{
    See `graph.print`. Of the devices of a group, as in `exec.collective`, the first one prints. Of
    an entry that all stages run alike the first stage prints.

    ```mlir
    exec.print ["loss ", ""] (%loss : memref<f32>) examples = 0 first of [1] [2]
    ```
  }];
  let arguments = (ins StrArrayAttr:$texts, Variadic<AnyMemRef>:$values, I64Attr:$examples,
      DenseI64ArrayAttr:$strides, DenseI64ArrayAttr:$sizes);
  let assemblyFormat = [{
    $texts (`(` $values^ `:` type($values) `)`)? `examples` `=` $examples `first` `of` $strides $sizes attr-dict
  }];
  let hasVerifier = 1;
}

def Exec_SendOp : Exec_Op<"send"> {
  let summary = "sends a buffer to a stage";
  let description = [{
    See `dist.send`. The buffer may be overwritten by what comes behind this instruction.

    ```mlir
    exec.send %x to 1 tag = 3 : memref<2x4xf32>
    ```
  }];
  let arguments = (ins AnyMemRef:$source, I64Attr:$to, I64Attr:$tag);
  let assemblyFormat = "$source `to` $to `tag` `=` $tag attr-dict `:` type($source)";
  let hasVerifier = 1;
}

def Exec_RecvOp : Exec_Op<"recv"> {
  let summary = "receives a buffer from a stage";
  let description = [{
    ```mlir
    exec.recv %y from 0 tag = 3 : memref<2x4xf32>
    ```
  }];
  let arguments = (ins AnyMemRef:$target, I64Attr:$from, I64Attr:$tag);
  let assemblyFormat = "$target `from` $from `tag` `=` $tag attr-dict `:` type($target)";
  let hasVerifier = 1;
}

def Exec_ReturnOp : Exec_Op<"return", [Pure, Terminator, HasParent<"BlockOp">]> {
  let summary = "the end of a block";
  let assemblyFormat = "attr-dict";
}

#endif // MINIGPTC_EXEC_OPS_TD
