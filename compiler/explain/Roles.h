//===- Roles.h - what functions and arguments are for -----------*- C++ -*-===//
#ifndef MINIGPTC_COMPILER_EXPLAIN_ROLES_H
#define MINIGPTC_COMPILER_EXPLAIN_ROLES_H

#include "dialects/graph/IR/Phase.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "llvm/ADT/StringRef.h"

#include <optional>

namespace minigptc {

enum class Phase { update, forward, backward };

/// What a function does in the step; none: what its caller does.
inline std::optional<Phase> phaseOf(mlir::func::FuncOp function) {
  std::optional<graph::Phase> phase = function ? graph::getPhase(function) : std::nullopt;
  if (!phase)
    return std::nullopt;
  return *phase == graph::Phase::forward ? Phase::forward : Phase::backward;
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
