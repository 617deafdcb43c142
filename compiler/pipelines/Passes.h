//===- Passes.h - passes that run pipelines ---------------------*- C++ -*-===//
#ifndef MINIGPTC_COMPILER_PIPELINES_PASSES_H
#define MINIGPTC_COMPILER_PIPELINES_PASSES_H

#include "dialects/exec/IR/Exec.h"
#include "dialects/graph/IR/Graph.h"
#include "mlir/Pass/Pass.h"

namespace minigptc {

#define GEN_PASS_DECL
#include "compiler/pipelines/Passes.h.inc"
#define GEN_PASS_REGISTRATION
#include "compiler/pipelines/Passes.h.inc"

} // namespace minigptc

#endif // MINIGPTC_COMPILER_PIPELINES_PASSES_H
