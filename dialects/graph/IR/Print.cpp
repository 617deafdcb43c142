//===- Print.cpp - lines with values of the run ---------------------------===//
#include "dialects/graph/IR/Batching.h"
#include "dialects/graph/IR/Diagnostics.h"
#include "dialects/graph/IR/Graph.h"

using namespace mlir;
using namespace minigptc::graph;

/// Of one print; as the runtime's (runtime/exec/Prints.cpp).
static constexpr int64_t kMaxLines = int64_t(1) << 24;

bool minigptc::graph::prints(Operation *op) {
  return isa<PrintOp>(op) || op->hasAttr(attr::kPrints);
}

bool minigptc::graph::isMessage(Operation *op) {
  return isa<MemoryEffectOpInterface>(op) && !isMemoryEffectFree(op) && !prints(op);
}

bool minigptc::graph::keepsPlace(Operation *op) {
  return isMessage(op) || (prints(op) && op->getNumResults() > 0);
}

void minigptc::graph::detail::addPrintEffect(
    Operation *op, SmallVectorImpl<MemoryEffects::EffectInstance> &effects) {
  if (prints(op))
    effects.emplace_back(MemoryEffects::Write::get());
}

LogicalResult PrintOp::verify() {
  if (getTexts().size() != getValues().size() + 1)
    return emitOpError() << "has " << getTexts().size() << " texts for " << getValues().size()
                         << " values; there must be one before each and one behind the last";
  int64_t dims = getExamples();
  if (dims < 0 || (dims > 0 && getValues().empty()))
    return emitOpError() << "has examples along " << dims << " dimensions of no value";
  ArrayRef<int64_t> examples;
  for (Value value : getValues()) {
    ArrayRef<int64_t> shape = cast<RankedTensorType>(value.getType()).getShape();
    if (int64_t(shape.size()) < dims)
      return emitOpError() << "has examples along " << dims << " dimensions, but a value "
                           << describe(value);
    if (value == getValues()[0])
      examples = shape.take_front(dims);
    if (shape.take_front(dims) != examples)
      return emitOpError() << "has values of other examples: " << describe(getValues()[0])
                           << " and " << describe(value);
  }
  int64_t lines = 1;
  for (int64_t size : examples)
    if (llvm::MulOverflow(lines, size, lines) || lines > kMaxLines)
      return emitOpError() << "has a line for each example of " << describe(examples)
                           << "; these are more than " << kMaxLines;
  return success();
}

/// A line for each example.
static FailureOr<BatchedValues> batchPrint(PrintOp op, Batch &batch) {
  PrintOp::create(batch.b.getBuilder(), op.getLoc(), batch.allOperands(), op.getTexts(),
                  op.getExamples() + 1, op.getAxesAttr());
  return BatchedValues();
}

void minigptc::graph::attachPrintBatchRule(MLIRContext *context) {
  attachBatchRule<batchPrint, PrintOp>(context);
}
