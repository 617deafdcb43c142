//===- Pipelines.h - stages and their passes --------------------*- C++ -*-===//
//
// A module carries its stage in `minigptc.stage`; passes from one stage to the
// next are listed once, here, for the command line, `jit` and minigptc-opt.
//
//   registerAllDialects(registry);
//   if (failed(runPipeline(module, Stage::fuse, options, stats))) … // from whatever stage it is in
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
/// All passes and pipelines, for the command line ("--minigptc-to-fuse", …).
void registerAllPasses();

/// Registers `--minigptc-to-<stage>`, which goes on from the module's stage.
void registerPipelines();

/// The stage a module is in (`trace` if it does not say). Fails, with a
/// diagnostic, if that is unknown or later than `to`.
llvm::FailureOr<Stage> getStage(mlir::ModuleOp module, Stage to);

/// Adds the passes that bring a module from one stage to a later one.
void buildPipeline(mlir::OpPassManager &passManager, Stage from, Stage to);
/// Brings a module to a stage; the module says where it is. With `options.timing`, `stats`
/// gets what the stages and passes took.
llvm::LogicalResult runPipeline(mlir::ModuleOp module, Stage to, const CompileOptions &options,
                                CompileStats &stats);

} // namespace minigptc

#endif // MINIGPTC_COMPILER_PIPELINES_PIPELINES_H
