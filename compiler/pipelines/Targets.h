//===- Targets.h - what a program can be compiled for -----------*- C++ -*-===//
#ifndef MINIGPTC_COMPILER_PIPELINES_TARGETS_H
#define MINIGPTC_COMPILER_PIPELINES_TARGETS_H

#include "compiler/target/artifact/TargetCode.h"

namespace minigptc {

/// The target of `options`, which outlive it. Throws CompileError, which names those that there
/// are.
std::unique_ptr<target::Target> makeTarget(const CompileOptions &options);

/// Tells the passes, by attributes of a module, what is best on the options' target.
void tune(mlir::ModuleOp module, const CompileOptions &options);

} // namespace minigptc

#endif // MINIGPTC_COMPILER_PIPELINES_TARGETS_H
