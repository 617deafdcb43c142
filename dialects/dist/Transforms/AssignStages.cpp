//===- AssignStages.cpp - --dist-assign-stages ----------------------------===//
#include "dialects/dist/IR/Dist.h"
#include "dialects/dist/IR/Task.h"
#include "dialects/dist/Transforms/MicroBatches.h"
#include "dialects/dist/Transforms/Passes.h"
#include "dialects/dist/Transforms/StagePlacement.h"
#include "dialects/graph/IR/Pieces.h"
#include "dialects/graph/Transforms/FunctionGraph.h"
#include "mlir/IR/SymbolTable.h"
#include "llvm/ADT/SmallBitVector.h"

namespace minigptc::dist {
#define GEN_PASS_DEF_DISTASSIGNSTAGES
#include "dialects/dist/Transforms/Passes.h.inc"
} // namespace minigptc::dist

using namespace mlir;
using namespace minigptc;
using namespace minigptc::dist;

namespace {

/// What the module says of its pipeline.
struct PipelinePlan {
  ScheduleKind kind = ScheduleKind::gpipe;
  Pipeline pipeline;
};

FailureOr<PipelinePlan> readPlan(ModuleOp module, int64_t stages) {
  PipelinePlan plan{.pipeline = {.stages = stages}};
  auto given = module->getAttrOfType<DictionaryAttr>(attr::kPipeline);
  if (!given)
    return plan;
  if (auto name = given.getAs<StringAttr>("schedule")) {
    std::optional<ScheduleKind> kind = scheduleNamed(name.getValue());
    if (!kind)
      return module.emitError() << "there is no schedule " << name
                                << "; there are gpipe, 1f1b, interleaved";
    plan.kind = *kind;
  }
  if (auto chunks = given.getAs<IntegerAttr>("chunks"))
    plan.pipeline.chunks = chunks.getInt();
  return plan;
}

bool holdsPieces(func::FuncOp function) {
  return !function.isExternal() &&
         llvm::any_of(function.front(), [](Operation &op) { return graph::isPiece(&op); });
}

bool isEntry(func::FuncOp function) {
  return !function.isExternal() && function->hasAttr(graph::attr::kEntry);
}

/// Cuts the loops over micro-batches of an entry.
LogicalResult cutLoops(func::FuncOp entry, SymbolTable &symbols, const PipelinePlan &plan) {
  for (auto loop : llvm::make_early_inc_range(entry.front().getOps<graph::LoopOp>())) {
    auto body = symbols.lookup<func::FuncOp>(loop.getLoopBody().getValue());
    if (body && holdsPieces(body) &&
        failed(MicroBatchLoop(loop, body, symbols, plan.kind, plan.pipeline).cut()))
      return failure();
  }
  return success();
}

/// The marks of an entry's own calls become stages.
LogicalResult readMarks(func::FuncOp entry, const Pipeline &pipeline) {
  for (Operation &op : entry.front()) {
    auto mark = op.getAttrOfType<IntegerAttr>(graph::attr::kPiece);
    if (!mark)
      continue;
    if (mark.getInt() < 0 || mark.getInt() >= pipeline.pieces())
      return op.emitOpError() << "belongs to piece " << mark.getInt() << " of a model of "
                              << pipeline.pieces();
    op.setAttr(attr::kStage, OpBuilder(&op).getI64IntegerAttr(mark.getInt() % pipeline.stages));
    op.removeAttr(graph::attr::kPiece);
    bool isBackward = bool(op.removeAttr(graph::attr::kBackward));
    setTask(&op, {isBackward ? graph::Phase::backward : graph::Phase::forward, mark.getInt(),
                  /*microBatch=*/0});
  }
  return success();
}

/// Those that have a layer of an entry.
llvm::SmallBitVector stagesOf(func::FuncOp entry, int64_t stages) {
  llvm::SmallBitVector found{unsigned(stages)};
  for (Operation &op : entry.front())
    if (auto stage = op.getAttrOfType<IntegerAttr>(attr::kStage))
      found.set(unsigned(stage.getInt()));
  return found;
}

/// Results of an entry that knows of no layer (`init`) are where those that take them want them.
void placeResults(func::FuncOp entry, const StagePlacement::StagesByName &known) {
  for (unsigned number = 0; number < entry.getNumResults(); ++number) {
    auto name = entry.getResultAttrOfType<StringAttr>(number, graph::attr::kName);
    auto found = name ? known.find(name.getValue()) : known.end();
    if (found != known.end())
      entry.setResultAttr(number, attr::kStages,
                          OpBuilder(entry).getDenseI64ArrayAttr(found->second));
  }
}

bool cutsByStage(DictionaryAttr attributes) {
  bool cuts = false;
  if (attributes)
    attributes.walk([&](ShardingAttr sharding) {
      sharding.walk([&](StringAttr name) { cuts |= name == kStageAxis; });
    });
  return cuts;
}

/// The axis cuts no tensor, and is no other collective's.
LogicalResult checkAxis(ModuleOp module) {
  WalkResult found = module.walk([](Operation *op) {
    if (!cutsByStage(op->getAttrDictionary()))
      return WalkResult::advance();
    InFlightDiagnostic error = op->emitOpError() << "has a tensor";
    if (auto function = dyn_cast<func::FuncOp>(op))
      for (BlockArgument argument : function.getArguments())
        if (auto name =
                function.getArgAttrOfType<StringAttr>(argument.getArgNumber(), graph::attr::kName);
            name && cutsByStage(function.getArgAttrDict(argument.getArgNumber())))
          error << ", " << name << " of type " << argument.getType() << ",";
    error << " that axis '" << kStageAxis
          << "' cuts; that axis numbers the stages of a pipeline, and cuts none";
    return WalkResult::interrupt();
  });
  return failure(found.wasInterrupted());
}

struct AssignStages : minigptc::dist::impl::DistAssignStagesBase<AssignStages> {
  void runOnOperation() override {
    ModuleOp module = getOperation();
    int64_t stages = countStages(module);
    if (stages == 1)
      return eraseMarks();
    FailureOr<PipelinePlan> plan = readPlan(module, stages);
    if (failed(plan) || failed(checkAxis(module)))
      return signalPassFailure();
    SmallVector<func::FuncOp> entries(llvm::make_filter_range(
        module.getOps<func::FuncOp>(), [](func::FuncOp function) { return isEntry(function); }));
    SymbolTable symbols(module);
    llvm::SmallBitVector used{unsigned(stages)};
    for (func::FuncOp entry : entries) {
      if (failed(cutLoops(entry, symbols, *plan)) || failed(readMarks(entry, plan->pipeline)))
        return signalPassFailure();
      used |= stagesOf(entry, stages);
    }
    placeEntries(entries, stages);
    if (failed(checkLeft()) || failed(checkUsed(used)))
      signalPassFailure();
  }

