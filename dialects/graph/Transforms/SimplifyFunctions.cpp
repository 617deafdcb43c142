//===- SimplifyFunctions.cpp - --graph-simplify-functions -----------------===//
//
// Alternates linear sweeps until nothing changes: equal functions are merged; results
// are dropped from callers down to callees; so is what loops do not need; arguments from
// callees up to callers. Each sweep makes dead ops that the next one sees. Two
// or three rounds are usual, however many functions there are.
//
//===----------------------------------------------------------------------===//
#include "dialects/graph/Transforms/FunctionGraph.h"
#include "dialects/graph/Transforms/MergeFunctions.h"
#include "dialects/graph/Transforms/Passes.h"
#include "dialects/graph/Transforms/SimplifyLoops.h"

namespace minigptc::graph {
#define GEN_PASS_DEF_GRAPHSIMPLIFYFUNCTIONS
#include "dialects/graph/Transforms/Passes.h.inc"
} // namespace minigptc::graph

using namespace mlir;
using namespace minigptc::graph;

namespace {

using Calls = SmallVector<func::CallOp>;

Operation *getReturn(func::FuncOp function) { return function.getBody().front().getTerminator(); }

//===----------------------------------------------------------------------===//
// Results
//===----------------------------------------------------------------------===//

/// Uses of a result that is an argument, or equal to an earlier result, become
/// uses of that. The result itself is unused then.
bool forwardResults(func::FuncOp function, ArrayRef<func::CallOp> calls) {
  bool changed = false;
  DenseMap<Value, unsigned> first;
  for (OpOperand &returned : getReturn(function)->getOpOperands()) {
    unsigned number = returned.getOperandNumber();
    auto argument = dyn_cast<BlockArgument>(returned.get());
    auto [it, isNew] = first.try_emplace(returned.get(), number);
    if (!argument && isNew)
      continue;
    for (func::CallOp call : calls) {
      changed |= !call.getResult(number).use_empty();
      call.getResult(number).replaceAllUsesWith(argument ? call.getOperand(argument.getArgNumber())
                                                         : call.getResult(it->second));
    }
  }
  return changed;
}

/// The call again, without the results in `dead`.
func::CallOp withoutResults(func::CallOp call, const BitVector &dead) {
  SmallVector<Type> types;
  SmallVector<Value> kept;
  for (OpResult result : call.getResults())
    if (!dead[result.getResultNumber()]) {
      types.push_back(result.getType());
      kept.push_back(result);
    }
  OpBuilder builder(call);
  auto copy =
      func::CallOp::create(builder, call.getLoc(), types, call->getOperands(), call->getAttrs());
  for (auto [before, after] : llvm::zip(kept, copy.getResults()))
    before.replaceAllUsesWith(after);
  call.erase();
  return copy;
}

bool eraseUnusedResults(func::FuncOp function, Calls &calls) {
  BitVector dead(function.getNumResults(), true);
  for (func::CallOp call : calls)
    for (OpResult result : call.getResults())
      if (!result.use_empty())
        dead.reset(result.getResultNumber());
  if (dead.none())
    return false;
  getReturn(function)->eraseOperands(dead);
  if (failed(function.eraseResults(dead)))
    return false;
  for (func::CallOp &call : calls)
    call = withoutResults(call, dead);
  return true;
}

/// Callers first, so that all calls of a function are known, and none of them
/// dead, when its turn comes.
bool dropResults(const FunctionGraph &functions) {
  bool changed = false;
  DenseMap<Operation *, Calls> callsOf;
  for (func::FuncOp function : llvm::reverse(functions.getPostOrder())) {
    if (function.isDeclaration())
      continue;
    Calls &calls = callsOf[function];
    bool isRoot = !function.isPrivate() || function->hasAttr(attr::kEntry);
    if (!isRoot && calls.empty() && functions.getUses(function).others.empty()) {
      function.erase();
      changed = true;
      continue;
    }
    if (functions.hasFreeSignature(function)) {
      changed |= forwardResults(function, calls);
      changed |= eraseUnusedResults(function, calls);
    }
    for (Block &block : function.getBody())
      eraseDeadOps(block, functions);
    function.walk([&](func::CallOp call) {
      if (func::FuncOp callee = functions.getCallee(call))
        callsOf[callee].push_back(call);
    });
  }
  return changed;
}

//===----------------------------------------------------------------------===//
// Arguments
//===----------------------------------------------------------------------===//

/// Arguments that get one value at each call site become one.
void mergeArguments(func::FuncOp function, ArrayRef<func::CallOp> calls) {
  std::map<std::vector<void *>, BlockArgument> first;
  for (BlockArgument argument : function.getArguments()) {
    std::vector<void *> given;
    for (func::CallOp call : calls)
      given.push_back(call.getOperand(argument.getArgNumber()).getAsOpaquePointer());
    auto [it, isNew] = first.try_emplace(std::move(given), argument);
    if (!isNew)
      argument.replaceAllUsesWith(it->second);
  }
}

bool eraseUnusedArguments(func::FuncOp function, ArrayRef<func::CallOp> calls) {
  BitVector dead(function.getNumArguments());
  for (BlockArgument argument : function.getArguments())
    if (argument.use_empty())
      dead.set(argument.getArgNumber());
  if (dead.none() || failed(function.eraseArguments(dead)))
    return false;
  for (func::CallOp call : calls)
    call->eraseOperands(dead);
  return true;
}

/// Callees first: calls that lost operands make dead ops in their callers. A
/// call that dies belongs to a function whose turn is over.
bool dropArguments(const FunctionGraph &functions) {
  bool changed = false;
  for (func::FuncOp function : functions.getPostOrder()) {
    for (Block &block : function.getBody())
      eraseDeadOps(block, functions);
    const FunctionGraph::Uses &uses = functions.getUses(function);
    if (!functions.hasFreeSignature(function) || uses.calls.empty())
      continue;
    mergeArguments(function, uses.calls);
    changed |= eraseUnusedArguments(function, uses.calls);
  }
  return changed;
}

struct SimplifyFunctions : minigptc::graph::impl::GraphSimplifyFunctionsBase<SimplifyFunctions> {
  void runOnOperation() override {
    for (bool changed = true; changed;) {
      changed = false;
      for (auto sweep : {mergeEqualFunctions, dropResults, simplifyLoops, dropArguments}) {
        FailureOr<FunctionGraph> functions = FunctionGraph::build(getOperation());
        if (failed(functions))
          return signalPassFailure();
        changed |= sweep(*functions);
      }
    }
  }
};

} // namespace
