//===- ScatterEmitter.cpp - parts of a result that are replaced -----------===//
//
// A scatter without atomics: a warp has a row of the result, or a piece of one. It looks at 32
// slices' places at a time, and adds those that are placed here, in order. Where the result
// lies in its operand's memory, rows that no slice is placed in are left alone.
//
//===----------------------------------------------------------------------===//
#include "compiler/target/cuda/NestEmitter.h"
#include "compiler/target/cuda/WarpCode.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/Math/IR/Math.h"

using namespace mlir;
using namespace minigptc;
using namespace minigptc::cuda;
using namespace minigptc::graph::kernel;

namespace {
/// One warp's row of a scatter's result.
class ScatterRow {
public:
  ScatterRow(const NestPlan &nest, OpBuilder &builder, ElementEmitter &elements,
             graph::ScatterKernelOp op, Value buffer, Value lane)
      : nest(nest), builder(builder), elements(elements), op(op), buffer(buffer), lane(lane),
        placed(op.getPlacedDims()), updates(op->getOperands().back()) {
    ArrayRef<int64_t> shape = getShape(updates);
    numSlices = ShapedType::getNumElements(
        shape.drop_back(nest.shape.size() - placed.size()));
    for (int64_t dim = 0; dim < int64_t(nest.shape.size()); ++dim)
      if (!llvm::is_contained(placed, dim))
        others.push_back(dim);
  }

  void emit(Value unit);

private:
  SmallVector<int64_t> sizesOf(ArrayRef<int64_t> dims) {
    return llvm::map_to_vector(dims, [&](int64_t dim) { return nest.shape[dim]; });
  }
  int64_t numColumns() { return ShapedType::getNumElements(sizesOf(others)); }
  using ColumnFunction = function_ref<Value(Value, ValueRange)>;
  /// The thread's value of each of its columns, by the old one and the column's indices (of the
  /// other dimensions); a column that is not there keeps its value.
  SmallVector<Value> updateColumns(ValueRange values, ColumnFunction body);
  /// A ballot of the lanes whose slice, from `first` on, is placed in the row.
  Value ballot(Value first);
  Value isAnySliceHere();
  SmallVector<Value> addSlices(ValueRange initial);
  SmallVector<Value> addSlice(Value slice, ValueRange sums);
  Value hasColumn(size_t number);

  const NestPlan &nest;
  OpBuilder &builder;
  ElementEmitter &elements;
  graph::ScatterKernelOp op;
  Value buffer, lane;
  SmallVector<int64_t> placed, others;
  Value updates;
  int64_t numSlices;
  SmallVector<Value> row; ///< indices of the placed dimensions
  Value firstColumn;      ///< of the thread
};
} // namespace

/// Null if the thread surely has its column of that number.
Value ScatterRow::hasColumn(size_t number) {
  if (numColumns() % (nest.pieces * nest.slots * kWarp * nest.vector) == 0)
    return {};
  Scalars s = elements.scalars();
  int64_t slot = int64_t(number) / nest.vector;
  return s.compare(arith::CmpIPredicate::ult, s.add(firstColumn, slot * kWarp * nest.vector),
                   s.index(numColumns()));
}

SmallVector<Value> ScatterRow::updateColumns(ValueRange values, ColumnFunction body) {
  SmallVector<int64_t> sizes = sizesOf(others);
  SmallVector<Value> result(values);
  for (int64_t slot = 0; slot < nest.slots; ++slot) {
    OpBuilder::InsertionGuard guard(builder);
    Scalars s = elements.scalars();
    size_t first = slot * nest.vector;
    scf::IfOp branch;
    if (Value present = hasColumn(first)) {
      ValueRange old = values.slice(first, nest.vector);
      branch = scf::IfOp::create(builder, s.loc, old.getTypes(), present, /*withElseRegion=*/true);
      builder.setInsertionPointToEnd(branch.elseBlock());
      scf::YieldOp::create(builder, s.loc, old);
      builder.setInsertionPointToEnd(branch.thenBlock());
    }
    SmallVector<Value> at = s.delinearise(s.add(firstColumn, slot * kWarp * nest.vector), sizes);
    Value last = at.back();
    for (int64_t k = 0; k < nest.vector; ++k) {
      at.back() = elements.scalars().add(last, k);
      result[first + k] = body(values[first + k], at);
    }
    if (branch) {
      scf::YieldOp::create(builder, s.loc, ArrayRef(result).slice(first, nest.vector));
      llvm::copy(branch.getResults(), result.begin() + first);
    }
  }
  return result;
}

