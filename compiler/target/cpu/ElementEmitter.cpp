//===- ElementEmitter.cpp - elements, memory and loops --------------------===//
#include "compiler/target/cpu/ElementEmitter.h"
#include "compiler/conversion/GraphToLoops/BFloat16.h"
#include "compiler/target/cpu/VectorLoops.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/IR/Matchers.h"

using namespace mlir;
using namespace minigptc;
using namespace minigptc::cpu;
using namespace minigptc::graph::kernel;

Type minigptc::cpu::getStorageType(Type elementType) {
  if (elementType.isBF16())
    return IntegerType::get(elementType.getContext(), 16);
  Type scalar = getScalarType(elementType);
  return scalar.isInteger(1) ? IntegerType::get(scalar.getContext(), 8) : scalar;
}

/// Twice what the largest caches of common machines hold.
static constexpr int64_t kStreamedBytes = int64_t(64) << 20;

bool minigptc::cpu::isStreamed(Value output) {
  auto type = cast<RankedTensorType>(output.getType());
  int64_t bits = getStorageType(type.getElementType()).getIntOrFloatBitWidth();
  return type.getNumElements() / 8 * bits >= kStreamedBytes;
}

static Value elementPointer(Scalars s, Value pointer, Type storage, Value position) {
  Value offset = s.create<arith::IndexCastOp>(s.builder.getI64Type(), position);
  return LLVM::GEPOp::create(s.builder, s.loc, pointer.getType(), storage, pointer,
                             ArrayRef<LLVM::GEPArg>{offset}, LLVM::GEPNoWrapFlags::inbounds);
}

Value ElementEmitter::load(Value pointer, Type elementType, Value position) {
  Scalars s = scalars();
  Type storage = getStorageType(elementType);
  Value address = elementPointer(s, pointer, storage, position);
  Value loaded = LLVM::LoadOp::create(builder, s.loc, storage, address);
  if (elementType.isBF16())
    return widenBFloat16(s, loaded);
  if (!elementType.isInteger(1))
    return loaded;
  return s.compare(arith::CmpIPredicate::ne, loaded, s.integer(storage, 0));
}

void ElementEmitter::store(Value scalar, Value pointer, Type elementType, Value position,
                           bool streamed) {
  Scalars s = scalars();
  streams |= streamed;
  Type storage = getStorageType(elementType);
  Value address = elementPointer(s, pointer, storage, position);
  if (elementType.isBF16())
    scalar = getBFloat16Bits(s, scalar);
  if (elementType.isInteger(1))
    scalar = s.create<arith::ExtUIOp>(storage, scalar);
  LLVM::StoreOp::create(builder, s.loc, scalar, address, /*alignment=*/0, /*isVolatile=*/false,
                        /*isNonTemporal=*/streamed);
}

void ElementEmitter::finish() {
  if (streams)
    LLVM::CallIntrinsicOp::create(builder, function->getLoc(),
                                  builder.getStringAttr("llvm.x86.sse.sfence"), ValueRange());
}

void ElementEmitter::prefetch(Value argument, Value position) {
  Scalars s = scalars();
  Value offset = s.create<arith::IndexCastOp>(builder.getI64Type(), position);
  Value pointer = pointers.lookup(argument);
  Value address = LLVM::GEPOp::create(builder, s.loc, pointer.getType(),
                                      getStorageType(getElementType(argument)), pointer,
                                      ArrayRef<LLVM::GEPArg>{offset});
  LLVM::Prefetch::create(builder, s.loc, address, /*rw=*/0, /*hint=*/3, /*cache=*/1);
}

Value ElementEmitter::linearise(ValueRange indices, ArrayRef<int64_t> shape) {
  if (indices.size() != shape.size())
    return indices.front(); // already a position
  return scopes.canonicalise(scalars().linearise(indices, shape));
}

