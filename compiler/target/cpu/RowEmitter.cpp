//===- RowEmitter.cpp -----------------------------------------------------===//
#include "compiler/target/cpu/RowEmitter.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"

using namespace mlir;
using namespace minigptc;
using namespace minigptc::cpu;
using namespace minigptc::graph::kernel;

/// Rows that are worth their prefetches.
static constexpr int64_t kPrefetchedColumns = 64;

Value RowEmitter::position(Value row, Value column) {
  Scalars s = elements.scalars();
  return s.add(s.mul(row, plan.columns), column);
}

Value RowEmitter::keptPointer(const RowPlan::Kept &kept) {
  if (kept.offset == 0)
    return scratch;
  OpBuilder::InsertionGuard guard(builder);
  builder.setInsertionPointAfterValue(scratch);
  return target::addressBehind({builder, scratch.getLoc()}, scratch, builder.getI8Type(),
                               kept.offset);
}

void RowEmitter::emitItem(Value item) {
  clearColumns(item);
  if (plan.columnOutputs.empty())
    return emitRow(item, item);
  Scalars s = elements.scalars();
  Value first = s.mul(item, plan.rowsPerItem);
  scf::ForOp rows = elements.enterLoop(first, s.add(first, plan.rowsPerItem));
  emitRow(item, rows.getInductionVar());
  elements.leaveLoop(rows);
}

/// Column outputs are added up where they go.
void RowEmitter::clearColumns(Value item) {
  if (plan.columnOutputs.empty())
    return;
  scf::ForOp loop = elements.enterRowLoop(plan.columns, {});
  for (unsigned number : plan.columnOutputs)
    elements.store(columnSum(number).emitNeutral(builder), buffers[number],
                   getElementType(output(number)), position(item, loop.getInductionVar()));
  elements.leaveLoop(loop);
}

void RowEmitter::emitRow(Value item, Value row) {
  for (unsigned phase = 0; phase < plan.phases.size(); ++phase)
    emitPhase(phase, item, row);
  storeRowOutputs(row);
}

void RowEmitter::emitPhase(unsigned phase, Value item, Value row) {
  ArrayRef<graph::ReductionKernelOp> reductions = plan.phases[phase];
  scf::ForOp loop = elements.enterRowLoop(plan.columns, reductions);
  Value column = loop.getInductionVar();
  SmallVector<Value> combined;
  for (auto [i, reduction] : llvm::enumerate(reductions)) {
    graph::ReductionKernelOp op = reduction;
    Value operand = op->getOperand(0);
    Value next = elements.element(operand, elements.indicesInRow(operand, row, column));
    combined.push_back(op.emitCombine(builder, loop.getRegionIterArg(i), next));
  }
  storeKept(phase, row, column);
  if (phase == plan.longestPhase)
    prefetchNextRow(row, column);
  if (phase + 1 == plan.phases.size())
    emitOutputs(item, row, column);
  elements.leaveRowLoop(loop, combined);
  for (auto [i, reduction] : llvm::enumerate(reductions)) {
    Value result = reduction->getResult(0);
    Value scalar = elements.rounded(loop.getResult(i), getElementType(result));
    elements.note(result, elements.indicesInRow(result, row, {}), scalar);
  }
  for (const RowPlan::Kept &kept : plan.kept)
    if (kept.phase == phase)
      elements.keep(kept.value, row, keptPointer(kept));
}

/// Later phases find the row in the cache, and memory would rest: it brings what the
/// next row's first phase reads. Nothing is read, so the last row needs no exception.
void RowEmitter::prefetchNextRow(Value row, Value column) {
  if (plan.phases.size() == 1 || plan.columns < kPrefetchedColumns)
    return;
  for (BlockArgument argument : kernel.getArguments())
    if (plan.argumentInRow[argument.getArgNumber()])
      elements.prefetch(argument, position(row, elements.scalars().add(column, plan.columns)));
}

void RowEmitter::storeKept(unsigned phase, Value row, Value column) {
  for (const RowPlan::Kept &kept : plan.kept) {
    if (kept.phase != phase)
      continue;
    Value value = kept.value;
    Value scalar = elements.element(value, elements.indicesInRow(value, row, column));
    elements.store(scalar, keptPointer(kept), getElementType(value), column);
  }
}

/// All elements are computed before any is stored: an output may lie where an input is.
void RowEmitter::emitOutputs(Value item, Value row, Value column) {
  SmallVector<Value> full, columns;
  auto elementInRow = [&](Value value) {
    return elements.element(value, elements.indicesInRow(value, row, column));
  };
  for (unsigned number : plan.fullOutputs)
    full.push_back(elementInRow(output(number)));
  for (unsigned number : plan.columnOutputs)
    columns.push_back(elementInRow(columnSum(number)->getOperand(0)));
  for (auto [number, scalar] : llvm::zip_equal(plan.columnOutputs, columns)) {
    Type type = getElementType(output(number));
    Value at = position(item, column);
    Value old = elements.load(buffers[number], type, at);
    elements.store(columnSum(number).emitCombine(builder, old, scalar), buffers[number], type, at);
  }
  for (auto [number, scalar] : llvm::zip_equal(plan.fullOutputs, full))
    elements.store(scalar, buffers[number], getElementType(output(number)), position(row, column),
                   isStreamed(output(number)));
}

void RowEmitter::storeRowOutputs(Value row) {
  SmallVector<Value> scalars;
  for (unsigned number : plan.rowOutputs)
    scalars.push_back(
        elements.element(output(number), elements.indicesInRow(output(number), row, {})));
  for (auto [number, scalar] : llvm::zip_equal(plan.rowOutputs, scalars))
    elements.store(scalar, buffers[number], getElementType(output(number)), row);
}
