//===- GraphInterfaces.td - what an op can say about itself ---------------===//
//
// No pass asks an op for its name: it asks for one of these. Interfaces marked
// [external] are attached from the folder that needs them, so that the dialect
// does not depend on interpreters or code generators.
//
//===----------------------------------------------------------------------===//
#ifndef MINIGPTC_GRAPH_INTERFACES_TD
#define MINIGPTC_GRAPH_INTERFACES_TD

include "mlir/IR/OpBase.td"

class Graph_Interface<string name> : OpInterface<name> {
  let cppNamespace = "::minigptc::graph";
}

def DifferentiableOp : Graph_Interface<"DifferentiableOp"> {
  let description = [{
    Builds the op's vector-Jacobian product at the builder's insertion point.
    Operands and results of the op may be read freely: what the backward pass
    reads is what the forward pass must save or recompute.
  }];
  let methods = [InterfaceMethod<[{
      `cotangents[i]` belongs to result i and is null where that result has no
      influence on what is differentiated. For every operand with `wanted[i]`,
      fill `operandCotangents[i]` (same type as the operand), or leave it null
      where the derivative is zero everywhere. Entries arrive null. Fails, with
      a diagnostic, only where the op has no derivative.
    }], "::llvm::LogicalResult", "buildVjp",
    (ins "::mlir::OpBuilder &":$builder,
         "::llvm::ArrayRef<::mlir::Value>":$cotangents,
         "::llvm::ArrayRef<bool>":$wanted,
         "::llvm::MutableArrayRef<::mlir::Value>":$operandCotangents)>];
}

def DecomposableOp : Graph_Interface<"DecomposableOp"> {
  let description = [{
    A composite op's meaning in primitive ops (or simpler composites).
  }];
  let methods = [InterfaceMethod<[{
      Emits the equivalent ops at the insertion point and gives one value per
      result, of the same types.
    }], "::llvm::SmallVector<::mlir::Value>", "decompose",
    (ins "::mlir::OpBuilder &":$builder)>];
}

def FusibleOp : Graph_Interface<"FusibleOp"> {
  let description = [{
    How an op behaves inside a fused kernel; its scalar body is `KernelOp`.

    | kind | result element depends on |
    |---|---|
    | elementwise | the operands' elements at the same index |
    | broadcast | no operand, or one element that many results share |
    | data_movement | one element of one operand at a computed index |
    | reduction | many elements along reduced dimensions |
    | opaque | anything: a library call or a loop nest of its own |
  }];
  let methods = [InterfaceMethod<"The op's kind.",
    "::minigptc::graph::FusionKind", "getFusionKind">];
}

def KernelOp : Graph_Interface<"KernelOp"> {
  let description = [{
    [external: compiler/conversion/GraphToLoops] The scalar code of one result
    element, shared by the CPU and the CUDA emitter. Emits `arith`, `math`,
    `scf` on scalars only.
  }];
  let methods = [InterfaceMethod<[{
      Emits the element of result `result` at `indices` (index values, one per
      dimension). `load(operand, indices)` gives an operand's element there.
      Signless, unsigned and float elements are all builtin scalars (`ui32`
      tensors appear as `i32` scalars).
    }], "::mlir::Value", "emitElement",
    (ins "::mlir::OpBuilder &":$builder, "unsigned":$result,
         "::mlir::ValueRange":$indices,
         "::llvm::function_ref<::mlir::Value(unsigned, ::mlir::ValueRange)>":$load)>];
}

def WholeKernelOp : Graph_Interface<"WholeKernelOp"> {
  let description = [{
    [external: compiler/target] A composite op that the target computes by loops
    of its own. Where `hasWholeKernel` says so it is not decomposed, and stands
    alone in its kernel.
  }];
  let methods = [
    InterfaceMethod<"Whether there is such a kernel for the op's types, sizes and masks.",
      "bool", "hasWholeKernel">,
    InterfaceMethod<"How the work is cut: a function of the op's attributes and types.",
      "::minigptc::graph::WholeKernelPlan", "planWholeKernel">,
    InterfaceMethod<[{
      Emits the code of the work items [begin, end) (index values). `buffers` are
      pointers to the operands and then the results, `scratch` to the plan's
      scratch memory, `vectorBits` the width of the machine's vectors; the bits of
      the results do not depend on it.
    }], "void", "emitWholeKernel",
    (ins "::mlir::OpBuilder &":$builder, "::mlir::ValueRange":$buffers, "::mlir::Value":$begin,
         "::mlir::Value":$end, "::mlir::Value":$scratch, "int64_t":$vectorBits)>];
}

