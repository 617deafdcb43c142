//===- ElementwiseRecipes.cpp - random elementwise ops --------------------===//
#include "test/support/ProgramGenerator.h"

using namespace mlir;
using namespace minigptc;
using namespace minigptc::test;

namespace {
/// What an op needs of its operand.
enum class Domain { any, small, positive, exact };
} // namespace

static PoolValue operandFor(ProgramGenerator &g, Domain domain) {
  switch (domain) {
  case Domain::any: return g.any(g.floatType());
  case Domain::small: return g.small(g.any(g.floatType()));
  case Domain::positive: return g.positive(g.any(g.floatType()));
  case Domain::exact: return g.exact(g.floatType());
  }
  llvm_unreachable("all domains are handled");
}

static void addFloatUnary(std::vector<OpRecipe> &recipes, std::string name, Domain domain,
                          double bound) {
  recipes.push_back({name, true, [=](ProgramGenerator &g) {
                       PoolValue x = operandFor(g, domain);
                       bool exact = domain == Domain::exact || (x.exact && name == "negate");
                       g.add(g.create(name, x.value, x.type()), std::max(bound, x.bound), exact);
                     }});
}

static void addUnaryRecipes(std::vector<OpRecipe> &recipes) {
  for (const char *name : {"cosine", "erf", "logistic", "sine", "tanh"})
    addFloatUnary(recipes, name, Domain::small, 1);
  for (const char *name : {"abs", "negate", "relu", "silu", "gelu"})
    addFloatUnary(recipes, name, Domain::any, 1);
  for (const char *name : {"ceil", "floor", "round_nearest_even", "sign"})
    addFloatUnary(recipes, name, Domain::exact, 1);
  for (const char *name : {"cbrt", "log", "log_plus_one", "sqrt", "rsqrt"})
    addFloatUnary(recipes, name, Domain::positive, 4);
  for (const char *name : {"exponential", "exponential_minus_one"})
    addFloatUnary(recipes, name, Domain::small, 55);
  for (const char *name : {"abs", "negate", "sign", "not"})
    recipes.push_back({name, false, [=](ProgramGenerator &g) {
                         PoolValue x = g.any(g.anyInt());
                         g.add(g.create(name, x.value, x.type()), x.bound, true);
                       }});
  recipes.push_back({"not", false, [](ProgramGenerator &g) {
                       PoolValue x = g.any(g.i1());
                       g.add(g.create("not", x.value, x.type()), 1, true);
                     }});
}

static void addFloatBinaryRecipes(std::vector<OpRecipe> &recipes) {
  for (const char *name : {"add", "subtract", "multiply", "maximum", "minimum"})
    recipes.push_back({name, true, [=](ProgramGenerator &g) {
                         PoolValue x = g.small(g.any(g.floatType()));
                         PoolValue y = g.small(g.obtain(x.type()));
                         g.add(g.create(name, {x.value, y.value}, x.type()), x.bound * y.bound + 8);
                       }});
  recipes.push_back({"divide", true, [](ProgramGenerator &g) {
                       PoolValue x = g.any(g.floatType());
                       PoolValue y = g.positive(g.obtain(x.type()));
                       g.add(g.create("divide", {x.value, y.value}, x.type()), 4 * x.bound);
                     }});
  recipes.push_back({"power", true, [](ProgramGenerator &g) {
                       PoolValue x = g.positive(g.any(g.floatType()));
                       PoolValue y = g.obtain(x.type());
                       Value exponent = g.create("tanh", y.value, y.type());
                       g.add(g.create("power", {x.value, exponent}, x.type()), x.bound + 4);
                     }});
  // Jumps where x is a multiple of y: only where all agree about both.
  recipes.push_back({"remainder", true, [](ProgramGenerator &g) {
                       PoolValue x = g.exact(g.floatType());
                       PoolValue y = g.filled(x.type(), g.real(0.5, 2));
                       g.add(g.create("remainder", {x.value, y.value}, x.type()), 2, true);
                     }});
}

