#include "runtime/drivers/host/BlisSetup.h"

#include <blis.h>
#include <cstdlib>
#include <string>

namespace minigptc::runtime {
namespace {

/// The kernels to ask for, or -1 where BLIS knows best: it tells Intel's processors by what
/// they can do, and knows AMD's without AVX-512.
int wantedKernels() {
#if defined(__x86_64__)
  __builtin_cpu_init();
  if (__builtin_cpu_is("intel"))
    return -1;
#ifdef BLIS_CONFIG_SKX
  if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512dq") &&
      __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512vl"))
    return BLIS_ARCH_SKX;
#endif
#ifdef BLIS_CONFIG_HASWELL
  if (!__builtin_cpu_is("amd") && __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma"))
    return BLIS_ARCH_HASWELL;
#endif
#endif
  return -1;
}

} // namespace

void initializeBlis() {
  static const bool done = [] {
    constexpr const char *variable = "BLIS_ARCH_TYPE"; // the only way to tell BLIS
    int wanted = std::getenv(variable) ? -1 : wantedKernels();
    if (wanted >= 0)
      setenv(variable, std::to_string(wanted).c_str(), 1);
    bli_init();
    if (wanted >= 0)
      unsetenv(variable);
    return true;
  }();
  (void)done;
}

const char *blisKernels() {
  initializeBlis();
  return bli_arch_string(bli_arch_query_id());
}

} // namespace minigptc::runtime
