//===- PlanRecomputation.cpp - --plan-recomputation -----------------------===//
#include "compiler/conversion/GraphToExec/MemoryReport.h"
#include "compiler/pipelines/Passes.h"
#include "compiler/pipelines/Pipelines.h"
#include "dialects/graph/Transforms/RecomputePrice.h"

#include <cmath>

namespace minigptc {
#define GEN_PASS_DEF_PLANRECOMPUTATION
#include "compiler/pipelines/Passes.h.inc"
} // namespace minigptc

using namespace mlir;
using namespace minigptc;

namespace {
/// Prices are 2^exponent: from less than any op costs to more than products of
/// matrices do. Above, whole blocks would be run again to have their inputs, which
/// takes more memory than it saves.
constexpr double kLowest = -4, kHighest = 16;
/// Halvings of the step from the last price that does not fit to the first that does.
constexpr int kRefinements = 5;

struct PlanRecomputation : minigptc::impl::PlanRecomputationBase<PlanRecomputation> {
  void runOnOperation() override {
    auto budget = getOperation()->getAttrOfType<IntegerAttr>(graph::attr::kMemoryBudget);
    if (!budget || getOperation()->hasAttr(graph::attr::kRecomputePrice))
      return;
    // Only gradients can be had with less memory.
    if (!getOperation().walk([](graph::VjpOp) { return WalkResult::interrupt(); }).wasInterrupted())
      return;
    if (failed(plan(budget.getInt())))
      signalPassFailure();
  }

  LogicalResult plan(int64_t budget) {
    FailureOr<int64_t> free = measure(0);
    if (failed(free))
      return failure();
    if (*free <= budget)
      return success();
    int64_t least = *free;
    for (double exponent = kLowest; exponent <= kHighest; ++exponent) {
      FailureOr<int64_t> bytes = measure(std::exp2(exponent));
      if (failed(bytes))
        return failure();
      if (*bytes <= budget)
        return refine(budget, exponent);
      least = std::min(least, *bytes);
    }
    getOperation()->setAttr(graph::attr::kLeastMemory,
                            Builder(&getContext()).getI64IntegerAttr(least));
    return emitError(getOperation().getLoc())
           << "the memory plan does not fit its budget of " << budget << " bytes: it takes "
           << *free << ", and " << least << " with what can be computed again";
  }

  /// The price 2^high fits, its half does not: the lowest between that does.
  LogicalResult refine(int64_t budget, double high) {
    double low = high - 1;
    for (int i = 0; i < kRefinements; ++i) {
      double middle = (low + high) / 2;
      FailureOr<int64_t> bytes = measure(std::exp2(middle));
      if (failed(bytes))
        return failure();
      (*bytes <= budget ? high : low) = middle;
    }
    setPrice(getOperation(), std::exp2(high));
    return success();
  }

  static void setPrice(ModuleOp module, double price) {
    module->setAttr(graph::attr::kRecomputePrice,
                    Builder(module.getContext()).getF64FloatAttr(price));
  }

  /// What the largest entry takes at a price.
  FailureOr<int64_t> measure(double price) {
    OwningOpRef<ModuleOp> copy = getOperation().clone();
    setPrice(*copy, price);
    PassManager passManager(&getContext(), ModuleOp::getOperationName());
    passManager.enableVerifier(false); // The module itself is verified on its way.
    buildPipeline(passManager, Stage::trace, Stage::exec);
    if (failed(passManager.run(*copy)))
      return failure();
    int64_t largest = 0;
    for (auto block : copy->getOps<exec::BlockOp>())
      if (block->hasAttr(graph::attr::kEntry))
        largest = std::max(largest, computeMemoryReport(*copy, block).total);
    return largest;
  }
};
} // namespace
