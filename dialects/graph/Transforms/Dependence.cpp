//===- Dependence.cpp - which values influence which ----------------------===//
#include "dialects/graph/Transforms/Dependence.h"

using namespace mlir;
using namespace minigptc::graph;

bool minigptc::graph::hasCotangent(Type type) {
  auto tensor = dyn_cast<RankedTensorType>(type);
  return tensor && isa<FloatType>(tensor.getElementType());
}

void Dependence::forEachEdge(Operation &op, function_ref<void(OpResult, OpOperand &)> visit) {
  func::FuncOp callee = lookup(&op);
  // Of a function without a body nothing is known: everything may depend.
  bool isKnown = callee && !callee.isDeclaration();
  ArrayRef<BitVector> summary = isKnown ? ofResults(callee) : ArrayRef<BitVector>();
  for (OpResult result : op.getResults()) {
    if (!hasCotangent(result.getType()))
      continue;
    for (OpOperand &operand : op.getOpOperands())
      if (hasCotangent(operand.get().getType()) &&
          (!isKnown || summary[result.getResultNumber()][operand.getOperandNumber()]))
        visit(result, operand);
  }
}

ArrayRef<BitVector> Dependence::ofResults(func::FuncOp function) {
  if (auto it = summaries.find(function); it != summaries.end())
    return it->second;
  unsigned arguments = function.getNumArguments();
  DenseMap<Value, BitVector> sets;
  for (BlockArgument argument : function.getArguments())
    if (hasCotangent(argument.getType())) {
      BitVector &set = sets.try_emplace(argument, arguments).first->second;
      set.set(argument.getArgNumber());
    }
  Block &body = function.getBody().front();
  for (Operation &op : body.without_terminator())
    forEachEdge(op, [&](OpResult result, OpOperand &operand) {
      if (auto it = sets.find(operand.get()); it != sets.end()) {
        BitVector from = it->second;
        sets.try_emplace(result, arguments).first->second |= from;
      }
    });
  SmallVector<BitVector> summary;
  for (Value returned : body.getTerminator()->getOperands())
    summary.push_back(sets.contains(returned) ? sets.lookup(returned) : BitVector(arguments));
  return summaries[function] = std::move(summary);
}

ValueSet Dependence::dependingOn(ValueRange values, Block &block) {
  ValueSet set(values.begin(), values.end());
  for (Operation &op : block.without_terminator())
    forEachEdge(op, [&](OpResult result, OpOperand &operand) {
      if (set.contains(operand.get()))
        set.insert(result);
    });
  return set;
}

ValueSet Dependence::influencing(ValueRange values, Block &block) {
  ValueSet set(values.begin(), values.end());
  for (Operation &op : llvm::reverse(block.without_terminator()))
    forEachEdge(op, [&](OpResult result, OpOperand &operand) {
      if (set.contains(result))
        set.insert(operand.get());
    });
  return set;
}