Value ScatterRow::ballot(Value first) {
  Scalars s = elements.scalars();
  Value slice = s.add(first, lane);
  Value inRange = s.compare(arith::CmpIPredicate::ult, slice, s.index(numSlices));
  auto branch = scf::IfOp::create(builder, s.loc, TypeRange(builder.getI1Type()), inRange,
                                  /*withElseRegion=*/true);
  {
    OpBuilder::InsertionGuard guard(builder);
    builder.setInsertionPointToEnd(branch.thenBlock());
    SmallVector<Value> at = s.delinearise(
        slice, getShape(updates).drop_back(others.size()));
    Value here;
    auto load = [&](unsigned operand, ValueRange indices) {
      return elements.element(op->getOperand(operand), indices);
    };
    for (auto [place, index] : llvm::zip_equal(op.emitPlace(builder, at, load), row))
      here = s.both(here, s.compare(arith::CmpIPredicate::eq, place, index));
    scf::YieldOp::create(builder, s.loc, here ? here : s.integer(builder.getI1Type(), 1));
    builder.setInsertionPointToEnd(branch.elseBlock());
    scf::YieldOp::create(builder, s.loc, s.integer(builder.getI1Type(), 0));
  }
  return cuda::ballot(s, branch.getResult(0));
}

Value ScatterRow::isAnySliceHere() {
  Scalars s = elements.scalars();
  Type word = builder.getI32Type();
  auto loop = scf::ForOp::create(builder, s.loc, s.index(0), s.index(numSlices), s.index(kWarp),
                                 ValueRange(s.integer(word, 0)));
  OpBuilder::InsertionGuard guard(builder);
  builder.setInsertionPointToEnd(loop.getBody());
  Value lanes = s.create<arith::OrIOp>(loop.getRegionIterArg(0), ballot(loop.getInductionVar()));
  scf::YieldOp::create(builder, s.loc, lanes);
  builder.setInsertionPointAfter(loop);
  return s.compare(arith::CmpIPredicate::ne, loop.getResult(0), s.integer(word, 0));
}

/// The sums with the slice's elements in the thread's columns.
SmallVector<Value> ScatterRow::addSlice(Value slice, ValueRange sums) {
  SmallVector<Value> outer =
      elements.scalars().delinearise(slice, getShape(updates).drop_back(others.size()));
  return updateColumns(sums, [&](Value sum, ValueRange column) {
    SmallVector<Value> indices(outer);
    llvm::append_range(indices, column);
    return op.emitCombine(builder, sum, elements.element(updates, indices));
  });
}

/// for each 32 slices: lanes = ballot; while (lanes) { add slice of the lowest; drop it }
SmallVector<Value> ScatterRow::addSlices(ValueRange initial) {
  Scalars s = elements.scalars();
  Type word = builder.getI32Type();
  auto loop = scf::ForOp::create(builder, s.loc, s.index(0), s.index(numSlices), s.index(kWarp),
                                 initial);
  OpBuilder::InsertionGuard guard(builder);
  builder.setInsertionPointToEnd(loop.getBody());
  SmallVector<Value> state{ballot(loop.getInductionVar())};
  llvm::append_range(state, loop.getRegionIterArgs());
  SmallVector<Type> types(ValueRange(state).getTypes());
  auto whileLoop = scf::WhileOp::create(builder, s.loc, types, state);
  SmallVector<Location> locations(types.size(), s.loc);
  Block *before = builder.createBlock(&whileLoop.getBefore(), {}, types, locations);
  Value more = s.compare(arith::CmpIPredicate::ne, before->getArgument(0), s.integer(word, 0));
  scf::ConditionOp::create(builder, s.loc, more, before->getArguments());
  Block *after = builder.createBlock(&whileLoop.getAfter(), {}, types, locations);
  Value lanes = after->getArgument(0);
  Value lowest = math::CountTrailingZerosOp::create(builder, s.loc, lanes);
  Value slice = s.add(loop.getInductionVar(),
                      s.create<arith::IndexCastOp>(builder.getIndexType(), lowest));
  SmallVector<Value> next{s.create<arith::AndIOp>(
      lanes, s.create<arith::SubIOp>(lanes, s.integer(word, 1)))};
  llvm::append_range(next, addSlice(slice, after->getArguments().drop_front()));
  scf::YieldOp::create(builder, s.loc, next);
  builder.setInsertionPointAfter(whileLoop);
  scf::YieldOp::create(builder, s.loc, whileLoop.getResults().drop_front());
  return SmallVector<Value>(loop.getResults());
}

