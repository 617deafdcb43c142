//===- Interpreter.h - the reference semantics ------------------*- C++ -*-===//
//
// Runs a module of any tensor stage (trace without vjp … schedule) by evaluating
// each op through `EvaluableOp`. Slow, simple, and what compiled code is
// compared with.
//
//   context.appendDialectRegistry(registry); // with registerEvaluableModels(registry)
//   FailureOr<SmallVector<Tensor>> results = interpreter::evaluate(module, "main", {x, y});
//
//===----------------------------------------------------------------------===//
#ifndef MINIGPTC_COMPILER_INTERPRETER_INTERPRETER_H
#define MINIGPTC_COMPILER_INTERPRETER_INTERPRETER_H

#include "compiler/interpreter/Tensor.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/DialectRegistry.h"

namespace minigptc::interpreter {

/// Attaches `EvaluableOp` to every op of the dialect.
void registerEvaluableModels(mlir::DialectRegistry &registry);

/// Calls a function of the module; diagnostics name the op that failed.
llvm::FailureOr<llvm::SmallVector<Tensor>> evaluate(mlir::ModuleOp module, llvm::StringRef function,
                                                    llvm::ArrayRef<Tensor> arguments);

} // namespace minigptc::interpreter

#endif // MINIGPTC_COMPILER_INTERPRETER_INTERPRETER_H
