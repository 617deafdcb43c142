//===- RunFunctions.h - running a module's test functions -------*- C++ -*-===//
//
// `minigptc-opt --run`: calls every function without arguments whose name is
// `main` or begins with `test_`, in the module's order, and prints its results:
//
//   @test_add
//   tensor<2x2xf32> [[1, 2], [3, 4.5]]
//   tensor<i1> true
//
// On a mesh of several devices all of them run it, and each result is printed for every
// one ("device 0: tensor<f32> 1").
//
//===----------------------------------------------------------------------===//
#ifndef MINIGPTC_COMPILER_INTERPRETER_RUNFUNCTIONS_H
#define MINIGPTC_COMPILER_INTERPRETER_RUNFUNCTIONS_H

#include "compiler/interpreter/Tensor.h"
#include "mlir/Pass/Pass.h"
#include "llvm/Support/raw_ostream.h"

namespace minigptc::interpreter {

/// Prints type and elements; floats with six significant digits.
void print(llvm::raw_ostream &os, const Tensor &tensor);

/// A pass that runs the functions of a module; fails if one fails or there is none.
std::unique_ptr<mlir::Pass> createRunFunctionsPass(llvm::raw_ostream &os);

} // namespace minigptc::interpreter

#endif // MINIGPTC_COMPILER_INTERPRETER_RUNFUNCTIONS_H
