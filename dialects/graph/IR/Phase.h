//===- Phase.h - which way of a step a function is of -----------*- C++ -*-===//
//
// Forward and backward functions, which autodiff and pipelines make, say that they are such:
// `graph.phase = "forward"` or `"backward"`. A function that does not does what its caller does.
//
//   setPhase(function, Phase::backward);
//   if (getPhase(function) == Phase::backward) …
//
//===----------------------------------------------------------------------===//
#ifndef MINIGPTC_DIALECTS_GRAPH_IR_PHASE_H
#define MINIGPTC_DIALECTS_GRAPH_IR_PHASE_H

#include "mlir/IR/BuiltinAttributes.h"
#include "mlir/IR/Operation.h"

#include <optional>

namespace minigptc::graph {

enum class Phase { forward, backward };

namespace attr {
/// func.func: a string, the name of a Phase.
inline constexpr llvm::StringLiteral kPhase = "graph.phase";
} // namespace attr

inline llvm::StringRef nameOf(Phase phase) {
  return phase == Phase::forward ? "forward" : "backward";
}

inline std::optional<Phase> phaseNamed(mlir::StringAttr name) {
  for (Phase phase : {Phase::forward, Phase::backward})
    if (name && name.getValue() == nameOf(phase))
      return phase;
  return std::nullopt;
}

inline void setPhase(mlir::Operation *function, Phase phase) {
  function->setAttr(attr::kPhase, mlir::StringAttr::get(function->getContext(), nameOf(phase)));
}

inline std::optional<Phase> getPhase(mlir::Operation *function) {
  return phaseNamed(function->getAttrOfType<mlir::StringAttr>(attr::kPhase));
}

} // namespace minigptc::graph

#endif // MINIGPTC_DIALECTS_GRAPH_IR_PHASE_H
