#include "runtime/drivers/host/GemmKernels.h"

#include "runtime/base/Log.h"

#include <cstdlib>
#include <cstring>

namespace minigptc::runtime {

#if defined(__x86_64__)
extern const GemmKernels avx2GemmKernels, avx512GemmKernels;
#endif

const GemmKernels *const *allGemmKernels() {
  static const GemmKernels *found[3] = {};
  static const bool done = [] {
    const GemmKernels **next = found;
#if defined(__x86_64__)
    __builtin_cpu_init();
    if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("fma"))
      *next++ = &avx512GemmKernels;
    if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma"))
      *next++ = &avx2GemmKernels;
#endif
    return next != found;
  }();
  (void)done;
  return found;
}

const GemmKernels *findGemmKernels() {
  const char *wanted = std::getenv("MINIGPTC_GEMM");
  if (wanted && std::strcmp(wanted, "blis") == 0)
    return nullptr;
  const GemmKernels *const *all = allGemmKernels();
  for (const GemmKernels *const *kernels = all; wanted && *kernels; ++kernels)
    if (std::strcmp(wanted, (*kernels)->name) == 0)
      return *kernels;
  if (wanted && *wanted) {
    static const bool said = [&] {
      logWarning("MINIGPTC_GEMM: there are no matrix products " + quote(wanted) +
                 " on this machine; it takes blis, and avx2 or avx512 where the CPU has them");
      return true;
    }();
    (void)said;
  }
  return *all;
}

} // namespace minigptc::runtime
