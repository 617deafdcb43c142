//===- Shrink.h - the smallest program that still fails ---------*- C++ -*-===//
#ifndef MINIGPTC_TEST_SUPPORT_SHRINK_H
#define MINIGPTC_TEST_SUPPORT_SHRINK_H

#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/OwningOpRef.h"

namespace minigptc::test {

/// Drops results of @f and replaces its ops by constants, one at a time, as long as
/// `fails` holds for what is left (it must hold for the module). `fails` may change
/// the module it gets.
mlir::OwningOpRef<mlir::ModuleOp> shrinkProgram(mlir::ModuleOp module,
                                                llvm::function_ref<bool(mlir::ModuleOp)> fails);

/// The module as text.
std::string printModule(mlir::ModuleOp module);

} // namespace minigptc::test

#endif // MINIGPTC_TEST_SUPPORT_SHRINK_H
