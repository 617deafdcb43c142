//===- Folding.h - compile-time arithmetic on constants ---------*- C++ -*-===//
//
// Folds never change a result: floats are computed in the element type's own
// format (one IEEE operation rounds the same there as in f32 followed by a
// conversion), and a fold that would have to choose (division by zero, NaN) is
// left to run time. Splats fold at any size, other constants up to
// `kMaxFoldedElements`, so that folding never blows a module up.
//
//===----------------------------------------------------------------------===//
#ifndef MINIGPTC_DIALECTS_GRAPH_IR_FOLDING_H
#define MINIGPTC_DIALECTS_GRAPH_IR_FOLDING_H

#include "mlir/IR/BuiltinAttributes.h"
#include "mlir/IR/BuiltinTypes.h"

#include <optional>

namespace minigptc::graph {

inline constexpr int64_t kMaxFoldedElements = 1024;

/// A constant that may be folded: dense, not empty, and a splat or small.
inline mlir::DenseElementsAttr getFoldable(mlir::Attribute attribute) {
  auto dense = llvm::dyn_cast_or_null<mlir::DenseElementsAttr>(attribute);
  if (!dense || dense.getNumElements() == 0 ||
      (!dense.isSplat() && dense.getNumElements() > kMaxFoldedElements))
    return nullptr;
  return dense;
}

inline bool isUnsigned(mlir::Type elementType) {
  return elementType.isUnsignedInteger() || elementType.isInteger(1);
}

/// The one value of a splat of floats or of integers.
std::optional<llvm::APFloat> getFloatSplat(mlir::Attribute attribute);
std::optional<llvm::APInt> getIntSplat(mlir::Attribute attribute);

/// True for a splat of exactly this number; zero has the sign asked for.
bool isSplatOf(mlir::Attribute attribute, double value);

/// The tensor of `type` whose element i is `compute(i)`; null if an element has
/// no value. `compute` gives std::optional<APInt> or std::optional<APFloat>.
template <typename Number, typename Compute>
mlir::Attribute buildElements(mlir::RankedTensorType type, bool splat, Compute compute) {
  llvm::SmallVector<Number> values;
  int64_t count = splat ? 1 : type.getNumElements();
  for (int64_t i = 0; i < count; ++i) {
    std::optional<Number> value = compute(i);
    if (!value)
      return nullptr;
    values.push_back(*value);
  }
  return mlir::DenseElementsAttr::get(type, llvm::ArrayRef<Number>(values));
}

/// Elements of a foldable constant by position (a splat answers any position).
template <typename Number> class ConstantElements {
public:
  explicit ConstantElements(mlir::DenseElementsAttr attribute) {
    if (attribute.isSplat())
      values.push_back(attribute.getSplatValue<Number>());
    else
      values.assign(attribute.getValues<Number>().begin(), attribute.getValues<Number>().end());
  }
  const Number &operator[](int64_t i) const { return values[values.size() == 1 ? 0 : i]; }

private:
  llvm::SmallVector<Number> values;
};

} // namespace minigptc::graph

#endif // MINIGPTC_DIALECTS_GRAPH_IR_FOLDING_H
