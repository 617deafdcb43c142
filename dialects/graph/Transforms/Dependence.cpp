//===- Dependence.cpp - which values influence which ----------------------===//
#include "dialects/graph/Transforms/Dependence.h"

using namespace mlir;
using namespace minigptc::graph;

bool minigptc::graph::hasCotangent(Type type) {
  auto tensor = dyn_cast<RankedTensorType>(type);
  return tensor && isa<FloatType>(tensor.getElementType());
}

/// The operand with which a loop's result starts that is carried, or nothing.
static std::optional<unsigned> getCarriedOperand(Operation &op, unsigned result) {
  if (auto loop = dyn_cast<LoopOp>(op))
    return loop.getCarriedOperand(result);
  if (auto loop = dyn_cast<WhileOp>(op))
    return loop.getConstants().size() + result;
  return std::nullopt;
}

/// What is carried depends on what it was made from.
static void closeOverCalls(Operation &op, MutableArrayRef<BitVector> summary) {
  for (bool changed = true; changed;) {
    changed = false;
    for (BitVector &row : summary)
      for (unsigned result = 0; result < summary.size(); ++result) {
        std::optional<unsigned> carried = getCarriedOperand(op, result);
        if (!carried || !row[*carried] || !summary[result].test(row))
          continue;
        row |= summary[result];
        changed = true;
      }
  }
}

std::optional<Dependence::Summary> Dependence::summarize(Operation &op) {
  SmallVector<func::FuncOp, 2> callees = lookup(&op);
  // Of a function without a body nothing is known: everything may depend.
  auto isUnknown = [](func::FuncOp callee) { return !callee || callee.isDeclaration(); };
  if (callees.empty() || llvm::any_of(callees, isUnknown))
    return std::nullopt;
  Summary summary(op.getNumResults(), BitVector(op.getNumOperands()));
  unsigned first = isa<CondOp>(op) ? 1 : 0; // behind the predicate
  for (func::FuncOp callee : callees)
    for (auto [row, ofOne] : llvm::zip_equal(summary, ofResults(callee)))
      for (unsigned argument : ofOne.set_bits())
        row.set(first + argument);
  closeOverCalls(op, summary);
  return summary;
}

void Dependence::forEachEdge(Operation &op, function_ref<void(OpResult, OpOperand &)> visit) {
  std::optional<Summary> summary = summarize(op);
  for (OpResult result : op.getResults()) {
    if (!hasCotangent(result.getType()))
      continue;
    for (OpOperand &operand : op.getOpOperands())
      if (hasCotangent(operand.get().getType()) &&
          (!summary || (*summary)[result.getResultNumber()][operand.getOperandNumber()]))
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
