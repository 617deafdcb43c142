//===- Shape.cpp - data movement ------------------------------------------===//
#include "compiler/trace/ConstantIndices.h"
#include "compiler/trace/Emit.h"

#include <numeric>

using namespace minigptc;
using namespace minigptc::detail;
namespace graph = minigptc::graph;
using llvm::ArrayRef;
using llvm::SmallVector;

namespace {
std::string text(ArrayRef<int64_t> shape) {
  std::string result = "[";
  for (auto [i, size] : llvm::enumerate(shape))
    result += (i ? "," : "") + std::to_string(size);
  return result + "]";
}

mlir::Value reshapeTo(const Emitter &emit, mlir::Value x, ArrayRef<int64_t> shape) {
  return shapeOf(x) == shape ? x : emit.op<graph::ReshapeOp>(x, {}, emit.withShape(x, shape));
}
} // namespace

Value minigptc::reshape(const Operand &x, Shape shape) {
  Emitter emit(x);
  mlir::Value operand = emit.value(x);
  int64_t count = typeOf(operand).getNumElements(), known = 1, open = -1;
  for (auto [i, size] : llvm::enumerate(shape)) {
    if (size == -1 && open < 0)
      open = int64_t(i);
    else if (size < 0)
      emit.fail("reshape: " + text(shape) + " has a negative size or -1 twice");
    else
      known *= size;
  }
  if (open >= 0 && known > 0 && count % known == 0)
    shape[size_t(open)] = count / known, known = count;
  if (known != count || (open >= 0 && shape[size_t(open)] < 0))
    emit.fail("reshape: " + describe(operand) + " has " + std::to_string(count) +
              " elements, which do not fill " + text(shape));
  return emit.wrap(reshapeTo(emit, operand, shape));
}

Value minigptc::flatten(const Operand &x) { return reshape(x, {-1}); }

Value minigptc::transpose(const Operand &x, Axes permutation) {
  Emitter emit(x);
  mlir::Value operand = emit.value(x);
  int64_t rank = typeOf(operand).getRank();
  if (permutation.empty())
    for (int64_t i = rank; i-- > 0;)
      permutation.push_back(i);
  for (int64_t &axis : permutation)
    axis = emit.axis("transpose", axis, rank);
  if (int64_t(emit.axes("transpose", permutation, rank).size()) != rank)
    emit.fail("transpose: " + text(permutation) + " does not permute the dimensions of " +
              describe(operand));
  return emit.wrap(emit.op<graph::TransposeOp>(operand, emit.ints("permutation", permutation)));
}

Value minigptc::swapAxes(const Operand &x, int64_t a, int64_t b) {
  Emitter emit(x);
  int64_t rank = typeOf(emit.value(x)).getRank();
  Axes permutation(static_cast<size_t>(rank));
  std::iota(permutation.begin(), permutation.end(), 0);
  std::swap(permutation[size_t(emit.axis("swapAxes", a, rank))],
            permutation[size_t(emit.axis("swapAxes", b, rank))]);
  return transpose(x, permutation);
}

Value minigptc::broadcastTo(const Operand &x, const Shape &shape) {
  Emitter emit(x);
  mlir::Value operand = emit.value(x);
  ArrayRef<int64_t> from = shapeOf(operand), to = shape;
  bool fits = from.size() <= to.size();
  for (size_t i = 0; fits && i < from.size(); ++i)
    fits = from[i] == 1 || from[i] == to[to.size() - from.size() + i];
  if (!fits)
    emit.fail("broadcastTo: " + describe(operand) + " does not broadcast to " + text(shape));
  return emit.wrap(emit.broadcastTo(operand, shape));
}

Value minigptc::expandDims(const Operand &x, int64_t axis) {
  Emitter emit(x);
  mlir::Value operand = emit.value(x);
  SmallVector<int64_t> shape(shapeOf(operand));
  shape.insert(shape.begin() + emit.axis("expandDims", axis, int64_t(shape.size()) + 1), 1);
  return emit.wrap(reshapeTo(emit, operand, shape));
}

