//===- CompiledModule.h - a module as machine code --------------*- C++ -*-===//
//
//   CompiledModule compiled(*module);                 // public functions are entries
//   std::vector<Tensor> results = compiled.run("f", inputs);
//
//===----------------------------------------------------------------------===//
#ifndef MINIGPTC_TEST_SUPPORT_COMPILEDMODULE_H
#define MINIGPTC_TEST_SUPPORT_COMPILEDMODULE_H

#include "compiler/interpreter/Tensor.h"
#include "minigptc/runtime/Session.h"
#include "mlir/IR/BuiltinOps.h"

namespace minigptc::test {

/// Compiles a module of the stage `trace` through all stages and loads the artifact.
/// Errors are std::runtime_error.
class CompiledModule {
public:
  explicit CompiledModule(mlir::ModuleOp module);
  std::vector<interpreter::Tensor> run(llvm::StringRef function,
                                       llvm::ArrayRef<interpreter::Tensor> arguments);

private:
  std::map<std::string, std::vector<mlir::RankedTensorType>> resultTypes_;
  std::optional<runtime::Session> session_;
};

/// Moves the functions of `module` into `batch`, their names followed by `suffix`:
/// many programs compile together faster than one by one.
void moveFunctions(mlir::ModuleOp module, mlir::ModuleOp batch, llvm::StringRef suffix);

} // namespace minigptc::test

#endif // MINIGPTC_TEST_SUPPORT_COMPILEDMODULE_H
