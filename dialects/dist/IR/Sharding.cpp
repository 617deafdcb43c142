//===- Sharding.cpp - shardings as passes compute with them ---------------===//
#include "dialects/dist/IR/Sharding.h"
#include "mlir/Interfaces/FunctionInterfaces.h"
#include "llvm/ADT/StringExtras.h"

using namespace mlir;
using namespace minigptc;
using namespace minigptc::dist;

ArrayAttr dist::toAttr(ArrayRef<unsigned> axes, MeshAttr mesh) {
  return ArrayAttr::get(mesh.getContext(), llvm::map_to_vector(axes, [&](unsigned axis) -> Attribute {
                          return mesh.getNames()[axis];
                        }));
}

Axes dist::toAxes(ArrayAttr names, MeshAttr mesh) {
  Axes axes;
  for (auto name : names.getAsRange<StringAttr>()) {
    std::optional<unsigned> axis = mesh.find(name);
    assert(axis && "verifiers check that the mesh has the axis");
    axes.push_back(*axis);
  }
  return axes;
}

Axes dist::longAxes(ArrayRef<unsigned> axes, MeshAttr mesh) {
  Axes result;
  llvm::copy_if(axes, std::back_inserter(result),
                [&](unsigned axis) { return mesh.getSizes()[axis] > 1; });
  return result;
}

Sharding Sharding::replicated(int64_t rank) {
  Sharding sharding;
  sharding.dims.resize(rank);
  return sharding;
}

Sharding Sharding::fromAttr(ShardingAttr attribute, MeshAttr mesh) {
  Sharding sharding;
  for (ArrayAttr dim : attribute.getDims())
    sharding.dims.push_back(toAxes(dim, mesh));
  for (StringAttr axis : attribute.getPartial())
    sharding.partial.push_back(*mesh.find(axis));
  llvm::sort(sharding.partial);
  sharding.combine = attribute.getCombine();
  return sharding;
}

Freedom Freedom::fromAttr(ShardingAttr attribute, MeshAttr mesh) {
  Freedom freedom;
  freedom.open.assign(attribute.getOpen().begin(), attribute.getOpen().end());
  for (StringAttr axis : attribute.getReplicated())
    freedom.replicated.push_back(*mesh.find(axis));
  return freedom;
}

std::optional<Sharding> Sharding::of(Value value, MeshAttr mesh) {
  ShardingAttr attribute;
  if (auto argument = dyn_cast<BlockArgument>(value)) {
    if (auto function = dyn_cast<FunctionOpInterface>(argument.getOwner()->getParentOp()))
      attribute =
          function.getArgAttrOfType<ShardingAttr>(argument.getArgNumber(), attr::kSharding);
  } else if (auto reshard = value.getDefiningOp<ReshardOp>()) {
    attribute = reshard.getSharding();
  } else if (auto shardings =
                 value.getDefiningOp()->getAttrOfType<ArrayAttr>(attr::kShardings)) {
    attribute = cast<ShardingAttr>(shardings[cast<OpResult>(value).getResultNumber()]);
  }
  if (!attribute)
    return std::nullopt;
  return fromAttr(attribute, mesh);
}

ShardingAttr Sharding::toAttr(MeshOp meshOp) const {
  return toAttr(meshOp, Freedom::none(dims.size()));
}

ShardingAttr Sharding::toAttr(MeshOp meshOp, const Freedom &freedom) const {
  MeshAttr mesh = meshOp.getMesh();
  auto dimAttrs = llvm::map_to_vector(dims, [&](const Axes &axes) { return dist::toAttr(axes, mesh); });
  auto namesOf = [&](const Axes &axes) {
    return llvm::map_to_vector(axes, [&](unsigned axis) { return mesh.getNames()[axis]; });
  };
  return ShardingAttr::get(mesh.getContext(), FlatSymbolRefAttr::get(meshOp.getSymNameAttr()),
                           dimAttrs, freedom.open, namesOf(freedom.replicated), namesOf(partial),
                           combine);
}

bool Sharding::isReplicated() const {
  return partial.empty() && llvm::all_of(dims, [](const Axes &axes) { return axes.empty(); });
}

