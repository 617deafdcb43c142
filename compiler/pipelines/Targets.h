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

/// Says, by an attribute of a module, whether stage `schedule` puts collectives beside compute.
/// Unless the user decides, the target does; text that comes from one that does so stays as it is.
/// Throws CompileError.
void chooseOverlap(mlir::ModuleOp module, const CompileOptions &options,
                   const target::Target &target);

} // namespace minigptc

#endif // MINIGPTC_COMPILER_PIPELINES_TARGETS_H
