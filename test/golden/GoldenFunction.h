//===- GoldenFunction.h - a function and its gradient -----------*- C++ -*-===//
//
// A function @f in text, run on recorded inputs in the interpreter and as machine
// code; its gradient is a `graph.vjp` of it, differentiated by --graph-autodiff.
//
//===----------------------------------------------------------------------===//
#ifndef MINIGPTC_TEST_GOLDEN_GOLDENFUNCTION_H
#define MINIGPTC_TEST_GOLDEN_GOLDENFUNCTION_H

#include "test/support/Golden.h"
#include "test/support/ModuleRunner.h"

namespace minigptc::test {

/// The first result of @f.
Tensor evaluateFunction(ModuleRunner &runner, llvm::StringRef text, llvm::ArrayRef<Tensor> inputs);

/// The cotangents of the inputs numbered `wrt` for the cotangent of @f's result.
std::vector<Tensor> gradientOf(ModuleRunner &runner, llvm::StringRef text,
                               llvm::ArrayRef<Tensor> inputs, const Tensor &cotangent,
                               llvm::ArrayRef<int64_t> wrt);

/// Checks @f against `expected`, and the gradients of those inputs that have a
/// `grad.…` against it, for the cotangent `ct` (or 1).
void checkGolden(llvm::StringRef name, llvm::ArrayRef<std::string> inputNames,
                 llvm::StringRef text);

} // namespace minigptc::test

#endif // MINIGPTC_TEST_GOLDEN_GOLDENFUNCTION_H