Value minigptc::squeeze(const Operand &x, const Axes &axes) {
  Emitter emit(x);
  mlir::Value operand = emit.value(x);
  auto dropped = emit.axes("squeeze", axes, typeOf(operand).getRank());
  SmallVector<int64_t> shape;
  for (auto [i, size] : llvm::enumerate(shapeOf(operand))) {
    bool drop = llvm::is_contained(dropped, int64_t(i));
    if (drop && size != 1 && !axes.empty())
      emit.fail("squeeze: dimension " + std::to_string(i) + " of " + describe(operand) +
                " is not 1");
    if (!drop || size != 1)
      shape.push_back(size);
  }
  return emit.wrap(reshapeTo(emit, operand, shape));
}

Value minigptc::concatenate(const std::vector<Operand> &parts, int64_t axis) {
  if (parts.empty())
    throw TraceError("concatenate: no tensors", Where::current());
  Emitter emit(parts[0]);
  SmallVector<mlir::Value> values;
  for (const Operand &part : parts)
    values.push_back(emit.value(part));
  for (mlir::Value value : values)
    if (typeOf(value).getElementType() != typeOf(values[0]).getElementType())
      emit.fail("concatenate: element types of " + describe(values[0]) + " and " + describe(value) +
                    " differ",
                {"write convert(x, …) on one of them"});
  return emit.wrap(emit.op<graph::ConcatenateOp>(
      values, emit.integer("dim", emit.axis("concatenate", axis, typeOf(values[0]).getRank()))));
}

Value minigptc::stack(const std::vector<Operand> &parts, int64_t axis) {
  std::vector<Operand> expanded;
  for (const Operand &part : parts)
    expanded.emplace_back(expandDims(part, axis), part.where());
  return concatenate(expanded, axis);
}

Value minigptc::pad(const Operand &x, const Axes &low, const Axes &high, const Operand &value) {
  Emitter emit(x);
  mlir::Value operand = emit.value(x);
  auto scalar = emit.withShape(operand, {});
  mlir::Value filler = value.isNumber() ? emit.number(value, scalar) : emit.value(value);
  Axes interior(shapeOf(operand).size(), 0);
  return emit.wrap(
      emit.op<graph::PadOp>({operand, filler}, {emit.ints("low", low), emit.ints("high", high),
                                                emit.ints("interior", interior)}));
}

namespace {
/// Scalar starts; numbers become i32. A block of those sizes lies inside of `whole` where its start
/// is known.
SmallVector<mlir::Value> startsOf(const Emitter &emit, const std::string &what,
                                  const std::vector<Operand> &starts, mlir::Value whole,
                                  llvm::ArrayRef<int64_t> sizes) {
  SmallVector<mlir::Value> values;
  for (const Operand &start : starts) {
    size_t dim = values.size();
    values.push_back(start.isNumber() ? emit.number(start, emit.context.tensorType({i32, {}}))
                                      : emit.value(start));
    // What does not fit is the op's to say.
    if (dim >= sizes.size() || dim >= shapeOf(whole).size() || sizes[dim] > shapeOf(whole)[dim])
      continue;
    checkIndices(emit, what, values.back(), shapeOf(whole)[dim] - sizes[dim] + 1,
                 "dimension " + std::to_string(dim) + " of " + describe(whole) +
                     " for the start of a block of " + std::to_string(sizes[dim]));
  }
  return values;
}
} // namespace

Value minigptc::dynamicSlice(const Operand &x, const std::vector<Operand> &starts,
                             const Shape &sizes) {
  Emitter emit(x);
  SmallVector<mlir::Value> operands{emit.value(x)};
  operands.append(startsOf(emit, "dynamicSlice", starts, operands[0], sizes));
  return emit.wrap(emit.op<graph::DynamicSliceOp>(operands, emit.ints("sizes", sizes)));
}

