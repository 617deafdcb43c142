//===- InPlace.cpp --------------------------------------------------------===//
#include "compiler/conversion/GraphToExec/InPlace.h"

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

unsigned bytesPerElement(Type type) {
  return (cast<RankedTensorType>(type).getElementTypeBitWidth() + 7) / 8;
}
} // namespace

bool InPlaceAnalysis::mayOverwrite(func::FuncOp kernel, unsigned argument, unsigned result) {
  auto [entry, isNew] = sameIndex.try_emplace(kernel);
  if (isNew)
    entry->second = findSameIndexArguments(kernel);
  return entry->second[argument] && bytesPerElement(kernel.getArgumentTypes()[argument]) ==
                                        bytesPerElement(kernel.getResultTypes()[result]);
}
