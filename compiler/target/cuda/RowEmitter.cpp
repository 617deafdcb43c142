//===- RowEmitter.cpp -----------------------------------------------------===//
#include "compiler/target/cuda/RowEmitter.h"

using namespace mlir;
using namespace minigptc;
using namespace minigptc::cuda;
using namespace minigptc::graph::kernel;

Value RowEmitter::position(Value row, Value column) {
  return elements.linearise({row, column}, {rows.items * rows.rowsPerItem, rows.columns});
}

/// A vector's columns from `first` on; guarded: if the row has them.
RowEmitter::Values RowEmitter::foldSlot(Value first, int64_t slot, bool isGuarded,
                                        ValueRange state, ColumnFunction body) {
  OpBuilder::InsertionGuard guard(builder);
  Scalars s = elements.scalars();
  scf::IfOp branch;
  if (isGuarded) {
    Value present = s.compare(arith::CmpIPredicate::ult, first, s.index(rows.columns));
    branch = scf::IfOp::create(builder, s.loc, state.getTypes(), present,
                               /*withElseRegion=*/!state.empty());
    if (state.empty()) {
      builder.setInsertionPoint(branch.thenBlock()->getTerminator());
    } else {
      builder.setInsertionPointToEnd(branch.elseBlock());
      scf::YieldOp::create(builder, s.loc, state);
      builder.setInsertionPointToEnd(branch.thenBlock());
    }
  }
  Values values = body(first, slot, state);
  if (!branch)
    return values;
  if (!state.empty())
    scf::YieldOp::create(builder, s.loc, values);
  return Values(branch.getResults());
}

RowEmitter::Values RowEmitter::foldColumns(ValueRange initial, ColumnFunction body) {
  Scalars s = elements.scalars();
  int64_t width = layout.group * layout.vector;
  Value begin = s.mul(group.thread, layout.vector);
  Values state(initial);
  if (layout.unrolled) {
    for (int64_t slot = 0; slot < layout.slots; ++slot)
      state = foldSlot(elements.scalars().add(begin, slot * width), slot,
                       (slot + 1) * width > rows.columns, state, body);
    return state;
  }
  auto loop =
      scf::ForOp::create(builder, s.loc, begin, s.index(rows.columns), s.index(width), state);
  OpBuilder::InsertionGuard guard(builder);
  if (state.empty())
    builder.setInsertionPoint(loop.getBody()->getTerminator());
  else
    builder.setInsertionPointToEnd(loop.getBody());
  Values next = body(loop.getInductionVar(), 0, loop.getRegionIterArgs());
  if (!state.empty())
    scf::YieldOp::create(builder, s.loc, next);
  return Values(loop.getResults());
}

void RowEmitter::emit() {
  Scalars s = elements.scalars();
  group = {layout.group, place.thread, place.shared};
  Value item = place.block;
  if (layout.group == kWarp)
    group.thread = s.mod(place.thread, kWarp);
  if (hasColumns()) {
    if (rows.items > 0)
      emitItem(item);
    return;
  }
  if (layout.group == kWarp)
    item = s.add(s.mul(item, layout.groupsPerBlock), s.div(place.thread, kWarp));
  if (rows.items % layout.groupsPerBlock || rows.items == 0) {
    Value exists = s.compare(arith::CmpIPredicate::ult, item, s.index(rows.items));
    auto branch = scf::IfOp::create(builder, s.loc, exists, /*withElseRegion=*/false);
    builder.setInsertionPoint(branch.thenBlock()->getTerminator());
    emitRow(item, item, {});
    builder.setInsertionPointAfter(branch);
    return;
  }
  emitRow(item, item, {});
}

