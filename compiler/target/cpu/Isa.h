//===- Isa.h - what processor code is generated for -------------*- C++ -*-===//
//
// Two levels, so that few variants of a kernel lie in the object cache and an artifact
// runs on a whole class of machines. The bits of results do not depend on the level.
//
//   const Isa *isa = Isa::named("native"); // null: there is none of that name
//
//===----------------------------------------------------------------------===//
#ifndef MINIGPTC_COMPILER_TARGET_CPU_ISA_H
#define MINIGPTC_COMPILER_TARGET_CPU_ISA_H

#include "llvm/ADT/StringRef.h"

#include <string>
#include <vector>

namespace minigptc::cpu {

struct Isa {
  static constexpr const char *triple = "x86_64-unknown-linux-gnu";
  /// What the artifact says.
  static constexpr const char *artifactTriple = "x86_64-linux";

  const char *cpu; ///< LLVM's name of the processor
  int vectorBits;  ///< of the widest registers
  /// The features the code may use and the loader checks for.
  std::vector<std::string> features;

  /// AVX2 and FMA.
  static const Isa &baseline();
  /// With 512-bit vectors.
  static const Isa &avx512();
  /// "baseline", or "native": the highest level that this machine runs.
  static const Isa *named(llvm::StringRef name);
};

} // namespace minigptc::cpu

#endif // MINIGPTC_COMPILER_TARGET_CPU_ISA_H