def ReductionKernelOp : Graph_Interface<"ReductionKernelOp"> {
  let description = [{
    [external: compiler/conversion/GraphToLoops] An op whose element combines
    many elements of operand 0; the operand's dimensions that are not reduced are
    the result's, in order. An emitter that knows it can choose the loop order.
  }];
  let methods = [
    InterfaceMethod<"The dimensions of operand 0 that disappear, ascending.",
      "::llvm::SmallVector<int64_t>", "getReducedDims">,
    InterfaceMethod<"The scalar that combining starts with.", "::mlir::Value",
      "emitNeutral", (ins "::mlir::OpBuilder &":$builder)>,
    InterfaceMethod<"Combines what was accumulated with one more element.",
      "::mlir::Value", "emitCombine", (ins "::mlir::OpBuilder &":$builder,
      "::mlir::Value":$accumulated, "::mlir::Value":$element)>];
}

def ScatterKernelOp : Graph_Interface<"ScatterKernelOp"> {
  let description = [{
    [external: compiler/conversion/GraphToLoops] An op whose result is operand 0
    with slices of the last operand combined into it at computed places, in
    row-major order. Leading dimensions of the updates number the slices; the
    others are the result's dimensions that are not placed, in order.
  }];
  let methods = [
    InterfaceMethod<"The result's dimensions whose index is computed.",
      "::llvm::SmallVector<int64_t>", "getPlacedDims">,
    InterfaceMethod<[{
      The computed index per placed dimension, as index values, for the slice of
      that number. An index out of range drops the slice.
    }], "::llvm::SmallVector<::mlir::Value>", "emitPlace",
    (ins "::mlir::OpBuilder &":$builder, "::mlir::ValueRange":$slice,
         "::llvm::function_ref<::mlir::Value(unsigned, ::mlir::ValueRange)>":$load)>,
    InterfaceMethod<"Combines the element that is there with an update.",
      "::mlir::Value", "emitCombine", (ins "::mlir::OpBuilder &":$builder,
      "::mlir::Value":$old, "::mlir::Value":$update)>];
}

def BlockKernelOp : Graph_Interface<"BlockKernelOp"> {
  let description = [{
    [external: compiler/conversion/GraphToLoops] An op whose result is operand 0
    with a block of it replaced by operand 1, which has as many dimensions. A
    kernel whose result has operand 0's memory writes the block and nothing else.
  }];
  let methods = [InterfaceMethod<[{
      The index per dimension, as index values, at which the block starts; all of
      it lies inside the result.
    }], "::llvm::SmallVector<::mlir::Value>", "emitStart",
    (ins "::mlir::OpBuilder &":$builder,
         "::llvm::function_ref<::mlir::Value(unsigned, ::mlir::ValueRange)>":$load)>];
}

def InstructionOp : Graph_Interface<"InstructionOp"> {
  let description = [{
    [external: compiler/conversion/GraphToExec] How an op that stays between
    kernels becomes an `exec` instruction.

    | kind | the op's results are |
    |---|---|
    | compute | written by an instruction at the op's place |
    | view | the memory of operand 0 |
    | host | written by the host before the block runs |
  }];
  let methods = [
    InterfaceMethod<"The op's kind.", "::minigptc::graph::InstructionKind", "getInstructionKind">,
    InterfaceMethod<[{
      Emits the instruction that reads the buffers `inputs`, one per operand, and
      writes `outputs`, one per result; fails, with a diagnostic, if there is
      none. Not called for views.
    }], "::llvm::LogicalResult", "emitInstruction",
    (ins "::mlir::OpBuilder &":$builder, "::mlir::ValueRange":$inputs, "::mlir::ValueRange":$outputs)>,
    InterfaceMethod<[{
      The operand from which a result continues in place: if it dies at this op, the
      result takes over its memory; else the instruction copies it first.
    }], "std::optional<unsigned>", "getOperandInPlace", (ins "unsigned":$result), "",
      [{ return std::nullopt; }]>];
}