void ScatterRow::emit(Value unit) {
  Scalars s = elements.scalars();
  row = s.delinearise(s.div(unit, nest.pieces), sizesOf(placed));
  int64_t width = nest.slots * kWarp * nest.vector;
  firstColumn = s.add(s.mul(s.mod(unit, nest.pieces), width), s.mul(lane, nest.vector));
  Value operand = op->getOperand(0);
  if (Value pointer = elements.getPointer(operand)) {
    Value isCopy = LLVM::ICmpOp::create(builder, s.loc, LLVM::ICmpPredicate::ne, pointer, buffer);
    Value any = s.create<arith::OrIOp>(isCopy, isAnySliceHere());
    auto branch = scf::IfOp::create(builder, s.loc, any, /*withElseRegion=*/false);
    builder.setInsertionPoint(branch.thenBlock()->getTerminator());
  }
  auto indicesAt = [&](ValueRange column) {
    SmallVector<Value> indices(nest.shape.size());
    for (auto [dim, index] : llvm::zip_equal(placed, row))
      indices[dim] = index;
    for (auto [dim, index] : llvm::zip_equal(others, column))
      indices[dim] = index;
    return indices;
  };
  // A thread without a column starts with anything: it adds nothing, and stores nothing.
  Type type = getElementType(op->getResult(0)), scalar = getScalarType(type);
  Value zero = isa<FloatType>(scalar) ? s.real(scalar, 0) : s.integer(scalar, 0);
  SmallVector<Value> sums(nest.slots * nest.vector, zero);
  sums = updateColumns(sums, [&](Value, ValueRange column) {
    return elements.element(operand, indicesAt(column));
  });
  sums = addSlices(sums);
  updateColumns(sums, [&](Value sum, ValueRange column) {
    elements.store(elements.rounded(sum, type), buffer, type,
                   elements.linearise(indicesAt(column), nest.shape));
    return sum;
  });
}

void NestEmitter::emitScatter(Value block) {
  Scalars s = scalars();
  Value unit = s.add(s.mul(block, kBlock / kWarp), s.div(place.thread, kWarp));
  enterIf(isBelow(unit, nest.units));
  auto op = cast<graph::ScatterKernelOp>(output(0).getDefiningOp());
  ScatterRow(nest, builder, elements, op, buffer(0), s.mod(place.thread, kWarp)).emit(unit);
}

/// The result in its operand's memory: the block's elements, by the first threads. Else every
/// element, from the block or the operand.
void NestEmitter::emitBlock(Value blockNumber) {
  Scalars s = scalars();
  Value unit = s.add(s.mul(blockNumber, kBlock), place.thread);
  enterIf(isBelow(unit, nest.units));
  auto op = cast<graph::BlockKernelOp>(output(0).getDefiningOp());
  Value operand = op->getOperand(0), update = op->getOperand(1);
  Type type = getElementType(output(0));
  auto emitCopy = [&] {
    Value element = elements.element(output(0), indicesOf(unit, 1));
    elements.store(element, buffer(0), type, unit);
  };
  Value pointer = elements.getPointer(operand);
  if (!pointer)
    return emitCopy();
  Value isCopy = LLVM::ICmpOp::create(builder, s.loc, LLVM::ICmpPredicate::ne, pointer, buffer(0));
  auto branch = scf::IfOp::create(builder, s.loc, isCopy, /*withElseRegion=*/true);
  builder.setInsertionPoint(branch.thenBlock()->getTerminator());
  emitCopy();
  builder.setInsertionPoint(branch.elseBlock()->getTerminator());
  enterIf(isBelow(unit, ShapedType::getNumElements(getShape(update))));
  SmallVector<Value> at = scalars().delinearise(unit, getShape(update));
  SmallVector<Value> start = op.emitStart(builder, [&](unsigned number, ValueRange indices) {
    return elements.element(op->getOperand(number), indices);
  });
  SmallVector<Value> target;
  for (auto [index, first] : llvm::zip_equal(at, start))
    target.push_back(scalars().add(first, index));
  elements.store(elements.element(update, at), buffer(0), type,
                 elements.linearise(target, nest.shape));
}
