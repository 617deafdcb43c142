//===- PtxCompiler.h - from a kernel's text to PTX --------------*- C++ -*-===//
//
// A generator belongs to one thread and has contexts of its own, so that threads share
// nothing. PTX is made for sm_80 by LLVM in this process, with the least version that it
// needs: every driver for such a GPU or a newer one loads it. Equal text gives equal bytes.
//
//   PtxCompiler generator;
//   FailureOr<PtxCompiler::Code> code = generator.compile(text, {});
//   code->ptx
//
//===----------------------------------------------------------------------===//
#ifndef MINIGPTC_COMPILER_TARGET_CUDA_PTXCOMPILER_H
#define MINIGPTC_COMPILER_TARGET_CUDA_PTXCOMPILER_H

#include "mlir/IR/MLIRContext.h"

#include <memory>
#include <string>

namespace llvm {
class LLVMContext;
class Module;
class TargetMachine;
} // namespace llvm

namespace minigptc::cuda {

class PtxCompiler {
public:
  struct Options {
    bool grouped = false; ///< the kernel has a table of buffers (KernelEmitter.h)
    bool lines = false;   ///< .loc directives with the lines of the text's locations
    bool emulate = false; ///< code for the emulator besides (Emulation.h)
  };
  struct Code {
    std::string ptx;
    std::string object; ///< of the emulator, from the very code that the PTX is made of
  };

  PtxCompiler();
  ~PtxCompiler();

  /// `text` is one kernel. On failure `error()` says why: a function of f64 that GPUs do not
  /// have, else a bug of the code generator (bad kernels are refused before, by `verifyKernel`).
  llvm::FailureOr<Code> compile(const std::string &text, Options options);
  const std::string &error() const { return message; }

  /// The LLVM module that `compile` prints as PTX, for tests that change it; null as there.
  std::unique_ptr<llvm::Module> generate(const std::string &text, const Options &options,
                                         llvm::LLVMContext &context);

private:
  llvm::FailureOr<std::string> writePtx(llvm::Module &module);
  void optimise(llvm::Module &module);

  mlir::MLIRContext context;
  std::unique_ptr<llvm::TargetMachine> machine;
  std::string message;
};

} // namespace minigptc::cuda

#endif // MINIGPTC_COMPILER_TARGET_CUDA_PTXCOMPILER_H
