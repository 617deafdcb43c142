//===- ProgramGenerator.cpp - pools of values, functions of ops -----------===//
#include "test/support/ProgramGenerator.h"

#include <cmath>

using namespace mlir;
using namespace minigptc;
using namespace minigptc::test;

static Type parseFloatType(MLIRContext *context, StringRef name) {
  Builder builder(context);
  if (name == "bf16")
    return builder.getBF16Type();
  if (name == "f16")
    return builder.getF16Type();
  return name == "f64" ? Type(builder.getF64Type()) : Type(builder.getF32Type());
}

ProgramGenerator::ProgramGenerator(ModuleOp module, uint64_t seed,
                                   const RandomProgramOptions &options)
    : builder(module.getContext()), loc(builder.getUnknownLoc()), module_(module),
      options_(options), floatType_(parseFloatType(module.getContext(), options.floatType)),
      random_(seed) {}

int64_t ProgramGenerator::number(int64_t low, int64_t high) {
  return low + int64_t(random_() % uint64_t(high - low + 1));
}

double ProgramGenerator::real(double low, double high) {
  return low + (high - low) * double(random_() >> 11) * 0x1p-53;
}

SmallVector<int64_t> ProgramGenerator::shape(int64_t minRank, int64_t maxRank) {
  SmallVector<int64_t> shape;
  int64_t rank = number(minRank, maxRank);
  for (int64_t i = 0; i < rank; ++i) // size 1 and odd sizes are where mistakes hide
    shape.push_back(oneOf<int64_t>({1, 2, 3, 4, 5, rank > 2 ? 3 : 9}));
  return shape;
}

Type ProgramGenerator::anyType() {
  if (chance(0.6))
    return floatType_;
  return oneOf<Type>({i32(), ui32(), i1()});
}

Value ProgramGenerator::create(StringRef name, ValueRange operands, Type type) {
  OperationState state(loc, ("graph." + name).str(), operands, TypeRange(type));
  return builder.create(state)->getResult(0);
}

void ProgramGenerator::add(Value value, double bound, bool exact) {
  pool_.push_back({value, bound, exact});
}

PoolValue ProgramGenerator::any(Type element, llvm::function_ref<bool(const PoolValue &)> accept) {
  std::vector<const PoolValue *> candidates;
  for (const PoolValue &candidate : pool_)
    if (candidate.element() == element && (!accept || accept(candidate)))
      candidates.push_back(&candidate);
  if (!candidates.empty()) {
    // Half the time one of the newest, so that programs become deep, not only wide.
    size_t newest = std::min<size_t>(candidates.size(), 3);
    size_t first = chance(0.5) ? candidates.size() - newest : 0;
    return *candidates[size_t(number(int64_t(first), int64_t(candidates.size()) - 1))];
  }
  for (int attempt = 0; attempt < 20; ++attempt)
    if (PoolValue made = constant(tensor(shape(1, 3), element)); !accept || accept(made))
      return made;
  return constant(tensor({2, 3}, element));
}

PoolValue ProgramGenerator::exact(Type element) {
  return any(element, [](const PoolValue &x) { return x.exact; });
}

PoolValue ProgramGenerator::constant(RankedTensorType type) {
  std::vector<Attribute> values;
  for (int64_t i = 0; i < type.getNumElements(); ++i)
    if (isa<FloatType>(type.getElementType()))
      values.push_back(builder.getFloatAttr(type.getElementType(), float(real(-2, 2))));
    else if (type.getElementType().isInteger(1))
      values.push_back(builder.getBoolAttr(chance(0.5)));
    else
      values.push_back(IntegerAttr::get(
          type.getElementType(),
          APInt(32,
                uint64_t(type.getElementType().isUnsignedInteger() ? number(0, 9) : number(-9, 9)),
                /*isSigned=*/false, /*implicitTrunc=*/true)));
  auto attribute = DenseElementsAttr::get(type, values);
  return {graph::ConstantOp::create(builder, loc, type, attribute), 10, true};
}

PoolValue ProgramGenerator::integers(RankedTensorType type, int64_t low, int64_t high) {
  std::vector<Attribute> values;
  for (int64_t i = 0; i < type.getNumElements(); ++i)
    values.push_back(IntegerAttr::get(type.getElementType(), number(low, high)));
  auto attribute = DenseElementsAttr::get(type, values);
  return {graph::ConstantOp::create(builder, loc, type, attribute),
          double(std::max(std::abs(low), std::abs(high))), true};
}

PoolValue ProgramGenerator::filled(RankedTensorType type, double value) {
  auto attribute =
      DenseElementsAttr::get(type, Attribute(builder.getFloatAttr(type.getElementType(), value)));
  return {graph::ConstantOp::create(builder, loc, type, attribute), std::fabs(value), true};
}

