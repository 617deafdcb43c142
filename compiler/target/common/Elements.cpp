//===- Elements.cpp -------------------------------------------------------===//
#include "compiler/target/common/Elements.h"
#include "compiler/conversion/GraphToLoops/BFloat16.h"
#include "compiler/conversion/GraphToLoops/Loops.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/IR/Matchers.h"

using namespace mlir;
using namespace minigptc;
using namespace minigptc::target;
using namespace minigptc::graph::kernel;

Type minigptc::target::getStorageType(Type elementType) {
  if (elementType.isBF16())
    return IntegerType::get(elementType.getContext(), 16);
  Type scalar = getScalarType(elementType);
  return scalar.isInteger(1) ? IntegerType::get(scalar.getContext(), 8) : scalar;
}

int64_t minigptc::target::getStorageBytes(Value value) {
  return getStorageType(getElementType(value)).getIntOrFloatBitWidth() / 8;
}

Value minigptc::target::addressBehind(Scalars s, Value pointer, Type storage, int64_t offset) {
  if (offset == 0)
    return pointer;
  Value behind = s.integer(s.builder.getI64Type(), offset);
  return LLVM::GEPOp::create(s.builder, s.loc, pointer.getType(), storage, pointer,
                             ArrayRef<LLVM::GEPArg>{behind}, LLVM::GEPNoWrapFlags::inbounds);
}

Value Elements::address(Value pointer, Type storage, Value position) {
  Scalars s = scalars();
  Value offset = s.create<arith::IndexCastOp>(builder.getI64Type(), position);
  return LLVM::GEPOp::create(builder, s.loc, pointer.getType(), storage, pointer,
                             ArrayRef<LLVM::GEPArg>{offset}, LLVM::GEPNoWrapFlags::inbounds);
}

Value Elements::load(Value pointer, Type elementType, Value position) {
  Scalars s = scalars();
  Type storage = getStorageType(elementType);
  Value loaded =
      LLVM::LoadOp::create(builder, s.loc, storage, address(pointer, storage, position));
  if (elementType.isBF16())
    return widenBFloat16(s, loaded);
  if (!elementType.isInteger(1))
    return loaded;
  return s.compare(arith::CmpIPredicate::ne, loaded, s.integer(storage, 0));
}

void Elements::store(Value scalar, Value pointer, Type elementType, Value position,
                           bool streamed) {
  Scalars s = scalars();
  Type storage = getStorageType(elementType);
  if (elementType.isBF16())
    scalar = getBFloat16Bits(s, scalar);
  if (elementType.isInteger(1))
    scalar = s.create<arith::ExtUIOp>(storage, scalar);
  LLVM::StoreOp::create(builder, s.loc, scalar, address(pointer, storage, position),
                        /*alignment=*/0, /*isVolatile=*/false,
                        /*isNonTemporal=*/streamed);
}

Value Elements::position(ValueRange indices, ArrayRef<int64_t> shape) {
  return scalars().linearise(indices, shape);
}

Value Elements::linearise(ValueRange indices, ArrayRef<int64_t> shape) {
  if (indices.size() != shape.size())
    return indices.front(); // already a position
  return scopes.canonicalise(position(indices, shape));
}

Value Elements::element(Value value, ValueRange indices) {
  Scopes::Key key{value, {}};
  for (Value index : indices)
    key.indices.push_back(scopes.canonicalise(index));
  if (Value known = scopes.lookup(key))
    return known;
  OpBuilder::InsertionGuard guard(builder);
  scopes.leaveLoops(key.indices);
  Value result = keptElement(value, key.indices);
  if (!result)
    result = compute(value, key.indices);
  scopes.note(key, result);
  return result;
}

Value Elements::compute(Value value, ValueRange indices) {
  auto type = cast<RankedTensorType>(value.getType());
  if (Value pointer = pointers.lookup(value))
    return load(pointer, type.getElementType(), linearise(indices, type.getShape()));
  Operation *op = value.getDefiningOp();
  ElementsAttr data;
  if (matchPattern(op, m_Constant(&data)) && !data.isSplat())
    return constantElement(op, data, indices);
  if (auto reduce = dyn_cast<graph::ReductionKernelOp>(op))
    return rounded(reduction(reduce, indices), type.getElementType());
  auto operandElement = [&](unsigned operand, ValueRange at) {
    return element(op->getOperand(operand), at);
  };
  Value scalar = cast<graph::KernelOp>(op).emitElement(
      builder, cast<OpResult>(value).getResultNumber(), indices, operandElement);
  return rounded(scalar, type.getElementType());
}

