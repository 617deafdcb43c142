//===- ExecRunner.h - runs exec blocks in a checked memory ------*- C++ -*-===//
//
// A slow device for tests: blocks run in a real frame that begins as rubbish,
// inputs and donated outputs share memory, kernels are evaluated by the
// interpreter. What a memory plan gets wrong shows as a wrong result.
//
//   ExecRunner runner(module);
//   std::vector<Tensor> outputs = runner.run("step", inputs);
//
//===----------------------------------------------------------------------===//
#ifndef MINIGPTC_TEST_EXECRUNNER_H
#define MINIGPTC_TEST_EXECRUNNER_H

#include "compiler/interpreter/Tensor.h"
#include "dialects/exec/IR/Exec.h"

#include <string>
#include <vector>

namespace minigptc::test {

class ExecRunner {
public:
  explicit ExecRunner(mlir::ModuleOp module) : module(module), symbols(module) {}

  /// Throws std::runtime_error if an instruction cannot be run.
  std::vector<interpreter::Tensor> run(llvm::StringRef entry,
                                       llvm::ArrayRef<interpreter::Tensor> inputs);

private:
  using Buffers = llvm::DenseMap<mlir::Value, std::byte *>;

  void runBlock(exec::BlockOp block, llvm::ArrayRef<std::byte *> arguments, std::byte *frame);
  void runInstruction(mlir::Operation *op, Buffers &buffers, std::byte *frame);
  void launch(llvm::StringRef function, mlir::ValueRange inputs, mlir::ValueRange outputs,
              Buffers &buffers);
  void gemm(exec::GemmOp op, Buffers &buffers);
  interpreter::Tensor load(mlir::MemRefType type, const std::byte *data);

  mlir::ModuleOp module;
  mlir::SymbolTable symbols;
  std::vector<std::vector<std::byte>> constants;
};

} // namespace minigptc::test

#endif // MINIGPTC_TEST_EXECRUNNER_H