Value minigptc::dynamicUpdateSlice(const Operand &x, const Operand &update,
                                   const std::vector<Operand> &starts) {
  Emitter emit(x);
  SmallVector<mlir::Value> operands{emit.value(x), emit.value(update)};
  operands.append(
      startsOf(emit, "dynamicUpdateSlice", starts, operands[0], shapeOf(operands[1])));
  return emit.wrap(emit.op<graph::DynamicUpdateSliceOp>(operands));
}

Value minigptc::take(const Operand &x, const Operand &indices, int64_t axis) {
  Emitter emit(x);
  mlir::Value operand = emit.value(x);
  mlir::Value index = indices.isNumber() ? emit.number(indices, emit.context.tensorType({i32, {}}))
                                         : emit.value(indices);
  SmallVector<int64_t> shape(shapeOf(index));
  int64_t dim = emit.axis("take", axis, typeOf(operand).getRank());
  checkIndices(emit, "take", index, shapeOf(operand)[size_t(dim)],
               "dimension " + std::to_string(dim) + " of " + describe(operand));
  size_t indexRank = shape.size();
  shape.push_back(1);
  index = reshapeTo(emit, index, shape);
  mlir::Value gathered = emit.op<graph::GatherOp>({operand, index}, emit.ints("dims", {dim}));
  if (dim == 0)
    return emit.wrap(gathered);
  // The gathered dimensions come first; move them to where the axis was.
  Axes permutation;
  for (int64_t i = 0; i < dim; ++i)
    permutation.push_back(int64_t(indexRank) + i);
  for (size_t i = 0; i < indexRank; ++i)
    permutation.push_back(int64_t(i));
  for (int64_t i = int64_t(indexRank) + dim; i < typeOf(gathered).getRank(); ++i)
    permutation.push_back(i);
  return emit.wrap(emit.op<graph::TransposeOp>(gathered, emit.ints("permutation", permutation)));
}

//===----------------------------------------------------------------------===//
// Creation
//===----------------------------------------------------------------------===//

Value minigptc::full(const Shape &shape, const Operand &number, DType dtype) {
  Emitter emit(number);
  auto type = emit.context.tensorType({dtype, shape});
  return emit.wrap(number.isNumber() ? emit.number(number, type)
                                     : emit.broadcastTo(emit.value(number), shape));
}

Value minigptc::zeros(const Shape &shape, DType dtype, Where where) {
  return full(shape, Operand(0, where), dtype);
}
Value minigptc::ones(const Shape &shape, DType dtype, Where where) {
  return full(shape, Operand(1, where), dtype);
}

Value minigptc::zerosLike(const Operand &x) {
  Emitter emit(x);
  return emit.wrap(emit.splat(0, typeOf(emit.value(x))));
}
Value minigptc::onesLike(const Operand &x) {
  Emitter emit(x);
  return emit.wrap(emit.splat(1, typeOf(emit.value(x))));
}

Value minigptc::iota(const Shape &shape, int64_t axis, DType dtype, Where where) {
  Emitter emit(where);
  int64_t dim = emit.axis("iota", axis, int64_t(shape.size()));
  return emit.wrap(emit.op<graph::IotaOp>({}, emit.integer("dim", dim),
                                          emit.context.tensorType({dtype, shape})));
}

Value minigptc::arange(int64_t count, DType dtype, Where where) {
  return iota({count}, 0, dtype, where);
}

Value minigptc::oneHot(const Operand &indices, int64_t count, DType dtype) {
  Emitter emit(indices);
  mlir::Value index = emit.value(indices);
  Shape shape(shapeOf(index));
  shape.push_back(count);
  DType indexType = toTensorType(index.getType()).dtype;
  Value classes = iota(shape, -1, indexType, emit.where);
  Value equal = Operand(expandDims(indices, -1), emit.where) == Operand(classes, emit.where);
  return convert(Operand(equal, emit.where), dtype);
}
