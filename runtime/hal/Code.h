//===- Code.h - kernels in the forms that devices load ----------*- C++ -*-===//
//
// The same kernels as code of a CPU or of GPUs, with what a launch of each comes to. A
// device takes the forms that it knows:
//
// | device | code | a kernel |
// |---|---|---|
// | host | `elf`: a shared object | `void symbol(void *const *buffers, int64_t begin, int64_t end,
// void *scratch)` | | cuda | one of `cubins`, else each kernel's `cuda.ptx`; emulated: `emulated` |
// a global function, see CudaLaunch |
//
//   DeviceCode code{.elf = bytes, .kernels = {{.symbol = "add", .items = 1000, .grain = 256}}};
//
//===----------------------------------------------------------------------===//
#ifndef MINIGPTC_RUNTIME_HAL_CODE_H
#define MINIGPTC_RUNTIME_HAL_CODE_H

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace minigptc::runtime {

/// `grid` blocks of `block` threads for each group of buffers. A kernel has a parameter for
/// each buffer, inputs, then outputs; a grouped one has a single one, a table
/// [groups][buffers] of pointers in the device's memory, and a block's y index is its group.
struct CudaLaunch {
  uint32_t grid = 1, block = 1;
  uint32_t sharedBytes = 0; ///< dynamic shared memory
  bool grouped = false;
  std::string_view ptx = {}; ///< a module with this kernel, with a NUL right behind it
};

struct KernelFacts {
  std::string symbol;
  int64_t items = 0;    ///< host: the work is [0, items) ...
  int64_t grain = 1;    ///< ... of which a thread takes so many at a time
  uint64_t scratch = 0; ///< host: bytes that each thread lends the kernel, aligned to 64
  CudaLaunch cuda = {};
};

/// Machine code of all kernels for GPUs: sm_90 is arch 90, and sm_90a is specific besides.
struct Cubin {
  uint32_t arch = 0;
  bool specific = false;
  std::span<const std::byte> code;
};

/// Refers to the memory of whoever made it.
struct DeviceCode {
  std::span<const std::byte> elf = {};
  std::vector<Cubin> cubins = {};
  std::span<const std::byte> emulated = {};
  std::vector<KernelFacts> kernels = {};
};

} // namespace minigptc::runtime

#endif // MINIGPTC_RUNTIME_HAL_CODE_H
