//===- Warnings.h - annotations that cost more than they need ---*- C++ -*-===//
//
// Looks at products with annotated parameters in the forward functions, and follows which
// dimensions of activations these parameters cut:
//
// | annotation | said of it |
// |---|---|
// | cuts a product's output dimension, while the other operand is cut where the product sums | the
// activation is gathered; the summed dimension instead | | cuts one summed dimension, while the
// other operand is cut along another | the activation is moved; the other dimension instead | |
// cuts the summed dimension, while the other operand is whole | what all-reducing the result would
// send; the output dimension instead | | a norm's vector is cut | which collective the norm needs |
// | matrices are whole on an axis over which others are stored | their share of all parameters |
//
//===----------------------------------------------------------------------===//
#ifndef MINIGPTC_COMPILER_EXPLAIN_WARNINGS_H
#define MINIGPTC_COMPILER_EXPLAIN_WARNINGS_H

#include "minigptc/compiler/Explain.h"
#include "mlir/IR/BuiltinOps.h"

namespace minigptc {

/// Of a module at stage `step` with a mesh: what an entry's annotations cost that others
/// would not. None without a mesh.
std::vector<ExplainedWarning> collectWarnings(mlir::ModuleOp module, llvm::StringRef entry);

} // namespace minigptc

#endif // MINIGPTC_COMPILER_EXPLAIN_WARNINGS_H
