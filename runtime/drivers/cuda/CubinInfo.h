//===- CubinInfo.h - what kernels of a cubin take ---------------*- C++ -*-===//
//
// Reads registers, stack and shared memory of each kernel out of machine code for a GPU, which
// is an ELF file: no tool of the toolkit, no driver and no GPU is asked. The bytes may be
// anything.
//
//   StatusOr<std::map<std::string, CubinKernel>> kernels = readCubin(bytes);
//   kernels->at("add_1").registers; // of a thread
//
//===----------------------------------------------------------------------===//
#ifndef MINIGPTC_RUNTIME_DRIVERS_CUDA_CUBININFO_H
#define MINIGPTC_RUNTIME_DRIVERS_CUDA_CUBININFO_H

#include "minigptc/runtime/Status.h"

#include <cstddef>
#include <cstdint>
#include <map>
#include <span>
#include <string>

namespace minigptc::runtime::cuda {

struct CubinKernel {
  uint32_t registers = 0;    ///< of a thread
  uint32_t stackBytes = 0;   ///< of a thread, in device memory: spills are here
  uint64_t sharedBytes = 0;  ///< static, of a block; without what the driver keeps for itself
  uint32_t maxThreads = 0;   ///< of a block, as the code demands it; 0: it demands nothing
  uint64_t codeBytes = 0;
};

/// By the kernel's name.
StatusOr<std::map<std::string, CubinKernel>> readCubin(std::span<const std::byte> cubin);

} // namespace minigptc::runtime::cuda

#endif // MINIGPTC_RUNTIME_DRIVERS_CUDA_CUBININFO_H
