//===- Passes.h - passes within the exec dialect ----------------*- C++ -*-===//
//
// Declarations generated from Passes.td, which also documents each pass.
//
//===----------------------------------------------------------------------===//
#ifndef MINIGPTC_DIALECTS_EXEC_TRANSFORMS_PASSES_H
#define MINIGPTC_DIALECTS_EXEC_TRANSFORMS_PASSES_H

#include "dialects/exec/IR/Exec.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/Pass/Pass.h"

namespace minigptc::exec {

#define GEN_PASS_DECL
#include "dialects/exec/Transforms/Passes.h.inc"
#define GEN_PASS_REGISTRATION
#include "dialects/exec/Transforms/Passes.h.inc"

} // namespace minigptc::exec

#endif // MINIGPTC_DIALECTS_EXEC_TRANSFORMS_PASSES_H
