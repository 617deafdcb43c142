//===- MachineCode.h - from a kernel's text to object code ------*- C++ -*-===//
//
// A generator belongs to one thread and has contexts of its own, so that threads
// share nothing; a kernel goes in as text (which is also its key in the object
// cache) and comes out as a relocatable ELF object. Equal text gives equal bytes.
//
//   MachineCode generator;
//   FailureOr<std::string> object = generator.compile(text);
//
//===----------------------------------------------------------------------===//
#ifndef MINIGPTC_COMPILER_TARGET_CPU_MACHINECODE_H
#define MINIGPTC_COMPILER_TARGET_CPU_MACHINECODE_H

#include "mlir/IR/MLIRContext.h"

#include <memory>
#include <string>
#include <vector>

namespace llvm {
class TargetMachine;
class Module;
} // namespace llvm

namespace minigptc::cpu {

/// What code is generated for; runs on any x86-64-v3 machine.
struct CpuTarget {
  static constexpr const char *triple = "x86_64-unknown-linux-gnu";
  static constexpr const char *cpu = "x86-64-v3";
  /// The features the code may use and the loader checks for.
  static std::vector<std::string> features() {
    return {"avx2", "bmi", "bmi2", "f16c", "fma", "lzcnt"};
  }
  /// What the artifact says.
  static constexpr const char *artifactTriple = "x86_64-linux";
};

class MachineCode {
public:
  MachineCode();
  ~MachineCode();

  /// `text` is one kernel. On failure `error()` says why (a bug of the code
  /// generator: bad kernels are refused before, by `verifyKernel`).
  llvm::FailureOr<std::string> compile(const std::string &text);
  const std::string &error() const { return message; }

private:
  llvm::FailureOr<std::string> generate(llvm::Module &module);
  void optimise(llvm::Module &module);

  mlir::MLIRContext context;
  std::unique_ptr<llvm::TargetMachine> machine;
  std::string message;
};

} // namespace minigptc::cpu

#endif // MINIGPTC_COMPILER_TARGET_CPU_MACHINECODE_H
