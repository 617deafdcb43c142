//===- ShapeRecipes.cpp - random data movement ----------------------------===//
#include "test/support/ProgramGenerator.h"

using namespace mlir;
using namespace minigptc;
using namespace minigptc::test;

static Type movable(ProgramGenerator &g) {
  return g.differentiable() ? g.floatType() : g.anyType();
}

static PoolValue ranked(ProgramGenerator &g) {
  return g.any(movable(g), [](const PoolValue &x) { return x.type().getRank() > 0; });
}

static void broadcast(ProgramGenerator &g) {
  PoolValue x =
      g.any(movable(g), [](const PoolValue &x) { return x.type().getNumElements() <= 60; });
  SmallVector<int64_t> shape, dims;
  auto insert = [&] {
    if (shape.size() < 4 && g.chance(0.4))
      shape.push_back(g.number(1, 3));
  };
  insert();
  for (int64_t size : x.shape()) {
    dims.push_back(int64_t(shape.size()));
    shape.push_back(size == 1 && g.chance(0.5) ? g.number(1, 4) : size);
    insert();
  }
  g.add(graph::BroadcastInDimOp::create(g.builder, g.loc, g.tensor(shape, x.element()), x.value,
                                        dims),
        x.bound, x.exact);
}

static void reshape(ProgramGenerator &g) {
  PoolValue x = g.any(movable(g));
  int64_t left = x.type().getNumElements();
  SmallVector<int64_t> shape;
  for (int64_t factor : {2, 3, 5, 7, 1})
    if (left % factor == 0 && g.chance(0.7)) {
      shape.push_back(factor);
      left /= factor;
    }
  shape.insert(shape.begin() + g.number(0, int64_t(shape.size())), left);
  g.add(g.create("reshape", x.value, g.tensor(shape, x.element())), x.bound, x.exact);
}

static void transpose(ProgramGenerator &g) {
  PoolValue x = ranked(g);
  auto order = llvm::to_vector(llvm::seq<int64_t>(0, x.type().getRank()));
  SmallVector<int64_t> shape;
  for (size_t i = order.size(); i-- > 1;)
    std::swap(order[i], order[size_t(g.number(0, int64_t(i)))]);
  for (int64_t dim : order)
    shape.push_back(x.shape()[dim]);
  g.add(graph::TransposeOp::create(g.builder, g.loc, g.tensor(shape, x.element()), x.value, order),
        x.bound, x.exact);
}

static void slice(ProgramGenerator &g) {
  PoolValue x = ranked(g);
  SmallVector<int64_t> start, limit, strides, shape;
  for (int64_t size : x.shape()) {
    start.push_back(g.number(0, size - 1));
    limit.push_back(g.number(start.back() + 1, size));
    strides.push_back(g.number(1, 3));
    shape.push_back((limit.back() - start.back() + strides.back() - 1) / strides.back());
  }
  g.add(graph::SliceOp::create(g.builder, g.loc, g.tensor(shape, x.element()), x.value, start,
                               limit, strides),
        x.bound, x.exact);
}

/// Scalar starts, some outside: they are clamped.
static SmallVector<Value> dynamicStart(ProgramGenerator &g, int64_t rank) {
  SmallVector<Value> start;
  for (int64_t i = 0; i < rank; ++i)
    start.push_back(g.integers(g.tensor({}, g.i32()), -1, 4).value);
  return start;
}

static SmallVector<int64_t> blockIn(ProgramGenerator &g, ArrayRef<int64_t> shape) {
  return llvm::map_to_vector(shape, [&](int64_t size) { return g.number(1, size); });
}

static void dynamicSlice(ProgramGenerator &g) {
  PoolValue x = ranked(g);
  SmallVector<int64_t> sizes = blockIn(g, x.shape());
  g.add(graph::DynamicSliceOp::create(g.builder, g.loc, g.tensor(sizes, x.element()), x.value,
                                      dynamicStart(g, x.type().getRank()), sizes),
        x.bound, x.exact);
}

static void dynamicUpdateSlice(ProgramGenerator &g) {
  PoolValue x = ranked(g);
  PoolValue update = g.obtain(g.tensor(blockIn(g, x.shape()), x.element()));
  g.add(graph::DynamicUpdateSliceOp::create(g.builder, g.loc, x.type(), x.value, update.value,
                                            dynamicStart(g, x.type().getRank())),
        std::max(x.bound, update.bound), x.exact && update.exact);
}

static void concatenate(ProgramGenerator &g) {
  PoolValue x = ranked(g);
  int64_t dim = g.number(0, x.type().getRank() - 1);
  SmallVector<Value> inputs;
  SmallVector<int64_t> total(x.shape());
  total[dim] = 0;
  double bound = 0;
  bool exact = true;
  for (int64_t i = 0, count = g.number(1, 3); i < count; ++i) {
    SmallVector<int64_t> shape(x.shape());
    if (i)
      shape[dim] = g.number(1, 3);
    PoolValue input = i ? g.obtain(g.tensor(shape, x.element())) : x;
    inputs.push_back(input.value);
    total[dim] += shape[dim];
    bound = std::max(bound, input.bound);
    exact &= input.exact;
  }
  g.add(graph::ConcatenateOp::create(g.builder, g.loc, g.tensor(total, x.element()), inputs, dim),
        bound, exact);
}

static void pad(ProgramGenerator &g) {
  PoolValue x = ranked(g);
  PoolValue value = g.obtain(g.tensor({}, x.element()));
  SmallVector<int64_t> low, high, interior, shape;
  for (int64_t size : x.shape()) {
    bool whole = g.chance(0.3); // as most dimensions are in programs
    low.push_back(whole ? 0 : g.number(-1, 2));
    high.push_back(whole ? 0 : g.number(-1, 2));
    interior.push_back(whole ? 0 : g.number(0, 1));
    shape.push_back(size + (size - 1) * interior.back() + low.back() + high.back());
    if (shape.back() < 1) {
      shape.back() -= low.back() + high.back();
      low.back() = high.back() = 0;
    }
  }
  g.add(graph::PadOp::create(g.builder, g.loc, g.tensor(shape, x.element()), x.value, value.value,
                             low, high, interior),
        std::max(x.bound, value.bound), x.exact && value.exact);
}

void test::addShapeRecipes(std::vector<OpRecipe> &recipes) {
  recipes.push_back({"constant", true, [](ProgramGenerator &g) {
                       PoolValue x = g.constant(g.tensor(g.shape(0, 3), movable(g)));
                       g.add(x.value, x.bound, true);
                     }});
  recipes.push_back(
      {"iota", true, [](ProgramGenerator &g) {
         SmallVector<int64_t> shape = g.shape(1, 3);
         Type element = g.differentiable() || g.chance(0.5) ? g.floatType() : g.anyInt();
         int64_t dim = g.number(0, int64_t(shape.size()) - 1);
         g.add(graph::IotaOp::create(g.builder, g.loc, g.tensor(shape, element), dim), 9, true);
       }});
  recipes.push_back({"broadcast_in_dim", true, broadcast});
  recipes.push_back({"reshape", true, reshape});
  recipes.push_back({"transpose", true, transpose});
  recipes.push_back({"slice", true, slice});
  recipes.push_back({"dynamic_slice", true, dynamicSlice});
  recipes.push_back({"dynamic_update_slice", true, dynamicUpdateSlice});
  recipes.push_back({"concatenate", true, concatenate});
  recipes.push_back({"pad", true, pad});
}
