//===- NestEmitter.cpp - maps, groups and tiles ---------------------------===//
#include "compiler/target/cuda/NestEmitter.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"

using namespace mlir;
using namespace minigptc;
using namespace minigptc::cuda;
using namespace minigptc::graph::kernel;

scf::IfOp NestEmitter::enterIf(Value condition) {
  auto branch = scf::IfOp::create(builder, scalars().loc, condition, /*withElseRegion=*/false);
  builder.setInsertionPoint(branch.thenBlock()->getTerminator());
  return branch;
}

Value NestEmitter::isBelow(Value value, int64_t bound) {
  Scalars s = scalars();
  return s.compare(arith::CmpIPredicate::ult, value, s.index(bound));
}

void NestEmitter::emit(int64_t grid) {
  OpBuilder::InsertionGuard guard(builder);
  Scalars s = scalars();
  Value block = place.block;
  if (nest.blocks != grid) { // The blocks of other nests come before and behind.
    block = s.sub(block, nest.firstBlock);
    enterIf(isBelow(block, nest.blocks));
  }
  switch (nest.kind) {
  case NestKind::map: return emitMap(block);
  case NestKind::groups: return emitGroups(block);
  case NestKind::tiles: return emitTiles(block);
  case NestKind::scatter: return emitScatter(block);
  case NestKind::block: return emitBlock(block);
  }
}

/// The indices of a unit's first element.
SmallVector<Value> NestEmitter::indicesOf(Value unit, int64_t vector) {
  Scalars s = scalars();
  if (vector == 1)
    return s.delinearise(unit, nest.shape);
  SmallVector<int64_t> shape(nest.shape);
  shape[nest.inner] /= vector;
  SmallVector<Value> indices = s.delinearise(unit, shape);
  indices[nest.inner] = s.mul(indices[nest.inner], vector);
  return indices;
}

void NestEmitter::emitElements(ValueRange indices, int64_t vector) {
  SmallVector<SmallVector<Value>> results(vector), places(vector);
  for (int64_t k = 0; k < vector; ++k) {
    Scalars s = scalars();
    SmallVector<Value> &at = places[k];
    at.assign(indices.begin(), indices.end());
    if (k)
      at[nest.inner] = s.add(at[nest.inner], k);
    for (size_t i = 0; i < nest.outputs.size(); ++i) {
      ArrayRef<int64_t> shape = getShape(output(i));
      bool isSame = nest.flat || shape == ArrayRef(nest.shape);
      SmallVector<Value> own = isSame ? at : s.reshape(at, nest.shape, shape);
      results[k].push_back(elements.element(output(i), own));
    }
  }
  for (size_t i = 0; i < nest.outputs.size(); ++i)
    for (int64_t k = 0; k < vector; ++k)
      elements.store(results[k][i], buffer(i), getElementType(output(i)),
                     elements.linearise(places[k], nest.shape));
}

/// The kernel's operations that make the nest's outputs.
DenseSet<Operation *> NestEmitter::findNeeded() {
  Block &body = kernel.getBody().front();
  DenseSet<Operation *> needed;
  for (size_t i = 0; i < nest.outputs.size(); ++i)
    needed.insert(output(i).getDefiningOp()); // null for an argument
  for (Operation &op : llvm::reverse(body.without_terminator()))
    if (llvm::any_of(op.getUsers(), [&](Operation *user) {
          return needed.contains(body.findAncestorOpInBlock(*user));
        }))
      needed.insert(&op);
  return needed;
}

/// Reductions to one element, which every thread would make by itself: the block does, in step.
/// Those of other nests' outputs are their blocks' matter.
void NestEmitter::makeScalars() {
  Group block{kBlock, place.thread, place.shared};
  DenseSet<Operation *> needed = findNeeded();
  for (Operation &op : kernel.getBody().front()) {
    auto reduction = dyn_cast<graph::ReductionKernelOp>(op);
    if (!reduction || !needed.contains(&op) || !isScalar(op.getResult(0)))
      continue;
    Scalars s = scalars();
    Value result = op.getResult(0);
    SmallVector<Value> indices(getShape(result).size(), s.index(0));
    Value combined = elements.grouped(block, reduction, indices);
    elements.note(result, indices, elements.rounded(combined, getElementType(result)));
  }
}

