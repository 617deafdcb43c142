//===- Roles.h - what functions and arguments are for -----------*- C++ -*-===//
#ifndef MINIGPTC_COMPILER_EXPLAIN_ROLES_H
#define MINIGPTC_COMPILER_EXPLAIN_ROLES_H

#include "llvm/ADT/StringRef.h"

#include <algorithm>
#include <optional>

namespace minigptc {

enum class Phase { update, forward, backward };

/// What a function does in the step, by the name that autodiff, or a pipeline's task, gave it; none: what its
/// caller does.
inline std::optional<Phase> phaseOf(llvm::StringRef function) {
  auto last = [&](llvm::StringRef one, llvm::StringRef other) {
    size_t a = function.rfind(one), b = function.rfind(other);
    return a == llvm::StringRef::npos ? b : b == llvm::StringRef::npos ? a : std::max(a, b);
  };
  size_t forward = last(".fwd", ".forward"), backward = last(".bwd", ".backward");
  if (forward == llvm::StringRef::npos && backward == llvm::StringRef::npos)
    return std::nullopt;
  bool isForward =
      backward == llvm::StringRef::npos || (forward != llvm::StringRef::npos && forward > backward);
  return isForward ? Phase::forward : Phase::backward;
}

/// The path in the parameters' tree of a path in an entry's: "up.weight" of
/// "state.params.up.weight"; empty for what is no parameter.
inline llvm::StringRef parameterName(llvm::StringRef path) {
  if (path.consume_front("params."))
    return path;
  size_t at = path.find(".params.");
  return at == llvm::StringRef::npos ? llvm::StringRef() : path.substr(at + 8);
}

} // namespace minigptc

#endif // MINIGPTC_COMPILER_EXPLAIN_ROLES_H
