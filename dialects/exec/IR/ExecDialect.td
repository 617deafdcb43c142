//===- ExecDialect.td - the `exec` dialect: a device's instructions -------===//
//
// What the artifact's instruction table holds, as ops: buffers at planned
// offsets, kernel launches, matrix products, copies, calls of blocks.
//
//===----------------------------------------------------------------------===//
#ifndef MINIGPTC_EXEC_DIALECT_TD
#define MINIGPTC_EXEC_DIALECT_TD

include "mlir/IR/AttrTypeBase.td"
include "mlir/IR/OpBase.td"
include "mlir/IR/SymbolInterfaces.td"
include "mlir/Interfaces/SideEffectInterfaces.td"
include "mlir/Interfaces/FunctionInterfaces.td"
include "mlir/Interfaces/CallInterfaces.td"

def Exec_Dialect : Dialect {
  let name = "exec";
  let cppNamespace = "::minigptc::exec";
  let summary = "planned memory and the instructions of one device";
  let description = [{
    A program is a list of blocks (`exec.block`), each with a frame of planned
    size; a block that the trace calls L times is one block called L times, its
    plan made once and rebased per call. Buffers are memrefs with the identity
    layout: arguments, pieces of the frame, constants. Inputs come first, then
    the outputs into which the block writes.
  }];
  let useDefaultTypePrinterParser = 1;
  let extraClassDeclaration = "void registerTypes();";
  let dependentDialects = ["::mlir::memref::MemRefDialect", "::mlir::func::FuncDialect"];
}

def Exec_Token : TypeDef<Exec_Dialect, "Token"> {
  let mnemonic = "token";
  let summary = "work that was started and not waited for yet";
  let description = [{
    What `exec.collective` gives if it is only started; an `exec.wait` takes it.
  }];
}

class Exec_Op<string mnemonic, list<Trait> traits = []> : Op<Exec_Dialect, mnemonic, traits>;

#endif // MINIGPTC_EXEC_DIALECT_TD
