//===- Autodiff.cpp - --graph-autodiff ------------------------------------===//
//
// Replaces graph.vjp, callees before callers: when a function is differentiated
// it holds no vjp any more, so gradients of gradients need nothing special.
//
//===----------------------------------------------------------------------===//
#include "dialects/graph/IR/Builders.h"
#include "dialects/graph/Transforms/Differentiator.h"
#include "dialects/graph/Transforms/FunctionGraph.h"
#include "dialects/graph/Transforms/Passes.h"
#include "dialects/graph/Transforms/RecomputePrice.h"
#include "mlir/IR/Matchers.h"

namespace minigptc::graph {
#define GEN_PASS_DEF_GRAPHAUTODIFF
#include "dialects/graph/Transforms/Passes.h.inc"
} // namespace minigptc::graph

using namespace mlir;
using namespace minigptc::graph;

namespace {

/// A constant zero, or one that is spread: such a cotangent asks for nothing.
bool isZero(Value value) {
  Operation *op = value.getDefiningOp();
  if (auto fusible = dyn_cast_or_null<FusibleOp>(op);
      fusible && fusible.getFusionKind() == FusionKind::broadcast && op->getNumOperands() == 1)
    return isZero(op->getOperand(0));
  DenseElementsAttr constant;
  if (!matchPattern(value, m_Constant(&constant)) || !constant.isSplat())
    return false;
  return isa<FloatType>(constant.getElementType()) && constant.getSplatValue<APFloat>().isPosZero();
}

/// What of a vjp is asked for.
struct Request {
  BitVector wanted, live;

  Request(VjpOp vjp, func::FuncOp callee)
      : wanted(callee.getNumArguments()), live(callee.getNumResults()) {
    for (auto [gradient, argument] : llvm::zip(getGradients(vjp, callee), vjp.getWrt()))
      if (!gradient.use_empty())
        wanted.set(argument);
    for (auto [i, cotangent] : llvm::enumerate(vjp.getCotangents()))
      live[i] = hasCotangent(cotangent.getType()) && !isZero(cotangent);
  }

  static ResultRange getGradients(VjpOp vjp, func::FuncOp callee) {
    return vjp->getResults().drop_front(callee.getNumResults());
  }
};

struct Autodiff : minigptc::graph::impl::GraphAutodiffBase<Autodiff> {
  LogicalResult replace(VjpOp vjp, Differentiator &differentiator) {
    func::FuncOp callee = differentiator.lookup(vjp.getCalleeAttr().getAttr());
    Request request(vjp, callee);
    auto derivative =
        differentiator.differentiate(callee, request.wanted, request.live, std::nullopt, vjp);
    if (failed(derivative))
      return failure();
    OpBuilder builder(vjp);
    Location loc = vjp.getLoc();
    SmallVector<Value> gradients(callee.getNumArguments());
    func::CallOp forward;
    if ((*derivative)->exists()) {
      forward = differentiator.callForward(builder, loc, **derivative, vjp.getInputs());
      gradients = differentiator.callBackward(builder, loc, **derivative, vjp.getInputs(),
                                              forward.getResults(),
                                              SmallVector<Value>(vjp.getCotangents()));
    } else {
      forward = func::CallOp::create(builder, loc, callee, vjp.getInputs());
    }
    if (vjp->hasAttr(attr::kSilent))
      differentiator.silence(forward);
    SmallVector<Value> outputs(forward.getResults().take_front(callee.getNumResults()));
    for (int64_t argument : vjp.getWrt()) {
      Value gradient = gradients[argument];
      outputs.push_back(gradient ? gradient
                                 : GraphBuilder(builder, loc).zerosLike(vjp.getInputs()[argument]));
    }
    vjp->replaceAllUsesWith(outputs);
    vjp.erase();
    return success();
  }

  void noteRecomputed(const Differentiator &differentiator) {
    Builder b(&getContext());
    SmallVector<Attribute> values;
    for (auto [type, loc] : differentiator.getRecomputed())
      values.push_back(b.getDictionaryAttr({b.getNamedAttr("place", LocationAttr(loc)),
                                            b.getNamedAttr("type", TypeAttr::get(type))}));
    getOperation()->setAttr(attr::kRecomputed, b.getArrayAttr(values));
  }

  void runOnOperation() override {
    FailureOr<FunctionGraph> functions = FunctionGraph::build(getOperation());
    if (failed(functions))
      return signalPassFailure();
    auto price = getOperation()->getAttrOfType<FloatAttr>(attr::kRecomputePrice);
    Differentiator differentiator(getOperation(), price ? price.getValueAsDouble() : 0);
    for (func::FuncOp function : functions->getPostOrder()) {
      SmallVector<VjpOp> requests;
      function.walk([&](VjpOp vjp) { requests.push_back(vjp); });
      for (VjpOp vjp : requests)
        if (failed(replace(vjp, differentiator)))
          return signalPassFailure();
    }
    if (!differentiator.getRecomputed().empty())
      noteRecomputed(differentiator);
  }
};

} // namespace