void NestEmitter::emitMap(Value block) {
  makeScalars();
  Scalars s = scalars();
  Value unit = s.add(s.mul(block, kBlock), place.thread);
  enterIf(isBelow(unit, nest.units));
  int64_t rest = nest.flat ? nest.elements() % nest.vector : 0;
  if (rest == 0)
    return emitElements(indicesOf(unit, nest.vector), nest.vector);
  Value position = s.mul(unit, nest.vector);
  Value isWhole = isBelow(unit, nest.units - 1);
  auto branch = scf::IfOp::create(builder, s.loc, isWhole, /*withElseRegion=*/true);
  builder.setInsertionPoint(branch.thenBlock()->getTerminator());
  emitElements(position, nest.vector);
  builder.setInsertionPoint(branch.elseBlock()->getTerminator());
  auto loop = elements.enterLoop(position, scalars().index(nest.elements()));
  emitElements(loop.getInductionVar(), 1);
}

/// All threads of a group compute the element; the first stores it.
void NestEmitter::emitGroups(Value block) {
  Scalars s = scalars();
  int64_t perBlock = kBlock / nest.group;
  Value unit = s.add(s.mul(block, perBlock), s.div(place.thread, nest.group));
  if (perBlock > 1)
    enterIf(isBelow(unit, nest.units));
  Group group{nest.group, s.mod(place.thread, nest.group), place.shared};
  if (perBlock == 1)
    group.thread = place.thread;
  elements.setGroup(&group);
  SmallVector<Value> indices = indicesOf(unit, 1), results;
  for (size_t i = 0; i < nest.outputs.size(); ++i) {
    SmallVector<Value> own = getShape(output(i)) == ArrayRef(nest.shape)
                                 ? indices
                                 : s.reshape(indices, nest.shape, getShape(output(i)));
    results.push_back(elements.element(output(i), own));
  }
  elements.setGroup(nullptr);
  elements.barrier(group); // All have read the element that the first one may overwrite.
  enterIf(s.compare(arith::CmpIPredicate::eq, group.thread, s.index(0)));
  for (size_t i = 0; i < nest.outputs.size(); ++i)
    elements.store(results[i], buffer(i), getElementType(output(i)), unit);
}

/// This thread's elements of a tile, at their indices and their places in shared memory, which
/// holds columns as rows. Threads beside each other have elements of one column, or of one row.
void NestEmitter::forEachInTile(ValueRange indices, bool alongColumns,
                                llvm::function_ref<void(ValueRange, Value)> body) {
  Scalars s = scalars();
  Value firstRow = s.mul(indices[nest.turned], kTile);
  Value firstColumn = s.mul(indices[nest.inner], kTile);
  Value beside = s.mod(place.thread, kTile), line = s.div(place.thread, kTile);
  for (int64_t step = 0; step < kTile; step += kBlock / kTile) {
    OpBuilder::InsertionGuard guard(builder);
    Value row = beside, column = s.add(line, step);
    if (!alongColumns)
      std::swap(row, column);
    SmallVector<Value> at(indices);
    at[nest.turned] = s.add(firstRow, row);
    at[nest.inner] = s.add(firstColumn, column);
    enterIf(s.both(isBelow(at[nest.turned], nest.shape[nest.turned]),
                   isBelow(at[nest.inner], nest.shape[nest.inner])));
    body(at, s.add(s.mul(column, kTile + 1), row));
  }
}

/// Operands lie with their columns' elements beside each other, outputs with their rows'.
void NestEmitter::emitTiles(Value block) {
  Scalars s = scalars();
  SmallVector<int64_t> shape(nest.shape);
  for (int64_t dim : {nest.turned, nest.inner})
    shape[dim] = (shape[dim] + kTile - 1) / kTile;
  SmallVector<Value> indices = s.delinearise(block, shape);
  SmallVector<Value> tiles;
  int64_t offset = 0;
  for (Value value : nest.turnedValues) {
    tiles.push_back(target::addressBehind(s, place.shared, builder.getI8Type(), offset));
    offset += kTile * (kTile + 1) * getSharedBytes(value);
    forEachInTile(indices, /*alongColumns=*/true, [&](ValueRange at, Value shared) {
      elements.storeShared(elements.element(value, at), tiles.back(), getElementType(value),
                           shared);
    });
  }
  elements.barrier();
  forEachInTile(indices, /*alongColumns=*/false, [&](ValueRange at, Value shared) {
    for (auto [value, tile] : llvm::zip_equal(nest.turnedValues, tiles))
      elements.note(value, at, elements.loadShared(tile, getElementType(value), shared));
    emitElements(at, 1);
  });
}