def LoopOp : Graph_Interface<"LoopOp"> {
  let description = [{
    An op that calls a private function a fixed number of times; it becomes one
    repeated call of the function's block. The function's arguments are the op's
    operands, its results the op's results, where cut ones are one part of `trip
    count` along dimension 0, another in each call. A carried argument is the result
    of the call before, in the same memory (`graph.donate`).
  }];
  let methods = [
    InterfaceMethod<"The function.", "::mlir::FlatSymbolRefAttr", "getLoopBody">,
    InterfaceMethod<"Takes another function of the same types.", "void", "setLoopBody",
      (ins "::mlir::FlatSymbolRefAttr":$body)>,
    InterfaceMethod<"The number of calls, at least one.", "int64_t", "getTripCount">,
    InterfaceMethod<"Whether the first call gets the last parts.", "bool", "isReversed">,
    InterfaceMethod<"The operand with which a carried result starts, or nothing.",
      "std::optional<unsigned>", "getCarriedOperand", (ins "unsigned":$result)>,
    InterfaceMethod<"Whether a call gets a part of this operand.", "bool", "isCutOperand",
      (ins "unsigned":$operand)>,
    InterfaceMethod<"Whether a call makes a part of this result.", "bool", "isCutResult",
      (ins "unsigned":$result)>];
}

def MappedCallOp : Graph_Interface<"MappedCallOp"> {
  let description = [{
    An op that calls a function on other tensors than its operands: on this device's
    parts of them (`dist.manual`). A map, an attribute of the op's own dialect, says how an
    operand or a result becomes the function's. Derivatives are mapped calls of the
    function's derivatives.
  }];
  let methods = [
    InterfaceMethod<"The function.", "::mlir::FlatSymbolRefAttr", "getMappedCallee">,
    InterfaceMethod<"The map of each operand.", "::mlir::ArrayAttr", "getOperandMaps">,
    InterfaceMethod<"The map of each result.", "::mlir::ArrayAttr", "getResultMaps">,
    InterfaceMethod<[{
        Calls another function of the module in the same way, with these maps: one per operand and
        per result of the function. Null is that of a tensor, of one dimension or more, that one
        such call hands over to another: whatever each device holds. The op itself may be in no
        module.
      }], "::mlir::Operation *", "callMapped",
      (ins "::mlir::OpBuilder &":$builder, "::mlir::func::FuncOp":$callee,
           "::mlir::ValueRange":$operands, "::llvm::ArrayRef<::mlir::Attribute>":$operandMaps,
           "::llvm::ArrayRef<::mlir::Attribute>":$resultMaps)>];
}

def HostOp : Graph_Interface<"HostOp"> {
  let description = [{
    [external: compiler/target] A scalar op that a `graph.host` function may hold:
    it becomes instructions that the runtime evaluates in f64 (i1 is 0 or 1).
  }];
  let methods = [InterfaceMethod<[{
      Appends instructions through `emit(opcode, registers)`, which gives the
      register written, and returns the register of the result. The opcode is one
      of the artifact's `ScalarOp`.
    }], "uint32_t", "emitHost",
    (ins "::llvm::ArrayRef<uint32_t>":$operands,
         "::llvm::function_ref<uint32_t(uint8_t, ::llvm::ArrayRef<uint32_t>)>":$emit)>];
}

def EvaluableOp : Graph_Interface<"EvaluableOp"> {
  let description = [{
    [external: compiler/interpreter] The reference semantics, on concrete tensors.
  }];
  let methods = [InterfaceMethod<[{
      Computes the results from the operands. Emits a diagnostic on the op and
      fails for values outside its domain (a token id outside the table).
    }], "::llvm::LogicalResult", "evaluate",
    (ins "::llvm::ArrayRef<::minigptc::interpreter::Tensor>":$operands,
         "::llvm::SmallVectorImpl<::minigptc::interpreter::Tensor> &":$results)>];
}

def IndexingOp : Graph_Interface<"IndexingOp"> {
  let description = [{
    An op with integer operands whose every element must lie in a range: ids of
    a table's rows, numbers of classes. The interpreter reports one that does
    not; for compiled code the runtime checks an entry's inputs
    (`--graph-infer-index-bounds`).
  }];
  let methods = [InterfaceMethod<"The operands, and what they may hold.",
    "::llvm::SmallVector<::minigptc::graph::IndexDomain>", "getIndexDomains">];
}

def ElementMoveOp : Graph_Interface<"ElementMoveOp"> {
  let description = [{
    An op whose result consists of elements of its operands, as they are.
  }];
  let methods = [InterfaceMethod<[{
      The part of the operand whose elements are in this part of the result, which
      is not empty; nothing if there are none, or if they are no box.
    }], "std::optional<::minigptc::graph::IndexBox>", "getSourceBox",
    (ins "unsigned":$operand, "const ::minigptc::graph::IndexBox &":$box)>];
}

def CostOp : Graph_Interface<"CostOp"> {
  let description = [{
    What an op costs on one device. A multiply-add counts as two FLOPs; causal
    attention counts half of the full one.
  }];
  let methods = [
    InterfaceMethod<"Floating-point operations of matrix products.", "double",
      "getMatmulFlops", (ins), "", [{ return 0.0; }]>,
    InterfaceMethod<"Bytes of all operands.", "double", "getBytesRead", (ins), "",
      [{ return ::minigptc::graph::detail::bytesOf($_op->getOperandTypes()); }]>,
    InterfaceMethod<"Bytes of all results.", "double", "getBytesWritten", (ins), "",
      [{ return ::minigptc::graph::detail::bytesOf($_op->getResultTypes()); }]>];
}

def ShardingRuleOp : Graph_Interface<"ShardingRuleOp"> {
  let description = [{
    How the op may be cut: its factors (for `dot_general`: batch, M, N, K), each
    with a kind and the dimension of each operand and result that it maps to,
    besides linearity (ShardingRule.h). Propagation and partitioner walk these and
    nothing else. An op without the interface is computed whole on every device.
  }];
  let methods = [InterfaceMethod<"The op's factors.", "::minigptc::graph::ShardingRule",
    "getShardingRule">];
}

def PartitionableOp : Graph_Interface<"PartitionableOp"> {
  let description = [{
    [external: dialects/dist/Transforms] Emits the local program of one device, where
    the op itself on local tensors is not that: its attributes hold sizes or places
    (`iota`, `slice`), or devices must help each other (a norm over a sharded dimension,
    a vocabulary-parallel cross-entropy).
  }];
  let methods = [InterfaceMethod<[{
      Emits the local ops at the builder's insertion point. `local` knows which mesh
      axes cut each factor, the local operands and the types that the results have.
      Gives one value per result.
    }], "::llvm::SmallVector<::mlir::Value>", "partition",
    (ins "::mlir::OpBuilder &":$builder, "const ::minigptc::dist::LocalOp &":$local)>];
}

def BatchableOp : Graph_Interface<"BatchableOp"> {
  let description = [{
    [attached: Batch*.cpp here and in dialects/dist/IR] How an op works on all examples of a
    `vmap` at once. A tensor is the same for all examples, or batched: the examples' tensors
    one after the other along a new dimension 0 (Batching.h).
  }];
  let methods = [
    InterfaceMethod<[{
      Emits the op for all examples at the insertion point of `batch`, which has what stands in
      place of each operand: at least one of them is batched, or the op depends on the example
      by itself. Gives one value per result. Fails, with a diagnostic, where that cannot be.
    }], "::llvm::FailureOr<::minigptc::graph::BatchedValues>", "batch",
    (ins "::minigptc::graph::Batch &":$batch)>,
    InterfaceMethod<[{
      Whether the op's results depend on the example along this axis though none of its operands
      does.
    }], "bool", "readsExample", (ins "::llvm::StringRef":$axis), "", [{ return false; }]>];
}

#endif // MINIGPTC_GRAPH_INTERFACES_TD
