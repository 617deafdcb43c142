//===- ModuleRunner.h - IR from text, passes, the interpreter ---*- C++ -*-===//
//
// What a test of compiler code needs to run a program:
//
//   ModuleRunner runner;
//   auto module = runner.parse(R"(func.func @f(…) …)");
//   runner.runPasses(*module, "graph-autodiff,canonicalize");
//   std::vector<Tensor> results = runner.run(*module, "f", {runner.tensor("4xf32", {1, 2, 3, 4})});
//
// Whatever goes wrong is a std::runtime_error that holds the diagnostics.
//
//===----------------------------------------------------------------------===//
#ifndef MINIGPTC_TEST_SUPPORT_MODULERUNNER_H
#define MINIGPTC_TEST_SUPPORT_MODULERUNNER_H

#include "compiler/interpreter/Tensor.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/MLIRContext.h"
#include "mlir/IR/OwningOpRef.h"

#include <functional>
#include <string>
#include <vector>

namespace minigptc::test {

using interpreter::Tensor;

/// Owns a context with all dialects, external models and passes.
class ModuleRunner {
public:
  ModuleRunner();
  mlir::MLIRContext &context() { return *context_; }

  mlir::OwningOpRef<mlir::ModuleOp> parse(llvm::StringRef text);
  /// Runs a textual pass pipeline on the module, verifying after each pass.
  void runPasses(mlir::ModuleOp module, llvm::StringRef pipeline);
  std::vector<Tensor> run(mlir::ModuleOp module, llvm::StringRef function,
                          llvm::ArrayRef<Tensor> arguments = {});
  /// Parses the text, runs the passes and the function.
  std::vector<Tensor> run(llvm::StringRef text, llvm::StringRef function,
                          llvm::ArrayRef<Tensor> arguments = {}, llvm::StringRef pipeline = "");
  /// Calls a function that may emit diagnostics; throws them if it fails.
  void check(llvm::StringRef what, llvm::function_ref<llvm::LogicalResult()> function);

  /// The type written `tensor<…>`.
  mlir::RankedTensorType type(llvm::StringRef shapeAndElement);
  /// A tensor of that type with the values in row-major order; one value fills it.
  Tensor tensor(llvm::StringRef shapeAndElement, llvm::ArrayRef<double> values);
  /// Standard normal values (small integers for integer types), a function of the seed.
  Tensor random(mlir::RankedTensorType type, uint64_t seed);
  /// All elements the same.
  Tensor filled(mlir::RankedTensorType type, double value);

private:
  std::unique_ptr<mlir::MLIRContext> context_;
};

} // namespace minigptc::test

#endif // MINIGPTC_TEST_SUPPORT_MODULERUNNER_H
