//===- Stability.h - by how much rounding may move results ------*- C++ -*-===//
//
// A partitioned program rounds elsewhere than the whole one. Its results may differ by
// `toleranceOf` the program, relative to the norm of all; more where the program jumps at a
// value that is zero but for rounding (the derivative of a `maximum` of it, say). Such a program
// tells: its own results move as far when its inputs move by a unit of the last place.
//
//   std::string wrong = compareAll(actual, expected, toleranceOf(module));
//   if (!wrong.empty() && !isUnstable(runner, module, "f", inputs))
//     FAIL(wrong);
//
//===----------------------------------------------------------------------===//
#ifndef MINIGPTC_TEST_COMPILER_SHARDING_STABILITY_H
#define MINIGPTC_TEST_COMPILER_SHARDING_STABILITY_H

#include "test/support/ModuleRunner.h"

namespace minigptc::test {

/// That of the narrowest float type of the module.
double toleranceOf(mlir::ModuleOp module);

/// Whether results of a function are infinite, NaN, or move by more than half the tolerance.
bool isUnstable(ModuleRunner &runner, mlir::ModuleOp module, llvm::StringRef function,
                llvm::ArrayRef<Tensor> inputs);

} // namespace minigptc::test

#endif // MINIGPTC_TEST_COMPILER_SHARDING_STABILITY_H
