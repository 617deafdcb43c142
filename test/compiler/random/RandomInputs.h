//===- RandomInputs.h - running random programs -----------------*- C++ -*-===//
#ifndef MINIGPTC_TEST_COMPILER_RANDOM_RANDOMINPUTS_H
#define MINIGPTC_TEST_COMPILER_RANDOM_RANDOMINPUTS_H

#include "test/support/ModuleRunner.h"

#include <string>

namespace minigptc::test {

/// Random arguments for @f, a function of the seed.
std::vector<Tensor> randomInputs(ModuleRunner &runner, mlir::ModuleOp module, uint64_t seed);
/// Random cotangents for the results of @f.
std::vector<Tensor> randomCotangents(ModuleRunner &runner, mlir::ModuleOp module, uint64_t seed);
/// Numbers of the arguments of @f that are floats.
std::vector<int64_t> floatArguments(mlir::ModuleOp module);

/// Compares results: floats norm-wise, where results much smaller than the others may
/// carry their rounding noise, all else exactly; empty if they agree.
std::string compareAll(llvm::ArrayRef<Tensor> actual, llvm::ArrayRef<Tensor> expected,
                       double relative);

/// If `wrong(module)` says something, fails the test with the seed and a shrunk program.
void checkProgram(mlir::ModuleOp module, uint64_t seed,
                  llvm::function_ref<std::string(mlir::ModuleOp)> wrong);

} // namespace minigptc::test

#endif // MINIGPTC_TEST_COMPILER_RANDOM_RANDOMINPUTS_H