static void addIntegerBinaryRecipes(std::vector<OpRecipe> &recipes) {
  for (const char *name :
       {"add", "subtract", "multiply", "divide", "remainder", "maximum", "minimum", "and", "or",
        "xor", "shift_left", "shift_right_logical", "shift_right_arithmetic"})
    recipes.push_back({name, false, [=](ProgramGenerator &g) {
                         PoolValue x = g.any(g.anyInt());
                         PoolValue y = g.obtain(x.type());
                         g.add(g.create(name, {x.value, y.value}, x.type()), 1e9, true);
                       }});
  for (const char *name : {"and", "or", "xor", "maximum", "minimum"})
    recipes.push_back({name, false, [=](ProgramGenerator &g) {
                         PoolValue x = g.any(g.i1());
                         PoolValue y = g.obtain(x.type());
                         g.add(g.create(name, {x.value, y.value}, x.type()), 1, true);
                       }});
}

static PoolValue compareExact(ProgramGenerator &g, RankedTensorType type) {
  using Direction = graph::CompareDirection;
  PoolValue x = g.obtain(type, /*exact=*/true), y = g.obtain(type, /*exact=*/true);
  auto direction = g.oneOf<Direction>(
      {Direction::EQ, Direction::NE, Direction::LT, Direction::LE, Direction::GT, Direction::GE});
  Value result =
      graph::CompareOp::create(g.builder, g.loc, type.clone(g.i1()), direction, x.value, y.value);
  return {result, 1, true};
}

static void addChoiceRecipes(std::vector<OpRecipe> &recipes) {
  recipes.push_back({"compare", false, [](ProgramGenerator &g) {
                       g.add(compareExact(g, g.any(g.anyType()).type()).value, 1, true);
                     }});
  recipes.push_back({"is_finite", false, [](ProgramGenerator &g) {
                       PoolValue x = g.any(g.floatType());
                       g.add(g.create("is_finite", x.value, x.type().clone(g.i1())), 1, true);
                     }});
  recipes.push_back(
      {"select", true, [](ProgramGenerator &g) {
         PoolValue x = g.any(g.differentiable() ? g.floatType() : g.anyType());
         PoolValue y = g.obtain(x.type());
         bool scalar = g.chance(0.3);
         Value pred =
             compareExact(g, scalar ? g.tensor({}, g.floatType()) : x.type().clone(g.floatType()))
                 .value;
         Value result = graph::SelectOp::create(g.builder, g.loc, x.type(), pred, x.value, y.value);
         g.add(result, std::max(x.bound, y.bound), x.exact && y.exact);
       }});
  recipes.push_back(
      {"clamp", true, [](ProgramGenerator &g) {
         PoolValue x = g.any(g.floatType());
         PoolValue low = g.filled(x.type(), g.real(-2, 0)), high = g.filled(x.type(), 1);
         g.add(g.create("clamp", {low.value, x.value, high.value}, x.type()), 2, x.exact);
       }});
}

static void addConversionRecipes(std::vector<OpRecipe> &recipes) {
  recipes.push_back({"convert", false, [](ProgramGenerator &g) {
                       PoolValue x = g.exact(g.anyType());
                       Type to = g.oneOf<Type>({g.i32(), g.ui32(), g.i1(), g.floatType()});
                       // Large integers round in f32: exact, but no longer moderate.
                       if (isa<FloatType>(to) && x.bound > 100)
                         return;
                       g.add(g.create("convert", x.value, x.type().clone(to)), x.bound + 1, true);
                     }});
  // There and back through the other float type.
  recipes.push_back({"convert", true, [](ProgramGenerator &g) {
                       PoolValue x = g.any(g.floatType());
                       Type other = g.floatType().isF64() ? Type(g.builder.getF32Type())
                                                          : Type(g.builder.getF64Type());
                       if (g.differentiable() && g.floatType().isF64())
                         return; // finite differences need all digits
                       Value there = g.create("convert", x.value, x.type().clone(other));
                       Value mapped = g.create("sine", there, there.getType());
                       g.add(g.create("convert", mapped, x.type()), 1);
                     }});
  recipes.push_back({"bitcast_convert", false, [](ProgramGenerator &g) {
                       PoolValue x = g.any(g.anyInt());
                       Type to = x.element().isUnsignedInteger() ? g.i32() : g.ui32();
                       g.add(g.create("bitcast_convert", x.value, x.type().clone(to)), 1e9, true);
                     }});
}

void test::addElementwiseRecipes(std::vector<OpRecipe> &recipes) {
  addUnaryRecipes(recipes);
  addFloatBinaryRecipes(recipes);
  addIntegerBinaryRecipes(recipes);
  addChoiceRecipes(recipes);
  addConversionRecipes(recipes);
}