/// A block's rows, one after the other; of warps, each its own, which they take in turn.
void RowEmitter::emitItem(Value item) {
  Scalars s = elements.scalars();
  Value first = s.mul(item, rows.rowsPerItem);
  Value begin = first;
  if (layout.groupsPerBlock > 1)
    begin = s.add(begin, s.div(place.thread, kWarp));
  Values sums;
  if (keepsColumns()) {
    for (unsigned number : rows.columnOutputs)
      sums.append(layout.slots * layout.vector, columnSum(number).emitNeutral(builder));
  } else {
    clearColumns(item);
  }
  auto loop = scf::ForOp::create(builder, s.loc, begin, s.add(first, rows.rowsPerItem),
                                 s.index(layout.groupsPerBlock), sums);
  {
    OpBuilder::InsertionGuard guard(builder);
    if (sums.empty())
      builder.setInsertionPoint(loop.getBody()->getTerminator());
    else
      builder.setInsertionPointToEnd(loop.getBody());
    Values next = emitRow(item, loop.getInductionVar(), loop.getRegionIterArgs());
    if (!sums.empty())
      scf::YieldOp::create(builder, s.loc, next);
  }
  if (!keepsColumns())
    return;
  if (layout.groupsPerBlock > 1)
    storeWarpColumns(item, loop.getResults());
  else
    storeColumns(item, loop.getResults());
}

RowEmitter::Values RowEmitter::emitRow(Value item, Value row, ValueRange columnSums) {
  for (unsigned phase = 0; phase + 1 < rows.phases.size(); ++phase)
    emitReductions(phase, row);
  // Reductions of the last phase, if it has any, come before an output overwrites an input.
  if (!rows.phases.back().empty())
    emitReductions(rows.phases.size() - 1, row);
  Values sums = emitOutputs(item, row, columnSums);
  storeRowOutputs(row);
  return sums;
}

void RowEmitter::emitReductions(unsigned phase, Value row) {
  ArrayRef<graph::ReductionKernelOp> reductions = rows.phases[phase];
  // A chain for each place in a vector; those of a reduction stand together.
  Values chains;
  for (graph::ReductionKernelOp op : reductions)
    chains.append(layout.vector, op.emitNeutral(builder));
  chains = foldColumns(chains, [&](Value first, int64_t, ValueRange state) {
    Values next(state);
    for (int64_t k = 0; k < layout.vector; ++k)
      for (auto [i, reduction] : llvm::enumerate(reductions)) {
        graph::ReductionKernelOp op = reduction;
        Value &chain = next[i * layout.vector + k];
        Value column = elements.scalars().add(first, k);
        chain = op.emitCombine(builder, chain, elementInRow(op->getOperand(0), row, column));
      }
    return next;
  });
  Values parts;
  for (auto [i, reduction] : llvm::enumerate(reductions)) {
    MutableArrayRef<Value> own = MutableArrayRef(chains).slice(i * layout.vector, layout.vector);
    for (int64_t half = layout.vector / 2; half > 0; half /= 2)
      for (int64_t k = 0; k < half; ++k)
        own[k] = graph::ReductionKernelOp(reduction).emitCombine(builder, own[k], own[k + half]);
    parts.push_back(own.front());
  }
  parts = elements.combine(group, reductions, parts);
  for (auto [reduction, part] : llvm::zip_equal(reductions, parts)) {
    Value result = graph::ReductionKernelOp(reduction)->getResult(0);
    elements.note(result, elements.indicesInRow(result, row, {}),
                  elements.rounded(part, getElementType(result)));
  }
}

/// All elements of a vector are computed before any is stored: an output may lie where an
/// input is.
RowEmitter::Values RowEmitter::emitOutputs(Value item, Value row, ValueRange columnSums) {
  if (rows.fullOutputs.empty() && !hasColumns())
    return {};
  int64_t perOutput = layout.slots * layout.vector;
  Values sums(columnSums);
  // In registers, a slot's sums are its own; the fold hands on nothing but them.
  auto body = [&](Value first, int64_t slot, ValueRange state) {
    Values next(state), full, columns;
    SmallVector<Value> at;
    for (int64_t k = 0; k < layout.vector; ++k) {
      at.push_back(elements.scalars().add(first, k));
      for (unsigned number : rows.fullOutputs)
        full.push_back(elementInRow(output(number), row, at[k]));
      for (unsigned number : rows.columnOutputs)
        columns.push_back(elementInRow(columnSum(number)->getOperand(0), row, at[k]));
    }
    size_t numFull = rows.fullOutputs.size(), numColumns = rows.columnOutputs.size();
    for (auto [i, number] : llvm::enumerate(rows.columnOutputs))
      for (int64_t k = 0; k < layout.vector; ++k) {
        Value added = columns[k * numColumns + i];
        if (keepsColumns()) {
          Value &sum = next[i * perOutput + slot * layout.vector + k];
          sum = columnSum(number).emitCombine(builder, sum, added);
          continue;
        }
        Type type = getElementType(output(number));
        Value place = position(item, at[k]);
        Value old = elements.load(buffers[number], type, place);
        elements.store(columnSum(number).emitCombine(builder, old, added), buffers[number], type,
                       place);
      }
    for (auto [i, number] : llvm::enumerate(rows.fullOutputs))
      for (int64_t k = 0; k < layout.vector; ++k)
        elements.store(full[k * numFull + i], buffers[number], getElementType(output(number)),
                       position(row, at[k]));
    return next;
  };
  return foldColumns(sums, body);
}

