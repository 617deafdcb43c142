//===- Stability.cpp - by how much rounding may move results --------------===//
#include "test/compiler/sharding/Stability.h"
#include "dialects/graph/IR/Graph.h"
#include "test/compiler/random/RandomInputs.h"

#include <cmath>
#include <random>

using namespace mlir;
using namespace minigptc;
using namespace minigptc::test;

/// Bits of the significand of the narrowest float type.
static unsigned precisionOf(ModuleOp module) {
  unsigned precision = 53;
  auto see = [&](Type type) {
    if (auto tensor = dyn_cast<RankedTensorType>(type))
      if (auto real = dyn_cast<FloatType>(tensor.getElementType()))
        precision =
            std::min(precision, llvm::APFloat::semanticsPrecision(real.getFloatSemantics()));
  };
  module.walk([&](Operation *op) {
    llvm::for_each(op->getResultTypes(), see);
    llvm::for_each(op->getOperandTypes(), see);
  });
  return precision;
}

double test::toleranceOf(ModuleOp module) {
  unsigned precision = precisionOf(module);
  if (precision <= 8) // bf16
    return 0.1;
  if (precision <= 11) // f16
    return 0.02;
  return precision <= 24 ? 1e-4 : 1e-9;
}

namespace {
/// Moves numbers by units of the last place of a precision.
class Nudge {
public:
  Nudge(unsigned precision, uint64_t seed)
      : unit(std::ldexp(1.0, 1 - int(precision))), random(seed) {}

  double operator()(double value) { return value * (1 + unit * double(int(random() % 3) - 1)); }

  Tensor operator()(const Tensor &tensor) {
    if (!isa<FloatType>(tensor.getType().getElementType()))
      return tensor;
    Tensor moved = tensor;
    for (int64_t i = 0; i < moved.getNumElements(); ++i)
      moved.setFloat(i, (*this)(tensor.getFloat(i)));
    return moved;
  }

  /// Constants that are one number everywhere mean it.
  void operator()(graph::ConstantOp constant) {
    auto value = dyn_cast<DenseElementsAttr>(constant.getValue());
    auto type = value ? dyn_cast<FloatType>(value.getElementType()) : FloatType();
    if (!type || value.isSplat())
      return;
    SmallVector<Attribute> moved;
    for (const APFloat &number : value.getValues<APFloat>())
      moved.push_back(FloatAttr::get(type, (*this)(number.convertToDouble())));
    constant.setValueAttr(cast<ElementsAttr>(DenseElementsAttr::get(value.getType(), moved)));
  }

private:
  double unit;
  std::mt19937_64 random;
};
} // namespace

static bool isFinite(ArrayRef<Tensor> tensors) {
  for (const Tensor &tensor : tensors)
    if (isa<FloatType>(tensor.getType().getElementType()))
      for (int64_t i = 0; i < tensor.getNumElements(); ++i)
        if (!std::isfinite(tensor.getFloat(i)))
          return false;
  return true;
}

bool test::isUnstable(ModuleRunner &runner, ModuleOp module, StringRef function,
                      ArrayRef<Tensor> inputs) {
  std::vector<Tensor> expected = runner.run(module, function, inputs);
  if (!isFinite(expected))
    return true;
  unsigned precision = precisionOf(module);
  for (uint64_t attempt = 0; attempt < 16; ++attempt) {
    Nudge nudge(precision, attempt);
    std::vector<Tensor> moved;
    for (const Tensor &input : inputs)
      moved.push_back(nudge(input));
    OwningOpRef<ModuleOp> copy(module.clone());
    copy->walk([&](graph::ConstantOp constant) { nudge(constant); });
    std::vector<Tensor> results = runner.run(*copy, function, moved);
    if (!isFinite(results) || !compareAll(results, expected, toleranceOf(module) / 2).empty())
      return true;
  }
  return false;
}
