//===- KernelCase.h - a compiled kernel with inputs and results -*- C++ -*-===//
//
// A kernel of a model with random inputs, and what the interpreter makes of them:
//
//   KernelCase kernel(function, /*groups=*/1, generator);
//   EmulatedKernels code(llvm::CloneModule(kernel.module()));
//   Outcome outcome = kernel.run(code, /*seed=*/3);
//   CHECK(kernel.difference(outcome.results) == "");
//
// A kernel that some launch runs over groups is compiled for that, with inputs of each group.
//
//===----------------------------------------------------------------------===//
#ifndef MINIGPTC_TEST_COMPILER_TARGET_CUDA_KERNELCASE_H
#define MINIGPTC_TEST_COMPILER_TARGET_CUDA_KERNELCASE_H

#include "compiler/interpreter/Tensor.h"
#include "compiler/target/cuda/KernelPlan.h"
#include "test/compiler/target/cuda/MutationJudge.h"
#include "llvm/IR/LLVMContext.h"

#include <map>
#include <random>

namespace minigptc::test {

class KernelCase {
public:
  using Tensor = interpreter::Tensor;
  /// `sets`: so many times other inputs.
  KernelCase(mlir::func::FuncOp kernel, int64_t groups, int sets, std::mt19937 &generator);

  /// Why the interpreter or the compiler refuses the kernel; empty if they do not.
  const std::string &refusal() const { return message; }
  const llvm::Module &module() const { return *code; }
  const cuda::KernelPlan &plan() const { return launchPlan; }
  int64_t groups() const { return int64_t(inputs.front().size()); }

  /// Looks for results that may take the memory of an input, by trying under `seeds` orders: a
  /// program may do so where a kernel reads what it overwrites before it does.
  void shareMemory(EmulatedKernels &kernels, uint64_t seeds);
  bool sharesMemory() const { return !shared.empty(); }

  /// One launch in fresh memory, `inPlace` with the results that may be there. The results'
  /// bytes, one result after the other.
  Outcome run(EmulatedKernels &kernels, uint64_t seed, size_t set = 0, bool inPlace = false) const;
  /// Where the results are not the interpreter's; empty if they are.
  std::string difference(const std::vector<unsigned char> &results, size_t set = 0) const;

private:
  using Groups = std::vector<std::vector<Tensor>>; ///< of each group, tensors

  std::string name, message;
  cuda::KernelPlan launchPlan;
  double tolerance;
  llvm::LLVMContext context;
  std::unique_ptr<llvm::Module> code;
  std::vector<Groups> inputs, expected; ///< of each set
  std::map<size_t, size_t> shared;      ///< results, and the inputs whose memory they take
};

} // namespace minigptc::test

#endif // MINIGPTC_TEST_COMPILER_TARGET_CUDA_KERNELCASE_H