Value Elements::rounded(Value scalar, Type elementType) {
  return elementType.isBF16() ? roundToBFloat16(scalars(), scalar) : scalar;
}

/// The bytes of an attribute as the buffers have them: i1 is a byte each.
static DenseElementsAttr storageData(ElementsAttr data, Type storage) {
  auto type = RankedTensorType::get({data.getNumElements()}, storage);
  if (isa<FloatType>(storage))
    return DenseElementsAttr::get(type, llvm::to_vector(data.getValues<APFloat>()));
  unsigned width = storage.getIntOrFloatBitWidth();
  SmallVector<APInt> values;
  if (isa<FloatType>(data.getElementType())) {
    for (const APFloat &value : data.getValues<APFloat>())
      values.push_back(value.bitcastToAPInt());
    return DenseElementsAttr::get(type, values);
  }
  for (const APInt &value : data.getValues<APInt>())
    values.push_back(value.zextOrTrunc(width));
  return DenseElementsAttr::get(type, values);
}

Value Elements::constantElement(Operation *op, ElementsAttr data, ValueRange indices) {
  Type elementType = data.getElementType();
  Value &pointer = constants[op];
  if (!pointer) {
    OpBuilder::InsertionGuard guard(builder);
    Type storage = getStorageType(elementType);
    Operation *table = SymbolTable::getNearestSymbolTable(function->getParentOp());
    builder.setInsertionPointToStart(&table->getRegion(0).front());
    auto array = LLVM::LLVMArrayType::get(storage, data.getNumElements());
    std::string name = SymbolTable::getSymbolName(function).str() + "_data" +
                       std::to_string(constants.size());
    auto global = LLVM::GlobalOp::create(builder, builder.getUnknownLoc(), array, /*isConstant=*/true,
                                         LLVM::Linkage::Private, name, storageData(data, storage),
                                         /*alignment=*/64, addressSpace);
    builder.setInsertionPointToStart(&function->getRegion(0).front());
    pointer = LLVM::AddressOfOp::create(builder, function->getLoc(), global);
  }
  return load(pointer, elementType,
              linearise(indices, cast<ShapedType>(data.getType()).getShape()));
}

scf::ForOp Elements::enterLoop(Value begin, Value end) {
  Scalars s = scalars();
  auto loop = scf::ForOp::create(builder, s.loc, begin, end, s.index(1));
  builder.setInsertionPoint(loop.getBody()->getTerminator());
  return loop;
}

void Elements::note(Value value, ValueRange indices, Value scalar) {
  Scopes::Key key{value, {}};
  for (Value index : indices)
    key.indices.push_back(scopes.canonicalise(index));
  scopes.note(key, scalar);
}

SmallVector<Value> Elements::indicesInRow(Value value, Value row, Value column) {
  SmallVector<Value> indices =
      scalars().delinearise(row, getShape(value).drop_back(column ? 1 : 0));
  if (column)
    indices.push_back(column);
  return indices;
}

void Elements::keep(Value value, Value row, Value pointer) {
  keptRows[value] = {row, pointer};
}

/// The element if it lies in the row that is kept.
Value Elements::keptElement(Value value, ValueRange indices) {
  auto known = keptRows.find(value);
  if (known == keptRows.end())
    return {};
  auto [row, pointer] = known->second;
  SmallVector<Value> expected = indicesInRow(value, row, indices.back());
  for (auto [at, index] : llvm::zip_equal(indices, expected))
    if (at != scopes.canonicalise(index))
      return {};
  return load(pointer, getElementType(value), indices.back());
}

SmallVector<Value> Reduced::indices(ValueRange result, ValueRange reduced) const {
  SmallVector<Value> merged(shape.size());
  for (auto [dim, index] : llvm::zip_equal(dims, reduced))
    merged[dim] = index;
  size_t next = 0;
  for (Value &index : merged)
    if (!index)
      index = result[next++];
  return merged;
}

Value Elements::sequentialReduction(graph::ReductionKernelOp op, ValueRange indices) {
  Reduced reduced(op);
  return emitFold(scalars(), reduced.sizes(), op.emitNeutral(builder),
                  [&](ValueRange at, Value accumulated) {
                    Value next = element(reduced.operand, reduced.indices(indices, at));
                    return op.emitCombine(builder, accumulated, next);
                  });
}
