#include "runtime/base/Cpu.h"

#include <fstream>

namespace minigptc::runtime {

std::string_view hostTriple() {
#if defined(__x86_64__)
  return "x86_64-linux";
#elif defined(__aarch64__)
  return "aarch64-linux";
#else
  return "unknown";
#endif
}

static std::vector<std::string> detectFeatures() {
  std::vector<std::string> found;
#if defined(__x86_64__)
  __builtin_cpu_init();
  // The builtin takes literals only.
#define MINIGPTC_FEATURE(name)                                                                     \
  if (__builtin_cpu_supports(name))                                                                \
  found.emplace_back(name)
  MINIGPTC_FEATURE("sse3");
  MINIGPTC_FEATURE("ssse3");
  MINIGPTC_FEATURE("sse4.1");
  MINIGPTC_FEATURE("sse4.2");
  MINIGPTC_FEATURE("popcnt");
  MINIGPTC_FEATURE("avx");
  MINIGPTC_FEATURE("f16c");
  MINIGPTC_FEATURE("fma");
  MINIGPTC_FEATURE("bmi");
  MINIGPTC_FEATURE("bmi2");
  MINIGPTC_FEATURE("lzcnt");
  MINIGPTC_FEATURE("avx2");
  MINIGPTC_FEATURE("avx512f");
  MINIGPTC_FEATURE("avx512cd");
  MINIGPTC_FEATURE("avx512bw");
  MINIGPTC_FEATURE("avx512dq");
  MINIGPTC_FEATURE("avx512vl");
  MINIGPTC_FEATURE("avx512bf16");
#undef MINIGPTC_FEATURE
#endif
  return found;
}

const std::vector<std::string> &hostCpuFeatures() {
  static const std::vector<std::string> features = detectFeatures();
  return features;
}

std::string cpuName() {
  std::ifstream info("/proc/cpuinfo");
  for (std::string line; std::getline(info, line);)
    if (size_t colon = line.find(": "); line.starts_with("model name") && colon != line.npos)
      return line.substr(colon + 2);
  return "unknown CPU";
}

} // namespace minigptc::runtime
