//===- Isa.cpp ------------------------------------------------------------===//
#include "compiler/target/cpu/Isa.h"
#include "runtime/base/Cpu.h"
#include "llvm/ADT/STLExtras.h"

using namespace minigptc;
using namespace minigptc::cpu;

static const std::vector<std::string> kBaselineFeatures = {"avx2", "bmi", "bmi2",
                                                           "f16c", "fma", "lzcnt"};

static std::vector<std::string> withAvx512() {
  std::vector<std::string> features = kBaselineFeatures;
  for (const char *name : {"avx512f", "avx512bw", "avx512cd", "avx512dq", "avx512vl"})
    features.emplace_back(name);
  return features;
}

const Isa &Isa::baseline() {
  static const Isa isa = {"x86-64-v3", 256, kBaselineFeatures};
  return isa;
}

const Isa &Isa::avx512() {
  static const Isa isa = {"x86-64-v4", 512, withAvx512()};
  return isa;
}

const Isa *Isa::named(llvm::StringRef name) {
  if (name == "baseline")
    return &baseline();
  if (name != "native")
    return nullptr;
  const std::vector<std::string> &host = runtime::hostCpuFeatures();
  bool isWide = llvm::all_of(avx512().features,
                             [&](auto &feature) { return llvm::is_contained(host, feature); });
  return isWide ? &avx512() : &baseline();
}
