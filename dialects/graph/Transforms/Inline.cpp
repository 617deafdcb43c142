//===- Inline.cpp - --graph-inline ----------------------------------------===//
#include "dialects/graph/IR/Pieces.h"
#include "dialects/graph/Transforms/FunctionGraph.h"
#include "dialects/graph/Transforms/Passes.h"
#include "mlir/IR/IRMapping.h"

namespace minigptc::graph {
#define GEN_PASS_DEF_GRAPHINLINE
#include "dialects/graph/Transforms/Passes.h.inc"
} // namespace minigptc::graph

using namespace mlir;
using namespace minigptc::graph;

namespace {

int64_t countOps(func::FuncOp function) {
  return function.getBody().front().getOperations().size() - 1; // without the return
}

bool mustStay(func::FuncOp function) {
  return !isPrivateWithBody(function) || function->hasAttr(attr::kHost) ||
         function->hasAttr(attr::kRemat) || function->hasAttr(attr::kKernel);
}

/// A call that belongs to a piece of a pipeline's model stays one op. What holds such calls does
/// not: they come to where stages take them from.
bool isPieceOf(const FunctionGraph::Uses &uses) { return llvm::any_of(uses.calls, isPiece); }
bool holdsPieces(func::FuncOp function) {
  return llvm::any_of(function.getBody().front(), [](Operation &op) { return isPiece(&op); });
}

/// Copies the callee's body in place of the call.
void inlineCall(func::CallOp call, func::FuncOp callee) {
  OpBuilder builder(call);
  IRMapping map;
  Block &body = callee.getBody().front();
  map.map(body.getArguments(), call.getOperands());
  for (Operation &op : body.without_terminator()) {
    Operation *copy = builder.clone(op, map);
    copy->walk(
        [&](Operation *inner) { inner->setLoc(CallSiteLoc::get(inner->getLoc(), call.getLoc())); });
  }
  for (auto [result, returned] : llvm::zip(call.getResults(), body.getTerminator()->getOperands()))
    result.replaceAllUsesWith(map.lookupOrDefault(returned));
  call.erase();
}

struct Inline : minigptc::graph::impl::GraphInlineBase<Inline> {
  using GraphInlineBase::GraphInlineBase;

  /// Removes private functions that nothing reaches from a public one, so that
  /// their calls do not count as call sites.
  void eraseUnreferenced(const FunctionGraph &functions) {
    DenseMap<Operation *, size_t> remaining;
    for (func::FuncOp function : functions.getPostOrder())
      remaining[function] = functions.getUses(function).size();
    for (func::FuncOp function : llvm::reverse(functions.getPostOrder())) {
      if (!function.isPrivate() || function->hasAttr(attr::kEntry) || remaining[function] != 0)
        continue;
      function.walk([&](Operation *op) {
        if (auto call = dyn_cast<func::CallOp>(op))
          if (func::FuncOp callee = functions.getCallee(call))
            --remaining[callee];
      });
      function.erase();
    }
  }

  void runOnOperation() override {
    FailureOr<FunctionGraph> functions = FunctionGraph::build(getOperation());
    if (failed(functions))
      return signalPassFailure();
    eraseUnreferenced(*functions);
    functions = FunctionGraph::build(getOperation());
    if (failed(functions))
      return signalPassFailure();

    DenseSet<Operation *> inlinable;
    for (func::FuncOp function : functions->getPostOrder()) {
      if (function.isDeclaration())
        continue;
      for (auto call : llvm::make_early_inc_range(function.getOps<func::CallOp>()))
        if (func::FuncOp callee = functions->getCallee(call); inlinable.contains(callee))
          inlineCall(call, callee);
      // Its own calls are inlined now, so its size is final.
      const FunctionGraph::Uses &uses = functions->getUses(function);
      bool isSmall = countOps(function) <= maxOps && !function->hasAttr(attr::kShared);
      if (!mustStay(function) && !isPieceOf(uses) &&
          (uses.size() == 1 || isSmall || holdsPieces(function)))
        inlinable.insert(function);
    }
    for (func::FuncOp function : functions->getPostOrder())
      if (inlinable.contains(function) && functions->getUses(function).others.empty())
        function.erase();
  }
};

} // namespace
