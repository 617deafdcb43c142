//===- CompiledModule.h - a module as machine code --------------*- C++ -*-===//
//
//   CompiledModule compiled(*module);                 // public functions are entries
//   std::vector<Tensor> results = compiled.run("f", inputs);
//
//   CompiledModule traced(program, context);
//   Tensors results = traced.run("f", {{"x", x}});    // by the names of the entry
//
//===----------------------------------------------------------------------===//
#ifndef MINIGPTC_TEST_SUPPORT_COMPILEDMODULE_H
#define MINIGPTC_TEST_SUPPORT_COMPILEDMODULE_H

#include "minigptc/runtime/Session.h"
#include "minigptc/trace/Program.h"
#include "mlir/IR/BuiltinOps.h"
#include "test/support/Arrays.h"

namespace minigptc::test {

/// Compiles a module of the stage `trace` through all stages and loads the artifact.
/// Errors are std::runtime_error.
class CompiledModule {
public:
  explicit CompiledModule(mlir::ModuleOp module, llvm::StringRef target = "cpu");
  /// Types of results are those of `context`.
  CompiledModule(const Program &program, mlir::MLIRContext &context);

  std::vector<interpreter::Tensor> run(llvm::StringRef function,
                                       llvm::ArrayRef<interpreter::Tensor> arguments);
  /// An input that is not given is zero.
  Tensors run(llvm::StringRef function, const Tensors &inputs);

  int64_t devices() const { return session_.devices(); }

private:
  std::vector<Array> runArrays(llvm::StringRef function, std::vector<Array> inputs);

  mlir::MLIRContext &context_;
  runtime::Session session_;
};

/// Moves the functions of `module` into `batch`, their names followed by `suffix`:
/// many programs compile together faster than one by one.
void moveFunctions(mlir::ModuleOp module, mlir::ModuleOp batch, llvm::StringRef suffix);

} // namespace minigptc::test

#endif // MINIGPTC_TEST_SUPPORT_COMPILEDMODULE_H
