//===- Passes.h - from graph functions to exec blocks -----------*- C++ -*-===//
#ifndef MINIGPTC_COMPILER_CONVERSION_GRAPHTOEXEC_PASSES_H
#define MINIGPTC_COMPILER_CONVERSION_GRAPHTOEXEC_PASSES_H

#include "dialects/dist/IR/Dist.h"
#include "dialects/exec/IR/Exec.h"
#include "dialects/graph/IR/Graph.h"
#include "mlir/Pass/Pass.h"

namespace minigptc {

#define GEN_PASS_DECL
#include "compiler/conversion/GraphToExec/Passes.h.inc"
#define GEN_PASS_REGISTRATION
#include "compiler/conversion/GraphToExec/Passes.h.inc"

} // namespace minigptc

#endif // MINIGPTC_COMPILER_CONVERSION_GRAPHTOEXEC_PASSES_H
