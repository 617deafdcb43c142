//===- Reduce.cpp - reductions --------------------------------------------===//
#include "compiler/trace/Emit.h"

using namespace minigptc;
using namespace minigptc::detail;
namespace graph = minigptc::graph;
using llvm::SmallVector;

namespace {

Value reduce(graph::ReduceKind kind, llvm::StringRef what, const Operand &x, const Axes &axes,
             bool keepDims) {
  Emitter emit(x);
  mlir::Value operand = emit.value(x);
  auto dims = emit.axes(what, axes, typeOf(operand).getRank());
  auto attr = graph::ReduceKindAttr::get(emit.context.mlir(), kind);
  mlir::Value reduced =
      emit.op<graph::ReduceOp>(operand, {emit.attribute("kind", attr), emit.ints("dims", dims)});
  if (!keepDims)
    return emit.wrap(reduced);
  SmallVector<int64_t> shape(shapeOf(operand));
  for (int64_t dim : dims)
    shape[size_t(dim)] = 1;
  return emit.wrap(emit.op<graph::ReshapeOp>(reduced, {}, emit.withShape(reduced, shape)));
}

} // namespace

Value minigptc::sum(const Operand &x, const Axes &axes, bool keepDims) {
  return reduce(graph::ReduceKind::sum, "sum", x, axes, keepDims);
}
Value minigptc::max(const Operand &x, const Axes &axes, bool keepDims) {
  return reduce(graph::ReduceKind::max, "max", x, axes, keepDims);
}
Value minigptc::min(const Operand &x, const Axes &axes, bool keepDims) {
  return reduce(graph::ReduceKind::min, "min", x, axes, keepDims);
}
Value minigptc::prod(const Operand &x, const Axes &axes, bool keepDims) {
  return reduce(graph::ReduceKind::prod, "prod", x, axes, keepDims);
}
Value minigptc::any(const Operand &x, const Axes &axes, bool keepDims) {
  return reduce(graph::ReduceKind::any, "any", x, axes, keepDims);
}
Value minigptc::all(const Operand &x, const Axes &axes, bool keepDims) {
  return reduce(graph::ReduceKind::all, "all", x, axes, keepDims);
}

Value minigptc::mean(const Operand &x, const Axes &axes, bool keepDims) {
  Emitter emit(x);
  mlir::Value operand = emit.value(x);
  if (!llvm::isa<mlir::FloatType>(typeOf(operand).getElementType()))
    emit.fail("mean: " + describe(operand) + " is not of a float type",
              {"write mean(convert(x, f32))"});
  double count = 1;
  for (int64_t dim : emit.axes("mean", axes, typeOf(operand).getRank()))
    count *= double(shapeOf(operand)[size_t(dim)]);
  return Operand(sum(x, axes, keepDims), emit.where) / Operand(count, emit.where);
}

Value minigptc::variance(const Operand &x, const Axes &axes, bool keepDims) {
  Where where = x.where();
  Value centred = x - Operand(mean(x, axes, true), where);
  return mean(Operand(square(Operand(centred, where)), where), axes, keepDims);
}

Value minigptc::logSumExp(const Operand &x, const Axes &axes, bool keepDims) {
  Where where = x.where();
  Value largest = max(x, axes, true);
  Value shift =
      select(isFinite(Operand(largest, where)), Operand(largest, where), Operand(0, where));
  Value total = sum(Operand(exp(x - Operand(shift, where)), where), axes, true);
  Value result = Operand(log(Operand(total, where)), where) + Operand(shift, where);
  if (keepDims)
    return result;
  Emitter emit(x);
  SmallVector<int64_t> shape;
  auto dims = emit.axes("logSumExp", axes, result.rank());
  for (auto [i, size] : llvm::enumerate(result.shape()))
    if (!llvm::is_contained(dims, int64_t(i)))
      shape.push_back(size);
  return reshape(Operand(result, where), Shape(shape.begin(), shape.end()));
}
