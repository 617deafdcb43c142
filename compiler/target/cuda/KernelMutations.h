//===- KernelMutations.h - kernels made wrong on purpose --------*- C++ -*-===//
//
// Small wrong edits of an LLVM module of NVPTX kernels, to see that the emulator (or a
// comparison of results) objects: whoever deletes a barrier that matters must hear of it.
//
//   for (auto [index, what] : llvm::enumerate(findMutations(module))) {
//     std::unique_ptr<llvm::Module> wrong = llvm::CloneModule(module);
//     applyMutation(*wrong, index);
//     … // what.description: "removes barrier 2 of kernel 'softmax' (softmax.cpp:12)"
//   }
//
// Kernels stay such that they end: bounds of loops are shifted by one, and never removed.
//
//===----------------------------------------------------------------------===//
#ifndef MINIGPTC_COMPILER_TARGET_CUDA_KERNELMUTATIONS_H
#define MINIGPTC_COMPILER_TARGET_CUDA_KERNELMUTATIONS_H

#include "llvm/IR/Module.h"

#include <string>
#include <vector>

namespace minigptc::cuda::emulation {

enum class MutationKind {
  removeBarrier,     ///< of a block
  removeWarpBarrier, ///< of a warp
  openGuard,         ///< a branch always goes where memory is accessed
  raiseBound,        ///< of a comparison, by one
  lowerBound,
  changeShuffle, ///< another lane is read from: at half the distance
  waitLess,      ///< one more group of asynchronous copies may be under way
};

struct KernelMutation {
  MutationKind kind;
  std::string description;
};

/// All that there are, in the order of the module's instructions. Equal modules (a clone) have
/// the same ones.
std::vector<KernelMutation> findMutations(llvm::Module &module);

/// Makes the one with this number.
void applyMutation(llvm::Module &module, size_t number);

/// Instead of making it: a trap for threads whose way it would change. Where none meets the trap,
/// the edit changes nothing in that launch. False for edits other than of guards and bounds.
bool watchMutation(llvm::Module &module, size_t number);

} // namespace minigptc::cuda::emulation

#endif // MINIGPTC_COMPILER_TARGET_CUDA_KERNELMUTATIONS_H
