//===- MergeFunctions.cpp - one function for equal ones -------------------===//
#include "dialects/graph/Transforms/MergeFunctions.h"
#include "dialects/graph/IR/Phase.h"
#include "mlir/IR/AttrTypeSubElements.h"

using namespace mlir;
using namespace minigptc::graph;

namespace {

/// Without the name, and without the phase: a forward function that saves nothing is the function
/// itself, and does what its caller does.
DictionaryAttr attributesToCompare(func::FuncOp function) {
  NamedAttrList attributes(function->getAttrDictionary());
  attributes.erase(function.getSymNameAttrName());
  attributes.erase(attr::kPhase);
  return attributes.getDictionary(function.getContext());
}

/// Values are hashed by their number within the function, so that the hash says
/// how ops are connected.
llvm::hash_code hashFunction(func::FuncOp function) {
  DenseMap<Value, size_t> numbers;
  auto number = [&](Value value) { numbers.try_emplace(value, numbers.size()); };
  auto hashValue = [&](Value value) { return llvm::hash_value(numbers.lookup(value)); };
  llvm::hash_code hash = llvm::hash_value(attributesToCompare(function).getAsOpaquePointer());
  function.getBody().walk<WalkOrder::PreOrder>([&](Operation *op) {
    for (Region &region : op->getRegions())
      for (Block &block : region)
        llvm::for_each(block.getArguments(), number);
    llvm::for_each(op->getResults(), number);
    hash = llvm::hash_combine(
        hash, op->getNumRegions(),
        OperationEquivalence::computeHash(op, hashValue, OperationEquivalence::ignoreHashValue,
                                          OperationEquivalence::IgnoreLocations));
  });
  return hash;
}

bool areEqual(func::FuncOp lhs, func::FuncOp rhs) {
  return attributesToCompare(lhs) == attributesToCompare(rhs) &&
         OperationEquivalence::isRegionEquivalentTo(&lhs.getBody(), &rhs.getBody(),
                                                    OperationEquivalence::IgnoreLocations);
}

void redirect(const FunctionGraph::Uses &uses, func::FuncOp from, func::FuncOp to) {
  auto newName = FlatSymbolRefAttr::get(to.getSymNameAttr());
  for (func::CallOp call : uses.calls)
    call.setCalleeAttr(newName);
  AttrTypeReplacer replacer;
  replacer.addReplacement([&](FlatSymbolRefAttr symbol) -> std::optional<Attribute> {
    if (symbol.getAttr() == from.getSymNameAttr())
      return newName;
    return std::nullopt;
  });
  for (Operation *op : uses.others)
    replacer.replaceElementsIn(op);
}

} // namespace

bool minigptc::graph::mergeEqualFunctions(const FunctionGraph &functions) {
  DenseMap<size_t, SmallVector<func::FuncOp>> byHash;
  SmallVector<func::FuncOp> merged;
  for (func::FuncOp function : functions.getPostOrder()) {
    if (!isPrivateWithBody(function))
      continue;
    auto &candidates = byHash[hashFunction(function)];
    auto same =
        llvm::find_if(candidates, [&](func::FuncOp other) { return areEqual(other, function); });
    if (same == candidates.end()) {
      candidates.push_back(function);
      continue;
    }
    // Callers come later in this order, hence are hashed with the new name.
    redirect(functions.getUses(function), function, *same);
    merged.push_back(function);
  }
  for (func::FuncOp function : merged)
    function.erase();
  return !merged.empty();
}
