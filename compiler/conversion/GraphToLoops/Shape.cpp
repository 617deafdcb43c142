//===- Shape.cpp - kernels of constants and data movement -----------------===//
#include "compiler/conversion/GraphToLoops/Loops.h"

using namespace mlir;
using namespace minigptc::graph;
using namespace minigptc::graph::kernel;

namespace {

Value scalarConstant(Scalars &s, Attribute value) {
  if (auto integer = dyn_cast<IntegerAttr>(value))
    return s.integer(getScalarType(integer.getType()), integer.getValue());
  auto real = cast<FloatAttr>(value);
  return s.real(getScalarType(real.getType()), real.getValueAsDouble());
}

/// Splats become scalar constants. Other contents are looked up by a chain of
/// selects, which suits a handful of elements; emitters that have a place for
/// data keep larger ones there.
Value emitConstant(ConstantOp op, Scalars s, ValueRange indices, Load) {
  ElementsAttr elements = op.getValue();
  if (elements.isSplat())
    return scalarConstant(s, elements.getSplatValue<Attribute>());
  Value position = s.linearise(indices, getShape(op.getResult()));
  Value result;
  for (auto [i, value] : llvm::enumerate(elements.getValues<Attribute>())) {
    Value element = scalarConstant(s, value);
    Value here = i ? s.compare(arith::CmpIPredicate::eq, position, s.index(i)) : Value();
    result = here ? s.select(here, element, result) : element;
  }
  return result;
}

/// Goes through i32 where it can: conversions of 64-bit integers are slow.
Value emitIota(IotaOp op, Scalars s, ValueRange indices, Load) {
  Type type = getScalarType(getElementType(op.getResult()));
  int64_t size = getShape(op.getResult())[op.getDim()];
  Type narrow = s.builder.getI32Type(), wide = s.builder.getI64Type();
  if (isa<IntegerType>(type) && type.getIntOrFloatBitWidth() >= 32)
    return s.create<arith::IndexCastOp>(type, indices[op.getDim()]);
  bool fits = size <= std::numeric_limits<int32_t>::max();
  Value i = s.create<arith::IndexCastOp>(fits ? narrow : wide, indices[op.getDim()]);
  if (isa<FloatType>(type))
    return s.create<arith::SIToFPOp>(type, i);
  return s.create<arith::TruncIOp>(type, i);
}

Value emitBroadcast(BroadcastInDimOp op, Scalars s, ValueRange indices, Load load) {
  SmallVector<Value> source;
  for (auto [dim, size] : llvm::zip_equal(op.getDims(), getShape(op.getOperand())))
    source.push_back(size == 1 ? s.index(0) : indices[dim]);
  return load(0, source);
}

Value emitReshape(ReshapeOp op, Scalars s, ValueRange indices, Load load) {
  if (getShape(op.getOperand()).empty()) // `indices` may be one position, of a flat kernel
    return load(0, {});
  return load(0, s.reshape(indices, getShape(op.getResult()), getShape(op.getOperand())));
}

Value emitTranspose(TransposeOp op, Scalars s, ValueRange indices, Load load) {
  SmallVector<Value> source(indices.size());
  for (auto [i, dim] : llvm::enumerate(op.getPermutation()))
    source[dim] = indices[i];
  return load(0, source);
}

Value emitSlice(SliceOp op, Scalars s, ValueRange indices, Load load) {
  SmallVector<Value> source;
  for (auto [index, start, stride] : llvm::zip_equal(indices, op.getStart(), op.getStrides()))
    source.push_back(s.add(s.mul(index, stride), start));
  return load(0, source);
}

/// The start of a block of `sizes` in `shape`, moved so that it lies inside.
SmallVector<Value> blockStart(Scalars &s, OperandRange starts, unsigned firstOperand,
                              ArrayRef<int64_t> shape, ArrayRef<int64_t> sizes, Load load) {
  SmallVector<Value> result;
  for (auto [i, start] : llvm::enumerate(starts)) {
    Value index = s.toIndex(load(firstOperand + i, {}), getElementType(start));
    result.push_back(s.clamp(index, shape[i] - sizes[i]));
  }
  return result;
}

Value emitDynamicSlice(DynamicSliceOp op, Scalars s, ValueRange indices, Load load) {
  SmallVector<Value> source =
      blockStart(s, op.getStart(), 1, getShape(op.getOperand()), op.getSizes(), load);
  for (auto [start, index] : llvm::zip_equal(source, indices))
    start = s.add(start, index);
  return load(0, source);
}

struct DynamicUpdateSliceModel
    : BlockKernelOp::ExternalModel<DynamicUpdateSliceModel, DynamicUpdateSliceOp> {
  SmallVector<Value> emitStart(Operation *op, OpBuilder &builder, Load load) const {
    auto update = cast<DynamicUpdateSliceOp>(op);
    Scalars s{builder, op->getLoc()};
    return blockStart(s, update.getStart(), 2, getShape(update.getOperand()),
                      getShape(update.getUpdate()), load);
  }
};

/// One element by itself. Emitters use `BlockKernelOp` for the whole result.
Value emitDynamicUpdateSlice(DynamicUpdateSliceOp op, Scalars s, ValueRange indices, Load load) {
  ArrayRef<int64_t> shape = getShape(op.getOperand()), sizes = getShape(op.getUpdate());
  SmallVector<Value> place = blockStart(s, op.getStart(), 2, shape, sizes, load);
  Value inside;
  for (size_t i = 0; i < place.size(); ++i) {
    place[i] = s.create<arith::SubIOp>(indices[i], place[i], arith::IntegerOverflowFlags::nsw);
    if (sizes[i] == shape[i])
      continue;
    inside = s.both(inside, s.compare(arith::CmpIPredicate::sge, place[i], s.index(0)));
    inside = s.both(inside, s.compare(arith::CmpIPredicate::slt, place[i], s.index(sizes[i])));
  }
  return emitIf(
      s, inside, getScalarType(getElementType(op.getResult())), [&] { return load(1, place); },
      [&] { return load(0, indices); });
}

/// The element of the inputs from number `input` on, the first of which starts
/// at `offset`.
Value emitConcatenateFrom(ConcatenateOp op, Scalars s, ValueRange indices, Load load,
                          unsigned input, int64_t offset) {
  int64_t dim = op.getDim();
  int64_t end = offset + getShape(op.getInputs()[input])[dim];
  bool isLast = input + 1 == op.getInputs().size();
  Value here;
  if (!isLast)
    here = s.compare(arith::CmpIPredicate::slt, indices[dim], s.index(end));
  return emitIf(
      s, here, getScalarType(getElementType(op.getResult())),
      [&] {
        SmallVector<Value> source(indices);
        source[dim] = s.sub(indices[dim], offset);
        return load(input, source);
      },
      [&] { return emitConcatenateFrom(op, s, indices, load, input + 1, end); });
}

Value emitConcatenate(ConcatenateOp op, Scalars s, ValueRange indices, Load load) {
  return emitConcatenateFrom(op, s, indices, load, 0, 0);
}

Value emitPad(PadOp op, Scalars s, ValueRange indices, Load load) {
  ArrayRef<int64_t> from = getShape(op.getOperand()), to = getShape(op.getResult());
  SmallVector<Value> source;
  Value inside;
  for (size_t i = 0; i < from.size(); ++i) {
    int64_t low = op.getLow()[i], step = op.getInterior()[i] + 1;
    int64_t span = from[i] ? (from[i] - 1) * step + 1 : 0;
    inside = s.both(inside, s.within(indices[i], low, low + span, to[i]));
    Value position = s.sub(indices[i], low);
    if (step != 1)
      inside =
          s.both(inside, s.compare(arith::CmpIPredicate::eq, s.mod(position, step), s.index(0)));
    source.push_back(s.div(position, step));
  }
  return emitIf(
      s, inside, getScalarType(getElementType(op.getResult())), [&] { return load(0, source); },
      [&] { return load(1, {}); });
}

} // namespace

std::optional<ArrayRef<int64_t>> minigptc::graph::kernel::getPermutation(Operation *op) {
  auto transpose = dyn_cast_or_null<TransposeOp>(op);
  return transpose ? std::optional(transpose.getPermutation()) : std::nullopt;
}

void minigptc::graph::kernel::attachShapeModels(MLIRContext *context) {
  attach<ConstantOp, emitConstant>(context);
  attach<IotaOp, emitIota>(context);
  attach<BroadcastInDimOp, emitBroadcast>(context);
  attach<ReshapeOp, emitReshape>(context);
  attach<TransposeOp, emitTranspose>(context);
  attach<SliceOp, emitSlice>(context);
  attach<DynamicSliceOp, emitDynamicSlice>(context);
  attach<DynamicUpdateSliceOp, emitDynamicUpdateSlice>(context);
  DynamicUpdateSliceOp::attachInterface<DynamicUpdateSliceModel>(*context);
  attach<ConcatenateOp, emitConcatenate>(context);
  attach<PadOp, emitPad>(context);
}
