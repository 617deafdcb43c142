//===- Kernels.h - the CUDA kernels of a module -----------------*- C++ -*-===//
//
// PTX of each kernel, and one cubin with all of them for each architecture asked for. What
// comes out is a function of the kernels alone, whatever the number of threads and whatever is
// in the cache, where PTX, cubins and the emulator's objects are kept.
//
//   auto code = cuda::compileKernels(module, archs, options); // diagnostics on failure
//   code->kernels[0].ptx; code->cubins[0].bytes;
//
//===----------------------------------------------------------------------===//
#ifndef MINIGPTC_COMPILER_TARGET_CUDA_KERNELS_H
#define MINIGPTC_COMPILER_TARGET_CUDA_KERNELS_H

#include "compiler/target/cuda/Arch.h"
#include "compiler/target/cuda/KernelPlan.h"

namespace minigptc::cuda {

struct KernelCode {
  std::string name;
  bool grouped = false; ///< takes a table of buffers: some launch of it has groups
  /// The launch: blocks (times the groups), threads of each, bytes of dynamic shared memory.
  int64_t grid = 1, block = 1, sharedBytes = 0;
  std::string kind; ///< KernelPlan.h
  std::string ptx;  ///< a module by itself, for sm_80 and everything newer
};

struct Cubin {
  Arch arch;
  std::string bytes;
};

struct ModuleCode {
  std::vector<KernelCode> kernels; ///< in the order of the first use
  std::vector<Cubin> cubins;       ///< one for each architecture, in the order given
  std::vector<std::byte> emulated; ///< a shared object for the emulator, if asked for
  int64_t compiled = 0;            ///< kernels that were not in the cache
};

struct KernelOptions {
  int threads = 0;    ///< 0: as many as the machine has
  bool lines = false; ///< PTX with .loc directives
  bool emulate = false;
  std::string cacheDir = {}; ///< ObjectCache.h; empty: all is made anew
};

/// Compiles the kernels that functions call or blocks launch. Architectures need nvJitLink of
/// the CUDA toolkit (NvJitLink.h).
llvm::FailureOr<ModuleCode> compileKernels(mlir::ModuleOp module, llvm::ArrayRef<Arch> archs,
                                           const KernelOptions &options = {});

} // namespace minigptc::cuda

#endif // MINIGPTC_COMPILER_TARGET_CUDA_KERNELS_H