PoolValue ProgramGenerator::obtain(RankedTensorType type, bool exactOnly) {
  auto usable = [&](const PoolValue &x) { return x.exact || !exactOnly; };
  auto fits = [&](const PoolValue &x) { return usable(x) && x.value.getType() == type; };
  auto sameCount = [&](const PoolValue &x) {
    return usable(x) && x.element() == type.getElementType() &&
           x.type().getNumElements() == type.getNumElements();
  };
  if (llvm::any_of(pool_, fits) && chance(0.9))
    return any(type.getElementType(), fits);
  if (llvm::any_of(pool_, sameCount)) {
    PoolValue x = any(type.getElementType(), sameCount);
    return {create("reshape", x.value, type), x.bound, x.exact};
  }
  if (exactOnly || type.getElementType() != floatType_)
    return constant(type);
  // A number that depends on some value, times constants.
  PoolValue x = any(floatType_);
  auto dims = llvm::to_vector(llvm::seq<int64_t>(0, x.type().getRank()));
  auto scalar = tensor({}, floatType_);
  Value sum = graph::ReduceOp::create(builder, loc, scalar, graph::ReduceKind::sum, x.value, dims);
  Value bounded = create("tanh", sum, scalar);
  Value spread = graph::BroadcastInDimOp::create(builder, loc, type, bounded, ArrayRef<int64_t>());
  return {create("multiply", {spread, constant(type).value}, type), 2, false};
}

PoolValue ProgramGenerator::small(PoolValue x) {
  if (x.bound <= 4 || x.element() != floatType_)
    return x;
  return {create("tanh", x.value, x.type()), 1, false};
}

PoolValue ProgramGenerator::positive(PoolValue x) {
  x = small(x);
  Value square = create("multiply", {x.value, x.value}, x.type());
  Value shifted = create("add", {square, filled(x.type(), 0.25).value}, x.type());
  return {shifted, x.bound * x.bound + 0.25, false};
}

Value ProgramGenerator::key() {
  auto accept = [](const PoolValue &x) { return graph::isKeyType(x.value.getType()); };
  if (llvm::any_of(pool_, accept) && chance(0.7))
    return any(ui32(), accept).value;
  return integers(graph::getKeyType(builder.getContext()), 0, 1 << 30).value;
}

/// Callers pass floats that they computed.
void ProgramGenerator::addArguments(func::FuncOp function) {
  for (BlockArgument argument : function.getArguments()) {
    bool isFloat = isa<FloatType>(cast<RankedTensorType>(argument.getType()).getElementType());
    add(argument, 4, !isFloat || !function.isPrivate());
  }
}

/// Returns one to three values that nothing uses, or the last ones.
void ProgramGenerator::finish(func::FuncOp function) {
  SmallVector<Value> results;
  auto consider = [&](bool unusedOnly) {
    for (const PoolValue &x : llvm::reverse(pool_))
      if (results.size() < 3 && !isa<BlockArgument>(x.value) &&
          (!unusedOnly || x.value.use_empty()) && !llvm::is_contained(results, x.value) &&
          (!differentiable() || x.element() == floatType_))
        results.push_back(x.value);
  };
  consider(/*unusedOnly=*/true);
  if (results.empty())
    consider(/*unusedOnly=*/false);
  if (results.empty())
    results.push_back(obtain(tensor({2}, floatType_)).value);
  func::ReturnOp::create(builder, loc, results);
  function.setFunctionType(
      builder.getFunctionType(function.getArgumentTypes(), ValueRange(results).getTypes()));
}

func::FuncOp ProgramGenerator::buildFunction(StringRef name, bool isPrivate, int steps) {
  pool_.clear();
  SmallVector<Type> arguments{tensor(shape(1, 3), floatType_)};
  for (int64_t extra = number(0, 3); extra > 0; --extra)
    arguments.push_back(tensor(shape(0, 3), differentiable() ? floatType_ : anyType()));
  builder.setInsertionPointToEnd(module_.getBody());
  auto function = func::FuncOp::create(builder, loc, name, builder.getFunctionType(arguments, {}));
  if (isPrivate)
    function.setPrivate();
  builder.setInsertionPointToStart(function.addEntryBlock());
  addArguments(function);
  std::vector<const OpRecipe *> recipes;
  for (const OpRecipe &recipe : allRecipes())
    if (recipe.differentiable || !differentiable())
      recipes.push_back(&recipe);
  for (int step = 0; step < steps; ++step)
    oneOf<const OpRecipe *>(recipes)->build(*this);
  if (options_.callTwice && !isPrivate && !callees.empty() && chance(0.5)) {
    auto callee = oneOf<func::FuncOp>(callees);
    addCall(*this, callee);
    addCall(*this, callee);
  }
  finish(function);
  return function;
}

const std::vector<OpRecipe> &test::allRecipes() {
  static const std::vector<OpRecipe> recipes = [] {
    std::vector<OpRecipe> all;
    addElementwiseRecipes(all);
    addShapeRecipes(all);
    addContractionRecipes(all);
    addCompositeRecipes(all);
    return all;
  }();
  return recipes;
}
