//===- VmapCollectives.cpp - what examples know of each other -------------===//
#include "compiler/trace/VmapCollectives.h"

using namespace minigptc;
using namespace minigptc::detail;

std::optional<Examples> Examples::find(const char *what, const DimSpec &axes,
                                       const std::source_location &where) {
  TraceContext &context = TraceContext::current(where);
  const VmapAxis *found = nullptr;
  for (const std::string &axis : axes.axes)
    if (const VmapAxis *known = context.findVmapAxis(axis))
      found = known;
  if (!found)
    return std::nullopt;
  if (axes.axes.size() > 1)
    throw TraceError(std::string(what) + ": '" + found->name +
                         "' is the axis of a vmap, and there are others beside it",
                     where, {"go over one after the other, in a call for each"});
  return Examples(what, *found, where);
}

Value Examples::all(const Value &x) const {
  mlir::Value operand = emit.context.localize(x, emit.where);
  llvm::SmallVector<int64_t> shape{axis.size};
  llvm::append_range(shape, shapeOf(operand));
  return emit.wrap(emit.op<graph::GatherExamplesOp>(
      operand, emit.attribute("axis", mlir::StringAttr::get(emit.context.mlir(), axis.name)),
      emit.withShape(operand, shape)));
}

Value Examples::index() const {
  return emit.wrap(emit.op<graph::ExampleIndexOp>(
      {}, emit.attribute("axis", mlir::StringAttr::get(emit.context.mlir(), axis.name)),
      emit.context.tensorType({i64, {}})));
}

Value Examples::sum(const Value &x) const {
  if (x.dtype() == i1)
    emit.fail(std::string(what) + ": " + x.type().toString() + " has no sum",
              {"convert(x, i32) counts what is true"});
  return minigptc::sum(at(all(x)), {0});
}

/// Dimension 0 in front of another one, and both as one.
static Value mergeFirst(const Operand &x, int64_t dim) {
  Axes permutation;
  for (int64_t i = 1; i < x.value().rank(); ++i)
    permutation.push_back(i);
  permutation.insert(permutation.begin() + dim, 0);
  Shape shape = x.value().shape();
  shape[size_t(dim) + 1] *= shape[0];
  shape.erase(shape.begin());
  return reshape(Operand(transpose(x, permutation), x.where()), shape);
}

Value Examples::gather(const Value &x, int64_t dim) const { return mergeFirst(at(all(x)), dim); }

void Examples::checkParts(const Value &x, int64_t dim) const {
  if (x.dim(dim) % axis.size != 0)
    emit.fail(std::string(what) + ": dimension " + std::to_string(dim) + " of " +
              x.type().toString() + " has no " + std::to_string(axis.size) +
              " equal parts, one for each example");
}

Value Examples::ownPart(const Value &x, int64_t dim) const {
  Shape sizes = x.shape();
  sizes[size_t(dim)] /= axis.size;
  std::vector<Operand> starts(sizes.size(), Operand(zeros({}, i64, emit.where), emit.where));
  starts[size_t(dim)] = at(at(index()) * Operand(sizes[size_t(dim)], emit.where));
  return dynamicSlice(at(x), starts, sizes);
}

Value Examples::sumScatter(const Value &x, int64_t dim) const {
  checkParts(x, dim);
  return ownPart(sum(x), dim);
}

Value Examples::allToAll(const Value &x, int64_t splitDim, int64_t concatDim) const {
  checkParts(x, splitDim);
  return mergeFirst(at(ownPart(all(x), splitDim + 1)), concatDim);
}

Value Examples::permute(const Value &x, const std::vector<int64_t> &sources) const {
  std::vector<Operand> numbers;
  for (int64_t source : sources)
    numbers.push_back(at(full({1}, Operand(source, emit.where), i64)));
  Value source = take(at(concatenate(numbers)), at(index()));
  Value given = take(at(all(x)), at(maximum(at(source), Operand(0, emit.where))));
  return select(at(at(source) >= Operand(0, emit.where)), at(given), at(zerosLike(at(given))));
}
