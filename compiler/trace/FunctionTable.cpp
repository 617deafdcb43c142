//===- FunctionTable.cpp - one function per distinct body -----------------===//
#include "compiler/trace/FunctionTable.h"
#include "mlir/IR/OperationSupport.h"

using namespace mlir;
using namespace minigptc::detail;

namespace {

/// A hash of the function that ignores its name and all locations.
size_t hashFunction(func::FuncOp function) {
  llvm::DenseMap<Value, unsigned> numbers;
  llvm::hash_code hash = llvm::hash_value(function.getFunctionType().getAsOpaquePointer());
  Block &body = function.getBody().front();
  for (Value argument : body.getArguments())
    numbers.try_emplace(argument, numbers.size());
  for (Operation &op : body) {
    hash = llvm::hash_combine(hash, op.getName(), op.getDiscardableAttrDictionary(),
                              op.hashProperties());
    for (Value operand : op.getOperands())
      hash = llvm::hash_combine(hash, numbers.lookup(operand));
    for (Value result : op.getResults()) {
      hash = llvm::hash_combine(hash, result.getType());
      numbers.try_emplace(result, numbers.size());
    }
  }
  return hash;
}

/// All attributes but the name.
bool sameAttributes(func::FuncOp a, func::FuncOp b) {
  auto strip = [](func::FuncOp op) {
    NamedAttrList attributes(op->getAttrDictionary());
    attributes.erase(SymbolTable::getSymbolAttrName());
    return attributes.getDictionary(op.getContext());
  };
  return strip(a) == strip(b);
}

bool isEqual(func::FuncOp a, func::FuncOp b) {
  return a.getFunctionType() == b.getFunctionType() && sameAttributes(a, b) &&
         OperationEquivalence::isRegionEquivalentTo(&a.getBody(), &b.getBody(),
                                                    OperationEquivalence::IgnoreLocations);
}

} // namespace

func::FuncOp FunctionTable::add(func::FuncOp function, StringRef name) {
  auto &candidates = byHash[hashFunction(function)];
  for (func::FuncOp candidate : candidates)
    if (isEqual(candidate, function)) {
      function.erase();
      return candidate;
    }
  unsigned number = uses[name]++;
  std::string unique = name.str();
  while (number > 0) {
    unique = (name + "_" + Twine(number)).str();
    if (uses.try_emplace(unique, 1).second)
      break;
    number = uses[name]++;
  }
  function.setSymName(unique);
  module.push_back(function);
  candidates.push_back(function);
  return function;
}