  /// A model has a layer on each stage; a program that makes parameters, say, has none at all.
  LogicalResult checkUsed(const llvm::SmallBitVector &used) {
    ModuleOp module = getOperation();
    if (used.none())
      module.emitRemark() << "the mesh has " << used.size()
                          << " stages, and no layer is on any: each computes the whole program";
    else if (!used.all())
      return module.emitError() << "no layer is on stage " << (~used).find_first() << " of "
                                << used.size()
                                << "; a pipeline needs a layer for each, or a smaller axis '"
                                << kStageAxis << "'";
    return success();
  }

  void eraseMarks() {
    getOperation().walk([](Operation *op) {
      op->removeAttr(graph::attr::kPiece);
      op->removeAttr(graph::attr::kBackward);
    });
  }

  void placeEntries(ArrayRef<func::FuncOp> entries, int64_t stages) {
    StagePlacement::StagesByName known;
    SmallVector<func::FuncOp> withoutLayers;
    for (func::FuncOp entry : entries) {
      if (stagesOf(entry, stages).none()) {
        withoutLayers.push_back(entry);
        continue;
      }
      StagePlacement placement(entry, stages);
      placement.run();
      for (const auto &[name, where] : placement.getStages())
        known.try_emplace(name, where);
    }
    for (func::FuncOp entry : withoutLayers)
      placeResults(entry, known);
  }

  /// Layers that stand where no stage can take them. Bodies of loops that were cut are left.
  LogicalResult checkLeft() {
    FailureOr<graph::FunctionGraph> functions = graph::FunctionGraph::build(getOperation());
    if (failed(functions))
      return failure();
    for (func::FuncOp function : functions->getPostOrder()) {
      if (function.isExternal() || (!isEntry(function) && functions->getUses(function).size() == 0))
        continue;
      for (Operation &op : function.front())
        if (graph::isPiece(&op))
          return op.emitOpError()
                 << "belongs to a piece of a pipeline, but stands in " << function.getSymName()
                 << ", which is neither an entry nor the body of its loop over micro-batches; "
                    "stages cannot take it from there";
    }
    return success();
  }
};
} // namespace
