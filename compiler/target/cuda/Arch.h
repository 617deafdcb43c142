//===- Arch.h - the GPUs that code is generated for -------------*- C++ -*-===//
//
// PTX is always made for sm_80, the least one, and every newer driver loads it; a list
// names the architectures that get machine code (a cubin) besides.
//
//   std::string error;
//   auto archs = Arch::parseList("sm_80,sm_90a", error); // nothing: error says why
//   archs->front().name();                               // "sm_80"
//
//===----------------------------------------------------------------------===//
#ifndef MINIGPTC_COMPILER_TARGET_CUDA_ARCH_H
#define MINIGPTC_COMPILER_TARGET_CUDA_ARCH_H

#include "llvm/ADT/StringRef.h"

#include <optional>
#include <string>
#include <vector>

namespace minigptc::cuda {

class Arch {
public:
  /// What PTX is made for.
  static constexpr const char *kBaseline = "sm_80";

  /// The architecture of that name ("sm_90a"), or nothing.
  static std::optional<Arch> named(llvm::StringRef name);
  /// Names divided by commas, each once, in the order given; empty: no architecture. On
  /// failure `error` names the wrong one and those that there are.
  static std::optional<std::vector<Arch>> parseList(llvm::StringRef list, std::string &error);
  /// All that there are, by commas.
  static std::string known();

  /// "sm_90a"
  std::string name() const { return "sm_" + suffix; }
  /// 90, whatever the letter behind it.
  int number() const;
  /// True if the code runs on this very architecture only ("sm_90a").
  bool isSpecific() const { return suffix.back() == 'a'; }

  bool operator==(const Arch &) const = default;

private:
  explicit Arch(std::string suffix) : suffix(std::move(suffix)) {}
  std::string suffix;
};

} // namespace minigptc::cuda

#endif // MINIGPTC_COMPILER_TARGET_CUDA_ARCH_H
