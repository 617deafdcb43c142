//===- MathExpansion.h - functions that machines do not have ----*- C++ -*-===//
//
// Replaces functions of `math` on f32 by polynomials, none further than a few units in
// the last place from the true value; they have a vector form, and are the same on
// every target, so that a value's bits do not depend on the kernel it is computed in.
//
//   if (failed(target::expandMath(module))) …
//   for (Operation *op : target::findFunctions(module)) … // f64, and power and cbrt
//
//===----------------------------------------------------------------------===//
#ifndef MINIGPTC_COMPILER_TARGET_COMMON_MATHEXPANSION_H
#define MINIGPTC_COMPILER_TARGET_COMMON_MATHEXPANSION_H

#include "mlir/IR/Operation.h"

namespace minigptc::target {

llvm::LogicalResult expandMath(mlir::Operation *root);

/// The ops that are functions of libm, in order; after `expandMath` those without a polynomial.
llvm::SmallVector<mlir::Operation *> findFunctions(mlir::Operation *root);
/// libm's name of an op's f64 function, or nothing.
llvm::StringRef getLibmName(mlir::Operation *op);

} // namespace minigptc::target

#endif // MINIGPTC_COMPILER_TARGET_COMMON_MATHEXPANSION_H
