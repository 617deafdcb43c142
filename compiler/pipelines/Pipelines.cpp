//===- Pipelines.cpp - stages and their passes ----------------------------===//
#include "compiler/pipelines/Pipelines.h"
#include "compiler/pipelines/Timing.h"

#include "dialects/dist/IR/Dist.h"
#include "dialects/exec/IR/Exec.h"
#include "dialects/graph/IR/Graph.h"
#include "mlir/Pass/Pass.h"
#include "mlir/Pass/PassManager.h"
#include "mlir/Pass/PassRegistry.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"

#include <mutex>

using namespace mlir;
using namespace minigptc;

namespace {
/// A stage and the passes that lead to it from the one before. Passes of one
/// function are nested, so that they run side by side.
struct StageInfo {
  Stage stage;
  StringRef name, passes;
};

constexpr StageInfo kStages[] = {
    {Stage::trace, "trace", ""},
    {Stage::autodiff, "autodiff",
     "graph-infer-index-bounds,graph-inline,graph-simplify-functions,graph-hoist-invariants,"
     "plan-recomputation,graph-autodiff,graph-inline,graph-simplify-functions"},
    {Stage::step, "step", "graph-mark-prints,func.func(canonicalize,cse),graph-simplify-functions"},
    {Stage::stage, "stage", "dist-assign-stages,graph-simplify-functions"},
    {Stage::shard, "shard",
     "dist-separate-local,dist-decompose,dist-split-constants,dist-specialize,dist-propagate,"
     "dist-insert-reshards,dist-hoist-reshards,dist-widen-sums"},
    {Stage::spmd, "spmd", "dist-check,dist-partition,dist-project-stages,dist-bucket"},
    {Stage::fuse, "fuse",
     "dist-strip,graph-chunk-losses,graph-align-loops,graph-mark-prints,graph-sink-converts,"
     "graph-sink-sums,"
     "func.func(lower-all-slices,graph-decompose{keep-whole-kernels=true},canonicalize,cse,"
     "graph-accumulate-scatters,graph-canonicalize-dots,graph-split-reductions,graph-stack-sums,"
     "cse,graph-accumulate-dots,graph-fuse)"},
    {Stage::schedule, "schedule",
     "func.func(graph-fuse-epilogues),graph-outline-kernels,func.func(graph-schedule),"
     "dist-peel-collectives,func.func(dist-overlap)"},
    {Stage::exec, "exec", "convert-graph-to-exec,exec-inline-blocks,exec-group-launches"},
};

StringRef nameOf(Stage stage) { return kStages[size_t(stage)].name; }

/// Writes the stage that a module has reached into it.
struct MarkStage : PassWrapper<MarkStage, OperationPass<ModuleOp>> {
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(MarkStage)
  explicit MarkStage(Stage stage) : stage(stage) {}
  StringRef getName() const override { return "MarkStage"; }
  void runOnOperation() override {
    getOperation()->setAttr(kStageAttr, StringAttr::get(&getContext(), nameOf(stage)));
  }
  Stage stage;
};

/// `--minigptc-to-<stage>`: the passes from where the module is.
struct ToStage : PassWrapper<ToStage, OperationPass<ModuleOp>> {
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(ToStage)
  explicit ToStage(Stage stage) : stage(stage), argument(("minigptc-to-" + nameOf(stage)).str()) {}
  StringRef getName() const override { return "ToStage"; }
  StringRef getArgument() const override { return argument; }
  StringRef getDescription() const override {
    return "all passes from a module's stage to this one";
  }
  void getDependentDialects(DialectRegistry &registry) const override {
    registry.insert<graph::GraphDialect, dist::DistDialect, exec::ExecDialect,
                    memref::MemRefDialect, func::FuncDialect>();
  }
  void runOnOperation() override {
    FailureOr<Stage> from = getStage(getOperation(), stage);
    OpPassManager passes(ModuleOp::getOperationName());
    if (succeeded(from))
      buildPipeline(passes, *from, stage);
    if (failed(from) || failed(runPipeline(passes, getOperation())))
      signalPassFailure();
  }
  Stage stage;
  std::string argument;
};
} // namespace

std::string minigptc::stageNames() {
  return llvm::join(llvm::map_range(kStages, [](const StageInfo &info) { return info.name; }),
                    ", ");
}

std::optional<Stage> minigptc::parseStage(std::string_view name) {
  for (const StageInfo &info : kStages)
    if (info.name == llvm::StringRef(name))
      return info.stage;
  return std::nullopt;
}

FailureOr<Stage> minigptc::getStage(ModuleOp module, Stage to) {
  auto attribute = module->getAttrOfType<StringAttr>(kStageAttr);
  std::optional<Stage> stage = attribute ? parseStage(attribute.getValue()) : Stage::trace;
  if (!stage)
    return emitError(module.getLoc())
           << "the module is in stage " << attribute << ", which is none of " << stageNames();
  if (*stage > to)
    return emitError(module.getLoc()) << "the module is in stage " << nameOf(*stage)
                                      << " already; there is no way back to " << nameOf(to);
  return *stage;
}

void minigptc::registerPipelines() {
  for (const StageInfo &info : llvm::drop_begin(kStages))
    PassRegistration<ToStage>([stage = info.stage] { return std::make_unique<ToStage>(stage); });
}

void minigptc::buildPipeline(OpPassManager &passManager, Stage from, Stage to) {
  static std::once_flag registered;
  std::call_once(registered, registerAllPasses);
  for (const StageInfo &info : kStages) {
    if (info.stage <= from || info.stage > to)
      continue;
    if (failed(parsePassPipeline(info.passes, passManager)))
      llvm::report_fatal_error("the pipeline to stage '" + info.name +
                               "' names a pass that does not exist");
    passManager.addPass(std::make_unique<MarkStage>(info.stage));
  }
}

LogicalResult minigptc::runPipeline(ModuleOp module, Stage to, const CompileOptions &options,
                                    CompileStats &stats) {
  FailureOr<Stage> from = getStage(module, to);
  if (failed(from))
    return failure();
  MLIRContext *context = module.getContext();
  bool threaded = context->isMultithreadingEnabled();
  PassManager passManager(context, ModuleOp::getOperationName());
  passManager.enableVerifier(options.verifyEach);
  if (options.timing)
    passManager.addInstrumentation(timePasses(stats.parts));
  if (!options.printIrAfter.empty()) {
    context->disableMultithreading(); // Functions in order.
    passManager.enableIRPrinting(
        [](Pass *, Operation *) { return false; },
        [&](Pass *pass, Operation *) { return pass->getArgument() == options.printIrAfter; },
        /*printModuleScope=*/false, /*printAfterOnlyOnChange=*/false);
  }
  buildPipeline(passManager, *from, to);
  LogicalResult result = passManager.run(module);
  context->enableMultithreading(threaded);
  return result;
}