std::optional<unsigned> Sharding::dimOf(unsigned axis) const {
  for (auto [number, axes] : llvm::enumerate(dims))
    if (llvm::is_contained(axes, axis))
      return number;
  return std::nullopt;
}

bool Sharding::uses(unsigned axis) const {
  return dimOf(axis) || llvm::is_contained(partial, axis);
}

RankedTensorType Sharding::localType(RankedTensorType type, MeshAttr mesh) const {
  SmallVector<int64_t> shape(type.getShape());
  for (auto [size, axes] : llvm::zip_equal(shape, dims))
    size = llvm::divideCeil(size, mesh.getSize(axes));
  return type.clone(shape);
}

bool Sharding::isEven(RankedTensorType type, MeshAttr mesh) const {
  return llvm::all_of(llvm::zip_equal(type.getShape(), dims), [&](auto dim) {
    return std::get<0>(dim) % mesh.getSize(std::get<1>(dim)) == 0;
  });
}

bool Sharding::operator==(const Sharding &other) const {
  return dims == other.dims && partial == other.partial &&
         (partial.empty() || combine == other.combine);
}

std::string dist::toString(const Sharding &sharding, MeshAttr mesh) {
  auto names = [&](ArrayRef<unsigned> axes) {
    return llvm::join(llvm::map_range(axes,
                                      [&](unsigned axis) {
                                        return "'" + mesh.getNames()[axis].getValue().str() + "'";
                                      }),
                      ", ");
  };
  std::string text = "[";
  for (auto [number, axes] : llvm::enumerate(sharding.dims))
    text += (number ? ", {" : "{") + names(axes) + "}";
  text += "]";
  if (!sharding.partial.empty())
    text += " partial " + graph::stringifyReduceKind(sharding.combine).str() + " over " +
            names(sharding.partial);
  return text;
}

/// Axes of the dimensions' factors, in order.
static Sharding shardingOf(ArrayRef<graph::DimFactors> dims, ArrayRef<Axes> factorAxes) {
  Sharding sharding = Sharding::replicated(dims.size());
  for (auto [axes, factors] : llvm::zip_equal(sharding.dims, dims))
    for (unsigned factor : factors)
      llvm::append_range(axes, factorAxes[factor]);
  return sharding;
}

Sharding dist::operandSharding(const graph::ShardingRule &rule, unsigned operand,
                               ArrayRef<Axes> factorAxes) {
  return shardingOf(rule.operands[operand], factorAxes);
}

Sharding dist::resultSharding(const graph::ShardingRule &rule, unsigned result,
                              ArrayRef<Axes> factorAxes) {
  Sharding sharding = shardingOf(rule.results[result], factorAxes);
  for (auto [number, factor] : llvm::enumerate(rule.factors)) {
    bool inResult = llvm::any_of(rule.results[result], [&](const graph::DimFactors &factors) {
      return llvm::is_contained(factors, number);
    });
    if (factor.kind != graph::FactorKind::reduction || inResult || factorAxes[number].empty())
      continue;
    llvm::append_range(sharding.partial, factorAxes[number]);
    sharding.combine = factor.combine;
  }
  llvm::sort(sharding.partial);
  return sharding;
}

SmallVector<Axes> dist::getFactorAxes(Operation *op, const graph::ShardingRule &rule,
                                      MeshAttr mesh) {
  SmallVector<Axes> factorAxes(rule.factors.size());
  if (auto attribute = op->getAttrOfType<ArrayAttr>(attr::kFactors))
    for (auto [axes, names] : llvm::zip(factorAxes, attribute.getAsRange<ArrayAttr>()))
      axes = toAxes(names, mesh);
  return factorAxes;
}

void dist::setFactorAxes(Operation *op, ArrayRef<Axes> factorAxes, MeshAttr mesh) {
  op->setAttr(attr::kFactors,
              ArrayAttr::get(op->getContext(),
                             llvm::map_to_vector(factorAxes, [&](const Axes &axes) -> Attribute {
                               return toAttr(axes, mesh);
                             })));
}
