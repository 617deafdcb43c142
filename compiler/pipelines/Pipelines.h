//===- Pipelines.h - stages and their passes --------------------*- C++ -*-===//
//
// A module carries its stage in `minigptc.stage`; passes from one stage to the
// next are listed once, here, for the command line, `jit` and minigptc-opt.
//
//===----------------------------------------------------------------------===//
#ifndef MINIGPTC_COMPILER_PIPELINES_PIPELINES_H
#define MINIGPTC_COMPILER_PIPELINES_PIPELINES_H

#include "minigptc/compiler/Compile.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/DialectRegistry.h"
#include "mlir/Pass/PassManager.h"

namespace minigptc {

inline constexpr llvm::StringLiteral kStageAttr = "minigptc.stage";

/// All dialects and external models that any stage needs.
void registerAllDialects(mlir::DialectRegistry &registry);
/// All passes and pipelines, for minigptc-opt ("--minigptc-to-fuse", …).
void registerAllPasses();

/// Adds the passes that bring a module from one stage to a later one.
void buildPipeline(mlir::OpPassManager &passManager, Stage from, Stage to);
/// Brings a module to a stage; the module says where it is.
llvm::LogicalResult runPipeline(mlir::ModuleOp module, Stage to, const CompileOptions &options);

} // namespace minigptc

#endif // MINIGPTC_COMPILER_PIPELINES_PIPELINES_H
