//===- Timing.h - what compiling takes --------------------------*- C++ -*-===//
//
//   passManager.addInstrumentation(timePasses(stats.parts));
//   llvm::errs() << timingReport(stats);
//
//===----------------------------------------------------------------------===//
#ifndef MINIGPTC_COMPILER_PIPELINES_TIMING_H
#define MINIGPTC_COMPILER_PIPELINES_TIMING_H

#include "minigptc/compiler/Compile.h"
#include "mlir/Pass/PassInstrumentation.h"

#include <memory>

namespace minigptc {

/// Adds up the passes, and the stages that they lead to, in `parts`, which outlives it.
std::unique_ptr<mlir::PassInstrumentation> timePasses(std::vector<CompilePart> &parts);

/// A table for people: the stages in order, then passes, phases and kernels, the slowest
/// first.
std::string timingReport(const CompileStats &stats);

} // namespace minigptc

#endif // MINIGPTC_COMPILER_PIPELINES_TIMING_H
