//===- ContractionRecipes.cpp - random reductions, products, gathers ------===//
#include "test/support/ProgramGenerator.h"

#include <cmath>

using namespace mlir;
using namespace minigptc;
using namespace minigptc::test;

/// A random choice of dimensions, in order.
static SmallVector<int64_t> someDims(ProgramGenerator &g, int64_t rank) {
  SmallVector<int64_t> dims;
  for (int64_t dim = 0; dim < rank; ++dim)
    if (g.chance(0.5))
      dims.push_back(dim);
  return dims;
}

static SmallVector<int64_t> without(ArrayRef<int64_t> shape, ArrayRef<int64_t> dims) {
  SmallVector<int64_t> rest;
  for (auto [dim, size] : llvm::enumerate(shape))
    if (!llvm::is_contained(dims, int64_t(dim)))
      rest.push_back(size);
  return rest;
}

static void reduce(ProgramGenerator &g, PoolValue x, graph::ReduceKind kind, double bound,
                   bool exact) {
  SmallVector<int64_t> dims = someDims(g, x.type().getRank());
  auto type = g.tensor(without(x.shape(), dims), x.element());
  g.add(graph::ReduceOp::create(g.builder, g.loc, type, kind, x.value, dims), bound, exact);
}

static void reduceFloats(ProgramGenerator &g) {
  using Kind = graph::ReduceKind;
  PoolValue x = g.any(g.floatType());
  Kind kind = g.oneOf<Kind>({Kind::sum, Kind::sum, Kind::max, Kind::min, Kind::prod});
  if (kind == Kind::prod) { // of numbers between 0.6 and 1.4
    Value near = g.create("tanh", x.value, x.type());
    Value part = g.create("multiply", {near, g.filled(x.type(), 0.4).value}, x.type());
    Value shifted = g.create("add", {part, g.filled(x.type(), 1).value}, x.type());
    return reduce(g, {shifted, 1.4, false}, kind, 50, false);
  }
  bool extremum = kind != Kind::sum;
  reduce(g, x, kind, extremum ? x.bound : x.bound * std::sqrt(double(x.type().getNumElements())),
         extremum && x.exact);
}

static void reduceIntegers(ProgramGenerator &g) {
  using Kind = graph::ReduceKind;
  if (g.chance(0.4))
    return reduce(g, g.any(g.i1()), g.oneOf<Kind>({Kind::any, Kind::all}), 1, true);
  reduce(g, g.any(g.anyInt()), g.oneOf<Kind>({Kind::sum, Kind::max, Kind::min, Kind::prod}), 1e9,
         true);
}

/// Both operands get their dimensions in a random order.
static void dotGeneral(ProgramGenerator &g) {
  struct Operand {
    SmallVector<int64_t> shape, batch, contract;
  } lhs, rhs;
  SmallVector<int64_t> result, lhsFree, rhsFree;
  auto append = [&](Operand &operand, int64_t size, SmallVector<int64_t> *role) {
    if (role)
      role->push_back(int64_t(operand.shape.size()));
    operand.shape.push_back(size);
  };
  double depth = 1;
  auto addFree = [&](Operand &operand, SmallVector<int64_t> &free) {
    free.push_back(g.number(1, 6));
    append(operand, free.back(), nullptr);
  };
  if (g.chance(0.4))
    addFree(rhs, rhsFree);
  for (int64_t i = g.number(0, 2); i > 0; --i) {
    result.push_back(g.number(1, 3));
    append(lhs, result.back(), &lhs.batch);
    append(rhs, result.back(), &rhs.batch);
  }
  if (g.chance(0.8))
    addFree(lhs, lhsFree);
  for (int64_t i = g.number(0, 5) / 2; i > 0; --i) {
    int64_t size = g.number(1, 7);
    depth *= double(size);
    append(lhs, size, &lhs.contract);
    append(rhs, size, &rhs.contract);
  }
  if (g.chance(0.5))
    addFree(rhs, rhsFree);
  llvm::append_range(result, lhsFree);
  llvm::append_range(result, rhsFree);
  PoolValue x = g.small(g.obtain(g.tensor(lhs.shape, g.floatType())));
  PoolValue y = g.small(g.obtain(g.tensor(rhs.shape, g.floatType())));
  g.add(graph::DotGeneralOp::create(g.builder, g.loc, g.tensor(result, g.floatType()), x.value,
                                    y.value, lhs.batch, rhs.batch, lhs.contract, rhs.contract),
        4 * std::sqrt(depth) * std::min(x.bound, y.bound));
}

/// Index vectors into `dims` of a shape, some out of range where that is defined.
static PoolValue indices(ProgramGenerator &g, ArrayRef<int64_t> shape, ArrayRef<int64_t> leading,
                         ArrayRef<int64_t> dims) {
  SmallVector<int64_t> indexShape(leading);
  indexShape.push_back(int64_t(dims.size()));
  int64_t largest = 0;
  for (int64_t dim : dims)
    largest = std::max(largest, shape[dim]);
  return g.integers(g.tensor(indexShape, g.i32()), -1, largest);
}

static SmallVector<int64_t> slicesShape(ArrayRef<int64_t> leading, ArrayRef<int64_t> shape,
                                        ArrayRef<int64_t> dims) {
  SmallVector<int64_t> result(leading);
  llvm::append_range(result, without(shape, dims));
  return result;
}

static PoolValue indexed(ProgramGenerator &g) {
  return g.any(g.differentiable() || g.chance(0.7) ? g.floatType() : g.anyInt(),
               [](const PoolValue &x) { return x.type().getRank() > 0; });
}

static SmallVector<int64_t> indexedDims(ProgramGenerator &g, int64_t rank) {
  SmallVector<int64_t> dims = someDims(g, rank);
  if (dims.empty())
    dims.push_back(g.number(0, rank - 1));
  return dims;
}

static void gather(ProgramGenerator &g) {
  PoolValue x = indexed(g);
  SmallVector<int64_t> dims = indexedDims(g, x.type().getRank()), leading = g.shape(0, 2);
  PoolValue index = indices(g, x.shape(), leading, dims);
  auto type = g.tensor(slicesShape(leading, x.shape(), dims), x.element());
  g.add(graph::GatherOp::create(g.builder, g.loc, type, x.value, index.value, dims), x.bound,
        x.exact);
}

static void scatter(ProgramGenerator &g) {
  PoolValue x = indexed(g);
  SmallVector<int64_t> dims = indexedDims(g, x.type().getRank()), leading = g.shape(0, 2);
  bool update = g.chance(0.3);
  if (update && g.differentiable())
    leading.assign(leading.size(), 1); // overwritten updates are a matter of the op's own tests
  PoolValue index = indices(g, x.shape(), leading, dims);
  PoolValue updates = g.obtain(g.tensor(slicesShape(leading, x.shape(), dims), x.element()));
  auto kind = update ? graph::ScatterKind::update : graph::ScatterKind::add;
  bool isInt = !isa<FloatType>(x.element());
  g.add(graph::ScatterOp::create(g.builder, g.loc, x.type(), kind, x.value, index.value,
                                 updates.value, dims),
        x.bound + 3 * updates.bound, isInt);
}

void test::addContractionRecipes(std::vector<OpRecipe> &recipes) {
  recipes.push_back({"reduce", true, reduceFloats});
  recipes.push_back({"reduce", false, reduceIntegers});
  recipes.push_back({"dot_general", true, dotGeneral});
  recipes.push_back({"dot_general", true, dotGeneral}); // the op that models are made of
  recipes.push_back({"gather", true, gather});
  recipes.push_back({"scatter", true, scatter});
}
