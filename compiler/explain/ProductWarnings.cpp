//===- ProductWarnings.cpp - what is said of one op -----------------------===//
#include "compiler/explain/ProductWarnings.h"
#include "compiler/explain/Places.h"
#include "dialects/graph/IR/Diagnostics.h"
#include "runtime/base/Format.h"

using namespace mlir;
using namespace minigptc;
using graph::FactorKind;
using runtime::format;

std::string minigptc::bytesText(double bytes) {
  return bytes >= 1e6   ? format("%.1f MB", bytes * 1e-6)
         : bytes >= 1e3 ? format("%.1f kB", bytes * 1e-3)
                        : format("%.0f B", bytes);
}

std::string minigptc::specText(const dist::Sharding &sharding, dist::MeshAttr mesh) {
  PartitionSpec spec;
  for (const dist::Axes &axes : sharding.dims) {
    DimSpec dim;
    for (unsigned axis : axes)
      dim.axes.push_back(mesh.getNames()[axis].str());
    spec.dims.push_back(std::move(dim));
  }
  return spec.toString();
}

std::string minigptc::movedSpec(const AnnotatedParameter &parameter, unsigned axis, unsigned to,
                                dist::MeshAttr mesh) {
  dist::Sharding moved = parameter.sharding;
  for (dist::Axes &axes : moved.dims)
    llvm::erase(axes, axis);
  moved.dims[to].push_back(axis);
  return specText(moved, mesh);
}

namespace {

/// A product, seen from a parameter that is its operand.
class Product {
public:
  explicit Product(const AnnotatedUse &use) : use(use) {
    n = use.mesh.getSizes()[use.axis];
    name = "'" + use.mesh.getNames()[use.axis].str() + "'";
    spec = "'" + use.parameter->name + "' " + specText(use.parameter->sharding, use.mesh);
  }

  std::optional<ExplainedWarning> warning() const {
    unsigned dim = *use.parameter->sharding.dimOf(use.axis);
    bool summed = isSummed(dim);
    for (unsigned other : use.otherDims) {
      std::optional<unsigned> mine = parameterDimOf(other);
      if (!summed && mine)
        return gathered(other, *mine);
      if (summed && mine && *mine != dim)
        return crossed(dim, other, *mine);
    }
    if (summed && use.otherDims.empty())
      return reduced(dim);
    return std::nullopt;
  }

private:
  RankedTensorType typeOf(unsigned operand) const {
    return cast<RankedTensorType>(use.op->getOperand(operand).getType());
  }
  /// No result has what runs along the parameter's dimension.
  bool isSummed(unsigned dim) const {
    const graph::DimFactors &factors = use.rule.operands[use.operand][dim];
    return factors.empty() || use.rule.factors[factors[0]].kind == FactorKind::reduction;
  }
  /// The parameter's dimension that is summed with that of the other operand.
  std::optional<unsigned> parameterDimOf(unsigned otherDim) const {
    const graph::DimFactors &factors = use.rule.operands[*use.otherOperand][otherDim];
    for (auto [dim, own] : llvm::enumerate(use.rule.operands[use.operand]))
      if (!factors.empty() && !own.empty() && own[0] == factors[0] && isSummed(dim))
        return unsigned(dim);
    return std::nullopt;
  }
  double share() const { return double(n - 1) / double(n); }
  double otherBytes() const {
    return graph::detail::bytesOf(typeOf(*use.otherOperand)) / double(use.batchParts);
  }
  /// Of what the product makes of the other operand's rows.
  double resultBytes() const {
    double summed = 1, kept = 1;
    for (auto [dim, size] : llvm::enumerate(use.parameter->type.getShape()))
      (isSummed(dim) ? summed : kept) *= double(size);
    return otherBytes() / summed * kept;
  }
  ExplainedWarning make(std::string text, double bytes) const {
    std::vector<std::string> places = userPlaces(use.op->getLoc());
    return {std::move(text), places.empty() ? "" : places.front(), bytes};
  }

