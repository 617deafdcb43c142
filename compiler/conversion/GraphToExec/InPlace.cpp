//===- InPlace.cpp --------------------------------------------------------===//
#include "compiler/conversion/GraphToExec/InPlace.h"
#include "compiler/conversion/GraphToLoops/RowPlan.h"

using namespace mlir;
using namespace minigptc;

namespace {
ArrayRef<int64_t> shapeOf(Type type) { return cast<RankedTensorType>(type).getShape(); }

bool isElementwise(Operation *op) {
  auto fusible = dyn_cast<graph::FusibleOp>(op);
  return fusible && fusible.getFusionKind() == graph::FusionKind::elementwise;
}

SmallVector<bool> findSameIndexArguments(func::FuncOp kernel) {
  SmallVector<bool> result(kernel.getNumArguments(), false);
  ArrayRef<Type> types = kernel.getResultTypes();
  if (types.empty() ||
      !llvm::all_of(types, [&](Type type) { return shapeOf(type) == shapeOf(types.front()); }))
    return result;
  // From the results to what they are computed from: a value is needed at other
  // indices as soon as one reader is not elementwise, or is itself needed there.
  DenseSet<Value> elsewhere;
  Block &body = kernel.getBody().front();
  for (Operation &op : llvm::reverse(body.without_terminator())) {
    bool same = isElementwise(&op) && llvm::none_of(op.getResults(), [&](Value value) {
                  return elsewhere.contains(value);
                });
    for (Value operand : op.getOperands())
      if (!same || shapeOf(operand.getType()) != shapeOf(types.front()))
        elsewhere.insert(operand);
  }
  for (BlockArgument argument : body.getArguments())
    result[argument.getArgNumber()] =
        !elsewhere.contains(argument) && shapeOf(argument.getType()) == shapeOf(types.front());
  return result;
}

/// The operand of an op that replaces a part of it, if the kernel is nothing but that op:
/// each item first copies its part of it (or, in place, finds it there), and reads no other.
SmallVector<bool> findUpdatedArgument(func::FuncOp kernel, Operation *update) {
  SmallVector<bool> result(kernel.getNumArguments(), false);
  auto argument = dyn_cast<BlockArgument>(update->getOperand(0));
  if (argument && argument.hasOneUse())
    result[argument.getArgNumber()] = true;
  return result;
}

unsigned bytesPerElement(Type type) {
  return (cast<RankedTensorType>(type).getElementTypeBitWidth() + 7) / 8;
}
} // namespace

InPlaceAnalysis::Facts InPlaceAnalysis::findFacts(func::FuncOp kernel) {
  SmallVector<bool> results(kernel.getNumResults(), true);
  Operation *terminator = kernel.getBody().front().getTerminator();
  if (terminator->getNumOperands() == 1)
    if (Operation *op = terminator->getOperand(0).getDefiningOp();
        op && isa<graph::ScatterKernelOp, graph::BlockKernelOp>(op))
      return {findUpdatedArgument(kernel, op), std::move(results)};
  std::optional<graph::kernel::RowPlan> rows = graph::kernel::planRows(kernel);
  if (!rows)
    return {findSameIndexArguments(kernel), std::move(results)};
  for (unsigned number = 0; number < results.size(); ++number)
    results[number] = llvm::is_contained(rows->fullOutputs, number);
  return {std::move(rows->argumentInRow), std::move(results)};
}

bool InPlaceAnalysis::mayOverwrite(func::FuncOp kernel, unsigned argument, unsigned result) {
  auto [entry, isNew] = facts.try_emplace(kernel);
  if (isNew)
    entry->second = findFacts(kernel);
  const Facts &known = entry->second;
  return known.arguments[argument] && known.results[result] &&
         bytesPerElement(kernel.getArgumentTypes()[argument]) ==
             bytesPerElement(kernel.getResultTypes()[result]);
}
