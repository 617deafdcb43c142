//===- Emulation.h - CUDA kernels as machine code of the CPU ----*- C++ -*-===//
//
// Makes of an LLVM module of NVPTX kernels, the one from which PTX is printed, x86-64 code
// that runs under the emulator (`runtime/drivers/cuda/emulator/Emulator.h`), one call of
// which is one GPU thread:
//
//   - special registers are read from the thread's state;
//   - shared variables become offsets into the block's shared memory;
//   - every load, store, atomic operation and copy is preceded by a call that checks it;
//   - barriers, warp operations, asynchronous copies and instructions without a counterpart
//     are calls of the emulator, each with the number of its site.
//
//   std::string error;
//   FailureOr<std::vector<std::byte>> elf = emulation::compile(std::move(module), error);
//
// What is not known (an intrinsic, inline PTX, a call of libdevice, a named barrier) fails
// with an error that names it: nothing is left out in silence.
//
//===----------------------------------------------------------------------===//
#ifndef MINIGPTC_COMPILER_TARGET_CUDA_EMULATION_H
#define MINIGPTC_COMPILER_TARGET_CUDA_EMULATION_H

#include "mlir/Support/LLVM.h"
#include "llvm/IR/Module.h"

#include <cstddef>
#include <memory>
#include <string>
#include <vector>

namespace minigptc::cuda::emulation {

/// A relocatable object of the module's kernels (functions with the calling convention
/// `ptx_kernel`), after LLVM's passes for NVPTX and before PTX. The module is used up; others
/// of its context stay as they are. Equal modules give equal bytes.
llvm::FailureOr<std::string> compileObject(std::unique_ptr<llvm::Module> module,
                                           std::string &error);

/// A shared object for `EmulatedModule::load`; of no objects, one without kernels.
llvm::FailureOr<std::vector<std::byte>> link(llvm::ArrayRef<std::string> objects,
                                             std::string &error);

/// Both.
llvm::FailureOr<std::vector<std::byte>> compile(std::unique_ptr<llvm::Module> module,
                                                std::string &error);

} // namespace minigptc::cuda::emulation

#endif // MINIGPTC_COMPILER_TARGET_CUDA_EMULATION_H
