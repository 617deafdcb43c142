//===- Strip.cpp - equal local programs look equal ------------------------===//
#include "dialects/dist/Transforms/Passes.h"

#include "mlir/Interfaces/FunctionInterfaces.h"

namespace minigptc::dist {
#define GEN_PASS_DEF_DISTSTRIP
#include "dialects/dist/Transforms/Passes.h.inc"
} // namespace minigptc::dist

using namespace mlir;
using namespace minigptc;
using namespace minigptc::dist;

namespace {
struct Strip : minigptc::dist::impl::DistStripBase<Strip> {
  void runOnOperation() override {
    if (!findMesh(getOperation()))
      return;
    getOperation().walk([](Operation *op) {
      op->removeAttr(attr::kShardings);
      op->removeAttr(attr::kFactors);
      if (!isa<CollectiveOp>(op))
        op->removeAttr(attr::kOrigins);
      auto function = dyn_cast<FunctionOpInterface>(op);
      for (unsigned i = 0; function && i < function.getNumArguments(); ++i)
        function.removeArgAttr(i, StringAttr::get(op->getContext(), attr::kStored));
      if (function && !op->hasAttr(graph::attr::kEntry)) {
        for (unsigned i = 0; i < function.getNumArguments(); ++i)
          function.removeArgAttr(i, StringAttr::get(op->getContext(), attr::kSharding));
        for (unsigned i = 0; i < function.getNumResults(); ++i)
          function.removeResultAttr(i, StringAttr::get(op->getContext(), attr::kSharding));
      }
    });
  }
};
} // namespace