void RowEmitter::storeRowOutputs(Value row) {
  if (rows.rowOutputs.empty())
    return;
  Scalars s = elements.scalars();
  SmallVector<Value> scalars;
  for (unsigned number : rows.rowOutputs)
    scalars.push_back(elementInRow(output(number), row, {}));
  elements.barrier(group); // All have read what the first one may overwrite.
  Value isFirst = s.compare(arith::CmpIPredicate::eq, group.thread, s.index(0));
  OpBuilder::InsertionGuard guard(builder);
  auto branch = scf::IfOp::create(builder, s.loc, isFirst, /*withElseRegion=*/false);
  builder.setInsertionPoint(branch.thenBlock()->getTerminator());
  for (auto [number, scalar] : llvm::zip_equal(rows.rowOutputs, scalars))
    elements.store(scalar, buffers[number], getElementType(output(number)), row);
}

/// Sums of rows too long for registers are added up where they go, each by its own thread.
void RowEmitter::clearColumns(Value item) {
  foldColumns({}, [&](Value first, int64_t, ValueRange) {
    for (unsigned number : rows.columnOutputs)
      for (int64_t k = 0; k < layout.vector; ++k)
        elements.store(columnSum(number).emitNeutral(builder), buffers[number],
                       getElementType(output(number)),
                       position(item, elements.scalars().add(first, k)));
    return Values();
  });
}

void RowEmitter::storeColumns(Value item, ValueRange sums) {
  int64_t perOutput = layout.slots * layout.vector;
  foldColumns({}, [&](Value first, int64_t slot, ValueRange) {
    for (auto [i, number] : llvm::enumerate(rows.columnOutputs))
      for (int64_t k = 0; k < layout.vector; ++k)
        elements.store(sums[i * perOutput + slot * layout.vector + k], buffers[number],
                       getElementType(output(number)),
                       position(item, elements.scalars().add(first, k)));
    return Values();
  });
}

/// Each warp puts its sums into shared memory; then each column is added up, warp by warp.
void RowEmitter::storeWarpColumns(Value item, ValueRange sums) {
  int64_t perOutput = layout.slots * layout.vector;
  Scalars s = elements.scalars();
  Value ownRow = s.mul(s.div(place.thread, kWarp), rows.columns);
  for (auto [i, number] : llvm::enumerate(rows.columnOutputs)) {
    graph::ReductionKernelOp op = columnSum(number);
    Type type = getElementType(output(number));
    if (i > 0)
      elements.barrier(); // the last output's have been read
    foldColumns({}, [&, i = i](Value first, int64_t slot, ValueRange) {
      for (int64_t k = 0; k < layout.vector; ++k) {
        Scalars s = elements.scalars();
        elements.storeShared(sums[i * perOutput + slot * layout.vector + k], place.shared, type,
                             s.add(ownRow, s.add(first, k)));
      }
      return Values();
    });
    elements.barrier();
    OpBuilder::InsertionGuard guard(builder);
    auto loop = scf::ForOp::create(builder, s.loc, place.thread, s.index(rows.columns),
                                   s.index(kWarp * layout.groupsPerBlock));
    builder.setInsertionPoint(loop.getBody()->getTerminator());
    Value column = loop.getInductionVar();
    Value sum = elements.loadShared(place.shared, type, column);
    for (int64_t warp = 1; warp < layout.groupsPerBlock; ++warp)
      sum = op.emitCombine(
          builder, sum,
          elements.loadShared(place.shared, type, s.add(column, warp * rows.columns)));
    elements.store(sum, buffers[number], type, position(item, column));
  }
}
