//===- FunctionGraph.cpp - who refers to whom -----------------------------===//
#include "dialects/graph/Transforms/FunctionGraph.h"

using namespace mlir;
using namespace minigptc::graph;

void minigptc::graph::forEachReference(Operation *op, function_ref<void(StringAttr)> visit) {
  if (auto call = dyn_cast<func::CallOp>(op))
    return visit(call.getCalleeAttr().getAttr());
  if (!isa<SymbolUserOpInterface>(op))
    return;
  op->getAttrDictionary().walk([&](SymbolRefAttr symbol) { visit(symbol.getLeafReference()); });
}

FailureOr<FunctionGraph> FunctionGraph::build(ModuleOp module) {
  FunctionGraph graph;
  for (auto function : module.getOps<func::FuncOp>())
    graph.byName[function.getSymNameAttr()] = function;
  for (auto function : module.getOps<func::FuncOp>()) {
    auto &references = graph.references[function];
    function.walk([&](Operation *op) {
      forEachReference(op, [&](StringAttr name) {
        func::FuncOp callee = graph.byName.lookup(name);
        if (!callee)
          return;
        Uses &uses = graph.uses[callee];
        if (auto call = dyn_cast<func::CallOp>(op))
          uses.calls.push_back(call);
        else
          uses.others.push_back(op);
        references.push_back(callee);
      });
    });
  }
  if (failed(graph.sort(module)))
    return failure();
  for (func::FuncOp function : graph.postOrder)
    if (graph.computePure(function))
      graph.pure.insert(function);
  return graph;
}

const FunctionGraph::Uses &FunctionGraph::getUses(func::FuncOp function) const {
  static const Uses none;
  auto it = uses.find(function);
  return it == uses.end() ? none : it->second;
}

/// Depth-first, with a stack of its own: models can nest deeply.
LogicalResult FunctionGraph::sort(ModuleOp module) {
  enum class State { open = 1, done };
  DenseMap<Operation *, State> states;
  for (auto root : module.getOps<func::FuncOp>()) {
    if (states.contains(root))
      continue;
    SmallVector<std::pair<func::FuncOp, size_t>> stack{{root, 0}};
    states[root] = State::open;
    while (!stack.empty()) {
      auto &[function, next] = stack.back();
      ArrayRef<func::FuncOp> callees = references[function];
      if (next == callees.size()) {
        states[function] = State::done;
        postOrder.push_back(function);
        stack.pop_back();
        continue;
      }
      func::FuncOp callee = callees[next++];
      auto [it, isNew] = states.try_emplace(callee, State::open);
      if (isNew)
        stack.push_back({callee, 0});
      else if (it->second == State::open)
        return callee.emitError("recursive function: ")
               << callee.getSymName() << " calls itself, "
               << "directly or through others; graph programs are finite, unroll it";
    }
  }
  return success();
}

bool FunctionGraph::hasFreeSignature(func::FuncOp function) const {
  return isPrivateWithBody(function) && !function->hasAttr(attr::kKernel) &&
         !function->hasAttr(attr::kHost) && getUses(function).others.empty();
}

bool FunctionGraph::isPure(Operation *op) const {
  bool isFree = isa<func::CallOp>(op) || isMemoryEffectFree(op);
  forEachReference(op, [&](StringAttr name) {
    if (func::FuncOp callee = lookup(name))
      isFree &= isPure(callee);
    else // Of a function that is not there nothing is known; a mesh does nothing.
      isFree &= !isa<func::CallOp>(op);
  });
  return isFree;
}

bool FunctionGraph::computePure(func::FuncOp function) const {
  if (function.isDeclaration())
    return false;
  return !function
              .walk([&](Operation *op) {
                if (op == function || op->hasTrait<OpTrait::IsTerminator>())
                  return WalkResult::advance();
                return isPure(op) ? WalkResult::advance() : WalkResult::interrupt();
              })
              .wasInterrupted();
}

bool minigptc::graph::isPrivateWithBody(func::FuncOp function) {
  return function.isPrivate() && !function->hasAttr(attr::kEntry) &&
         function.getBody().hasOneBlock();
}

void minigptc::graph::eraseDeadOps(Block &block, const FunctionGraph &functions) {
  for (Operation &op : llvm::make_early_inc_range(llvm::reverse(block))) {
    if (op.use_empty() && !op.hasTrait<OpTrait::IsTerminator>() && functions.isPure(&op))
      op.erase();
  }
}
