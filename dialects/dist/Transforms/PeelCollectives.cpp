//===- PeelCollectives.cpp - --dist-peel-collectives ----------------------===//
#include "dialects/dist/Transforms/Passes.h"
#include "dialects/graph/Transforms/FunctionGraph.h"

#include "mlir/IR/IRMapping.h"

namespace minigptc::dist {
#define GEN_PASS_DEF_DISTPEELCOLLECTIVES
#include "dialects/dist/Transforms/Passes.h.inc"
} // namespace minigptc::dist

using namespace mlir;
using namespace minigptc;
using namespace minigptc::dist;

namespace {
/// Moves collectives at the ends of a function to its callers.
class Peeler {
public:
  Peeler(func::FuncOp function, ArrayRef<func::CallOp> calls)
      : function(function), body(function.getBody().front()), calls(calls) {}

  void run() {
    peelFront();
    dropUnusedArguments();
    peelBack();
  }

private:
  static bool isArgument(Value value) { return isa<BlockArgument>(value); }
  static bool isReturn(Operation *op) { return op->hasTrait<OpTrait::IsTerminator>(); }

  SmallVector<CollectiveOp> collectives(function_ref<bool(Operation *)> where) {
    SmallVector<CollectiveOp> found;
    for (Operation &op : body)
      if (auto collective = dyn_cast<CollectiveOp>(op);
          collective && collective.hasToWait() && where(&op))
        found.push_back(collective);
    return found;
  }

  /// What a collective of arguments gives becomes an argument.
  void peelFront() {
    SmallVector<CollectiveOp> peeled =
        collectives([](Operation *op) { return llvm::all_of(op->getOperands(), isArgument); });
    for (CollectiveOp op : peeled) {
      for (func::CallOp call : calls) {
        IRMapping map;
        for (Value operand : op->getOperands())
          map.map(operand, call.getOperand(cast<BlockArgument>(operand).getArgNumber()));
        Operation *copy = OpBuilder(call).clone(*op, map);
        call->insertOperands(call->getNumOperands(), copy->getResults());
      }
      for (Value result : op->getResults()) {
        unsigned number = function.getNumArguments();
        (void)function.insertArgument(number, result.getType(), {}, op->getLoc());
        result.replaceAllUsesWith(function.getArgument(number));
      }
      op->erase();
    }
  }

  void dropUnusedArguments() {
    BitVector unused(function.getNumArguments());
    for (BlockArgument argument : function.getArguments())
      if (argument.use_empty())
        unused.set(argument.getArgNumber());
    (void)function.eraseArguments(unused);
    for (func::CallOp call : calls)
      call->eraseOperands(unused);
  }

  /// What a collective takes, of which all is returned, is returned instead.
  void peelBack() {
    SmallVector<CollectiveOp> peeled =
        collectives([](Operation *op) { return llvm::all_of(op->getUsers(), isReturn); });
    if (peeled.empty())
      return;
    Operation *terminator = body.getTerminator();
    SmallVector<Value> returned;
    SmallVector<unsigned> kept; ///< numbers of old results
    for (OpOperand &use : terminator->getOpOperands())
      if (!llvm::is_contained(peeled,
                              dyn_cast_if_present<CollectiveOp>(use.get().getDefiningOp()))) {
        kept.push_back(use.getOperandNumber());
        returned.push_back(use.get());
      }
    for (CollectiveOp op : peeled)
      for (Value operand : op->getOperands())
        if (!llvm::is_contained(returned, operand))
          returned.push_back(operand);
    SmallVector<func::CallOp> changed;
    for (func::CallOp call : calls)
      changed.push_back(replaceCall(call, returned, kept, peeled, terminator));
    terminator->setOperands(returned);
    BitVector old(function.getNumResults(), true);
    for (unsigned number : kept)
      old.reset(number);
    (void)function.eraseResults(old);
    for (Value value : ArrayRef(returned).drop_front(kept.size()))
      (void)function.insertResult(function.getNumResults(), value.getType(), {});
    renumberDonated(kept);
    for (CollectiveOp op : peeled)
      op->erase();
    calls.assign(changed.begin(), changed.end());
  }

  /// Arguments whose memory a result takes over say so by its number. (No collective's result
  /// takes over any: it is not computed.)
  void renumberDonated(ArrayRef<unsigned> kept) {
    Builder builder(function.getContext());
    for (unsigned number = 0; number < function.getNumArguments(); ++number)
      if (auto donate = function.getArgAttrOfType<IntegerAttr>(number, graph::attr::kDonate))
        function.setArgAttr(
            number, graph::attr::kDonate,
            builder.getI64IntegerAttr(llvm::find(kept, unsigned(donate.getInt())) - kept.begin()));
  }

  /// A call that returns what the collectives behind it take.
  func::CallOp replaceCall(func::CallOp call, ArrayRef<Value> returned, ArrayRef<unsigned> kept,
                           ArrayRef<CollectiveOp> peeled, Operation *terminator) {
    OpBuilder builder(call);
    auto changed = func::CallOp::create(builder, call.getLoc(), call.getCalleeAttr(),
                                        ValueRange(returned).getTypes(), call.getOperands());
    changed->setDiscardableAttrs(call->getDiscardableAttrDictionary());
    for (auto [place, number] : llvm::enumerate(kept))
      call.getResult(number).replaceAllUsesWith(changed.getResult(place));
    IRMapping map;
    for (auto [value, result] : llvm::zip(returned, changed.getResults()))
      map.map(value, result);
    for (CollectiveOp op : peeled) {
      Operation *copy = builder.clone(*op, map);
      for (OpOperand &use : terminator->getOpOperands())
        if (use.get().getDefiningOp() == op)
          call.getResult(use.getOperandNumber())
              .replaceAllUsesWith(copy->getResult(cast<OpResult>(use.get()).getResultNumber()));
    }
    call.erase();
    return changed;
  }

  func::FuncOp function;
  Block &body;
  SmallVector<func::CallOp> calls;
};

struct PeelCollectives : minigptc::dist::impl::DistPeelCollectivesBase<PeelCollectives> {
  void runOnOperation() override {
    if (!getOperation()->hasAttr(attr::kOverlap))
      return;
    auto functions = graph::FunctionGraph::build(getOperation());
    if (failed(functions))
      return signalPassFailure();
    // Calls are replaced: they are looked up anew, once, by their callee.
    DenseMap<StringAttr, SmallVector<func::CallOp>> calls;
    auto collect = [&](func::FuncOp caller) {
      caller.walk(
          [&](func::CallOp call) { calls[call.getCalleeAttr().getAttr()].push_back(call); });
    };
    for (func::FuncOp caller : functions->getPostOrder())
      collect(caller);
    for (func::FuncOp function : functions->getPostOrder())
      if (functions->hasFreeSignature(function) && runsOnDevices(function) &&
          !functions->getUses(function).calls.empty())
        Peeler(function, calls.lookup(function.getSymNameAttr())).run();
  }
};
} // namespace
