//===- FunctionTable.h - one function per distinct body ---------*- C++ -*-===//
//
// Finished private functions by structure. Adding a function that equals an
// earlier one (in all but locations and name) gives back the earlier one, so that a
// loop over equal layers traces to one function.
//
//===----------------------------------------------------------------------===//
#ifndef MINIGPTC_COMPILER_TRACE_FUNCTIONTABLE_H
#define MINIGPTC_COMPILER_TRACE_FUNCTIONTABLE_H

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/BuiltinOps.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/StringMap.h"

namespace minigptc::detail {

class FunctionTable {
public:
  explicit FunctionTable(mlir::ModuleOp module) : module(module) {}

  /// Keeps names of entry functions from private ones.
  void reserve(llvm::StringRef name) { ++uses[name]; }
  /// Takes a detached function: puts it into the module under a free name made from
  /// `name`, or erases it and gives its equal.
  mlir::func::FuncOp add(mlir::func::FuncOp function, llvm::StringRef name);

private:
  mlir::ModuleOp module;
  llvm::DenseMap<size_t, llvm::SmallVector<mlir::func::FuncOp, 1>> byHash;
  llvm::StringMap<unsigned> uses;
};

} // namespace minigptc::detail

#endif // MINIGPTC_COMPILER_TRACE_FUNCTIONTABLE_H