  ExplainedWarning gathered(unsigned other, unsigned mine) const {
    double bytes = share() * otherBytes() * use.times;
    double instead = 2 * share() * resultBytes() * use.times;
    return make(spec + " cuts what the product gives, but the activation " +
                    graph::describe(typeOf(*use.otherOperand)) + " is cut over " + name +
                    " along dimension " + std::to_string(other) +
                    ", which the product sums: an all-gather of the activation, " +
                    bytesText(bytes) + " a step (or the weight is moved, where that is less); " +
                    movedSpec(*use.parameter, use.axis, mine, use.mesh) +
                    " needs one all-reduce of the result instead, " + bytesText(instead),
                bytes);
  }
  ExplainedWarning crossed(unsigned dim, unsigned other, unsigned mine) const {
    double bytes = share() * otherBytes() / double(n) * use.times;
    return make(spec + " cuts dimension " + std::to_string(dim) + " (of " +
                    std::to_string(use.parameter->type.getDimSize(dim)) +
                    "), while the activation " + graph::describe(typeOf(*use.otherOperand)) +
                    " is cut over " + name + " along dimension " + std::to_string(other) + " (of " +
                    std::to_string(typeOf(*use.otherOperand).getDimSize(other)) +
                    "): one of them is moved for each product, " + bytesText(bytes) +
                    " a step for the activation; " +
                    movedSpec(*use.parameter, use.axis, mine, use.mesh) + " fits it",
                bytes);
  }
  std::optional<ExplainedWarning> reduced(unsigned dim) const {
    std::optional<unsigned> kept;
    for (unsigned other = 0; other < use.parameter->type.getRank(); ++other)
      if (!isSummed(other))
        kept = other;
    if (!kept)
      return std::nullopt;
    double bytes = 2 * share() * resultBytes() * use.times;
    int64_t size = use.parameter->type.getDimSize(*kept);
    return make(
        spec +
            " cuts the dimension that the product sums, while the activation is whole "
            "over " +
            name + ": computed as stored, results of " + std::to_string(size) +
            " columns would be all-reduced, " + bytesText(bytes) +
            " a step; avoided by moving the weight where that is less. " +
            movedSpec(*use.parameter, use.axis, *kept, use.mesh) +
            " needs neither: with a vocabulary in parts, the loss sends a few numbers for each row",
        bytes);
  }

  const AnnotatedUse &use;
  int64_t n;
  std::string name, spec;
};

/// The vector of a norm, which reduces the dimension that the annotation cuts.
std::optional<ExplainedWarning> normWarning(const AnnotatedUse &use) {
  unsigned dim = *use.parameter->sharding.dimOf(use.axis);
  const graph::DimFactors &factors = use.rule.operands[use.operand][dim];
  // Once for each norm: its first vector stands for all.
  if (use.operand != 1 || use.parameter->type.getRank() != 1 || factors.empty() ||
      use.rule.factors[factors[0]].kind != FactorKind::collective)
    return std::nullopt;
  int64_t n = use.mesh.getSizes()[use.axis];
  double gather =
      graph::detail::bytesOf(use.parameter->type) * double(n - 1) / double(n) * use.times;
  std::string axis = "'" + use.mesh.getNames()[use.axis].str() + "'";
  std::vector<std::string> places = userPlaces(use.op->getLoc());
  return ExplainedWarning{
      "'" + use.parameter->name + "' " + specText(use.parameter->sharding, use.mesh) +
          " cuts the dimension that the normalisation reduces: its vectors are all-gathered over " +
          axis + " for it, " + bytesText(gather) +
          " a step each, or, where the activation is cut so as well, its statistics are "
          "all-reduced; P() needs neither",
      places.empty() ? "" : places.front(), gather};
}

} // namespace

std::optional<ExplainedWarning> minigptc::warningOf(const AnnotatedUse &use) {
  if (use.otherOperand)
    return Product(use).warning();
  return normWarning(use);
}
