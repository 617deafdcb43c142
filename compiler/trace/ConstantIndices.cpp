//===- ConstantIndices.cpp - indices known while tracing ------------------===//
#include "compiler/trace/ConstantIndices.h"
#include "mlir/IR/Matchers.h"

#include <algorithm>
#include <optional>

using namespace minigptc;
using namespace minigptc::detail;

namespace {

/// The least and the greatest element.
struct Extremes {
  int64_t least, greatest;
  void add(const Extremes &other) {
    least = std::min(least, other.least);
    greatest = std::max(greatest, other.greatest);
  }
};

std::optional<Extremes> ofConstant(mlir::DenseElementsAttr elements) {
  auto type = llvm::dyn_cast<mlir::IntegerType>(elements.getElementType());
  if (!type || elements.empty())
    return std::nullopt;
  std::optional<Extremes> all;
  for (const llvm::APInt &element : elements.getValues<llvm::APInt>()) {
    int64_t value = type.isUnsigned() ? int64_t(element.getZExtValue()) : element.getSExtValue();
    if (all)
      all->add({value, value});
    else
      all = {value, value};
    if (elements.isSplat())
      break;
  }
  return all;
}

/// Nothing where an element is not known.
std::optional<Extremes> extremesOf(mlir::Value value) {
  mlir::DenseElementsAttr elements;
  if (mlir::matchPattern(value, mlir::m_Constant(&elements)))
    return ofConstant(elements);
  mlir::Operation *op = value.getDefiningOp();
  if (auto iota = llvm::dyn_cast_or_null<graph::IotaOp>(op))
    return Extremes{0, shapeOf(value)[iota.getDim()] - 1};
  if (!llvm::isa_and_nonnull<graph::ElementMoveOp>(op))
    return std::nullopt;
  std::optional<Extremes> all;
  for (mlir::Value operand : op->getOperands()) {
    std::optional<Extremes> some = extremesOf(operand);
    if (!some)
      return std::nullopt;
    if (all)
      all->add(*some);
    else
      all = some;
  }
  return all;
}

} // namespace

void minigptc::detail::checkIndices(const Emitter &emit, const std::string &what,
                                    mlir::Value indices, int64_t bound, const std::string &of) {
  std::optional<Extremes> known = extremesOf(indices);
  if (!known || typeOf(indices).getNumElements() == 0)
    return;
  int64_t wrong = known->least < 0 ? known->least : known->greatest;
  if (wrong < 0 || wrong >= bound)
    emit.fail(
        what + ": index " + std::to_string(wrong) + " is outside " + of +
        (bound > 0 ? ", whose indices are 0 to " + std::to_string(bound - 1) : ", which is empty"));
}
