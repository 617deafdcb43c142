//===- Folding.cpp - compile-time arithmetic on constants -----------------===//
#include "dialects/graph/IR/Folding.h"
#include "mlir/IR/TypeUtilities.h"

using namespace mlir;
using namespace minigptc::graph;

static DenseElementsAttr getSplat(Attribute attribute) {
  auto dense = dyn_cast_or_null<DenseElementsAttr>(attribute);
  return dense && dense.isSplat() ? dense : nullptr;
}

std::optional<APFloat> minigptc::graph::getFloatSplat(Attribute attribute) {
  DenseElementsAttr splat = getSplat(attribute);
  if (!splat || !isa<FloatType>(splat.getElementType()))
    return std::nullopt;
  return splat.getSplatValue<APFloat>();
}

std::optional<APInt> minigptc::graph::getIntSplat(Attribute attribute) {
  DenseElementsAttr splat = getSplat(attribute);
  if (!splat || !isa<IntegerType>(splat.getElementType()))
    return std::nullopt;
  return splat.getSplatValue<APInt>();
}

bool minigptc::graph::isSplatOf(Attribute attribute, double value) {
  if (std::optional<APFloat> number = getFloatSplat(attribute)) {
    bool inexact = false;
    APFloat expected(value);
    expected.convert(number->getSemantics(), APFloat::rmNearestTiesToEven, &inexact);
    return !inexact && number->bitwiseIsEqual(expected);
  }
  if (std::optional<APInt> number = getIntSplat(attribute))
    return *number == APInt(number->getBitWidth(), uint64_t(int64_t(value)), /*isSigned=*/true,
                            /*implicitTrunc=*/true);
  return false;
}
