//===- Cpu.h - what this machine's processor can do -------------*- C++ -*-===//
//
// Features carry LLVM's names ("avx2", "fma"): an artifact lists those that its code
// uses, and the loader compares.
//
//===----------------------------------------------------------------------===//
#ifndef MINIGPTC_RUNTIME_BASE_CPU_H
#define MINIGPTC_RUNTIME_BASE_CPU_H

#include <string>
#include <string_view>
#include <vector>

namespace minigptc::runtime {

/// "x86_64-linux": the triple of code that runs here.
std::string_view hostTriple();

/// The features that artifacts may ask for and this processor (and system) has, in a
/// fixed order.
const std::vector<std::string> &hostCpuFeatures();

/// "AMD EPYC 7713"; "unknown CPU" where the system does not say.
std::string cpuName();

} // namespace minigptc::runtime

#endif // MINIGPTC_RUNTIME_BASE_CPU_H
