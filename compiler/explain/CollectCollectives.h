//===- CollectCollectives.h - the collectives of an entry -------*- C++ -*-===//
#ifndef MINIGPTC_COMPILER_EXPLAIN_COLLECTCOLLECTIVES_H
#define MINIGPTC_COMPILER_EXPLAIN_COLLECTCOLLECTIVES_H

#include "minigptc/compiler/Explain.h"
#include "mlir/IR/BuiltinOps.h"

namespace minigptc {

/// What one run of `entry` sends, of a module at stage `spmd`, or, with what goes on beside it, at
/// stage `schedule`: through calls and loops, as often as they run. Most bytes first, then in the order of the program. Collectives that
/// send nothing are left out.
std::vector<ExplainedCollective> collectCollectives(mlir::ModuleOp module, llvm::StringRef entry);

} // namespace minigptc

#endif // MINIGPTC_COMPILER_EXPLAIN_COLLECTCOLLECTIVES_H
