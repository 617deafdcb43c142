//===- Exec.h - the `exec` dialect -----------------------------*- C++ -*-===//
//
// Planned memory and instructions of one device. See ExecDialect.td.
//
//===----------------------------------------------------------------------===//
#ifndef MINIGPTC_DIALECTS_EXEC_IR_EXEC_H
#define MINIGPTC_DIALECTS_EXEC_IR_EXEC_H

#include "mlir/Bytecode/BytecodeOpInterface.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/Dialect.h"
#include "mlir/IR/OpDefinition.h"
#include "mlir/IR/OpImplementation.h"
#include "mlir/IR/SymbolTable.h"
#include "mlir/Interfaces/CallInterfaces.h"
#include "mlir/Interfaces/FunctionInterfaces.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

#include "dialects/exec/IR/ExecDialect.h.inc"
#include "dialects/exec/IR/ExecEnums.h.inc"
#define GET_TYPEDEF_CLASSES
#include "dialects/exec/IR/ExecTypes.h.inc"
#define GET_OP_CLASSES
#include "dialects/exec/IR/ExecOps.h.inc"

namespace minigptc::exec {

/// Fails unless the type is a buffer's: static shape, identity layout.
llvm::LogicalResult verifyBufferType(mlir::Operation *op, mlir::Type type);
/// Bytes of a buffer (i1 takes one byte).
int64_t getBufferBytes(mlir::MemRefType type);

/// Calls `see` with every buffer that an instruction reads or writes, and which it does; what it
/// writes it may read too. Of a call's memory the buffers alone, without the callee's frame.
void forEachAccess(mlir::Operation *op,
                   llvm::function_ref<void(mlir::Value buffer, bool isWrite)> see);

/// The blocks that an instruction calls, none for most, and where they have their frame.
struct BlockCalls {
  llvm::SmallVector<llvm::StringRef, 2> blocks;
  int64_t frame = 0;
};
BlockCalls getBlockCalls(mlir::Operation *op);

} // namespace minigptc::exec

#endif // MINIGPTC_DIALECTS_EXEC_IR_EXEC_H
