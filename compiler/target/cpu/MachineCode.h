//===- MachineCode.h - from a kernel's text to object code ------*- C++ -*-===//
//
// A generator belongs to one thread and has contexts of its own, so that threads
// share nothing; a kernel goes in as text (which is also its key in the object
// cache) and comes out as a relocatable ELF object. Equal text gives equal bytes.
//
//   MachineCode generator(*Isa::named("native"));
//   FailureOr<std::string> object = generator.compile(text);
//
//===----------------------------------------------------------------------===//
#ifndef MINIGPTC_COMPILER_TARGET_CPU_MACHINECODE_H
#define MINIGPTC_COMPILER_TARGET_CPU_MACHINECODE_H

#include "compiler/target/cpu/Isa.h"
#include "mlir/IR/MLIRContext.h"

#include <memory>
#include <string>

namespace llvm {
class TargetMachine;
class Module;
} // namespace llvm

namespace minigptc::cpu {

/// Seconds that a kernel took: to become loops, LLVM IR, and machine code.
struct KernelPhases {
  double loops = 0, lowering = 0, llvm = 0;
};

class MachineCode {
public:
  explicit MachineCode(const Isa &isa = Isa::baseline());
  ~MachineCode();

  /// `text` is one kernel. On failure `error()` says why (a bug of the code
  /// generator: bad kernels are refused before, by `verifyKernel`).
  llvm::FailureOr<std::string> compile(const std::string &text);
  const std::string &error() const { return message; }
  /// Of the last kernel that compiled.
  const KernelPhases &phases() const { return times; }

private:
  llvm::FailureOr<std::string> generate(llvm::Module &module);
  void optimise(llvm::Module &module);

  const Isa &isa;
  mlir::MLIRContext context;
  std::unique_ptr<llvm::TargetMachine> machine;
  std::string message;
  KernelPhases times;
};

} // namespace minigptc::cpu

#endif // MINIGPTC_COMPILER_TARGET_CPU_MACHINECODE_H