Value ElementEmitter::element(Value value, ValueRange indices) {
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

Value ElementEmitter::compute(Value value, ValueRange indices) {
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

Value ElementEmitter::rounded(Value scalar, Type elementType) {
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

Value ElementEmitter::constantElement(Operation *op, ElementsAttr data, ValueRange indices) {
  Type elementType = data.getElementType();
  Value &pointer = constants[op];
  if (!pointer) {
    OpBuilder::InsertionGuard guard(builder);
    Type storage = getStorageType(elementType);
    auto module = function->getParentOfType<ModuleOp>();
    builder.setInsertionPointToStart(module.getBody());
    auto array = LLVM::LLVMArrayType::get(storage, data.getNumElements());
    std::string name = "data" + std::to_string(constants.size());
    auto global = LLVM::GlobalOp::create(builder, function->getLoc(), array, /*isConstant=*/true,
                                         LLVM::Linkage::Private, name, storageData(data, storage),
                                         /*alignment=*/64);
    builder.setInsertionPointToStart(&function->getRegion(0).front());
    pointer = LLVM::AddressOfOp::create(builder, function->getLoc(), global);
  }
  return load(pointer, elementType,
              linearise(indices, cast<ShapedType>(data.getType()).getShape()));
}

scf::ForOp ElementEmitter::enterLoop(Value begin, Value end) {
  Scalars s = scalars();
  auto loop = scf::ForOp::create(builder, s.loc, begin, end, s.index(1));
  builder.setInsertionPoint(loop.getBody()->getTerminator());
  return loop;
}

scf::ForOp ElementEmitter::enterParallelLoop(Value begin, Value end, Blocks blocks) {
  scf::ForOp loop = enterLoop(begin, end);
  markColumnLoop(loop, blocks.alignment, blocks.multiple);
  return loop;
}

scf::ForOp ElementEmitter::enterColumnLoop(Value begin, Value end, int64_t maxTrip, Blocks blocks) {
  scf::ForOp loop = enterParallelLoop(begin, end, blocks);
  columnLoops[loop] = {maxTrip, blocks};
  return loop;
}

scf::ForOp ElementEmitter::enterRowLoop(int64_t size,
                                        ArrayRef<graph::ReductionKernelOp> reductions) {
  Scalars s = scalars();
  if (reductions.empty())
    return enterColumnLoop(s.index(0), s.index(size), size, {0, size});
  SmallVector<Value> neutral;
  for (graph::ReductionKernelOp op : reductions)
    neutral.push_back(op.emitNeutral(builder));
  auto loop = scf::ForOp::create(builder, s.loc, s.index(0), s.index(size), s.index(1), neutral);
  markColumnLoop(loop, 0, size);
  builder.setInsertionPointToEnd(loop.getBody());
  return loop;
}

void ElementEmitter::leaveRowLoop(scf::ForOp loop, ValueRange combined) {
  if (!combined.empty()) {
    builder.setInsertionPointToEnd(loop.getBody());
    scf::YieldOp::create(builder, function->getLoc(), combined);
  }
  leaveLoop(loop);
}

void ElementEmitter::note(Value value, ValueRange indices, Value scalar) {
  Scopes::Key key{value, {}};
  for (Value index : indices)
    key.indices.push_back(scopes.canonicalise(index));
  scopes.note(key, scalar);
}

SmallVector<Value> ElementEmitter::indicesInRow(Value value, Value row, Value column) {
  SmallVector<Value> indices =
      scalars().delinearise(row, getShape(value).drop_back(column ? 1 : 0));
  if (column)
    indices.push_back(column);
  return indices;
}

void ElementEmitter::keep(Value value, Value row, Value pointer) {
  keptRows[value] = {row, pointer};
}

/// The element if it lies in the row that is kept.
Value ElementEmitter::keptElement(Value value, ValueRange indices) {
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

Value ElementEmitter::allocate(Type elementType, int64_t count) {
  OpBuilder::InsertionGuard guard(builder);
  builder.setInsertionPointToStart(&function->getRegion(0).front());
  Location loc = function->getLoc();
  Value size = LLVM::ConstantOp::create(builder, loc, builder.getI64Type(), count);
  auto pointer = LLVM::LLVMPointerType::get(builder.getContext());
  return LLVM::AllocaOp::create(builder, loc, pointer, getStorageType(elementType), size,
                                /*alignment=*/64);
}
