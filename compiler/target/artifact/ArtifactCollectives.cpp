//===- ArtifactCollectives.cpp - mesh, groups, collectives, layouts -------===//
#include "compiler/target/artifact/ArtifactBuilder.h"
#include "compiler/target/artifact/ArtifactTypes.h"
#include "dialects/dist/IR/Sharding.h"

using namespace mlir;
using namespace minigptc;
using namespace minigptc::target;

uint32_t ArtifactBuilder::groupNumber(ArrayRef<int64_t> strides, ArrayRef<int64_t> sizes) {
  auto longs = [&](ArrayRef<int64_t> values) { return DenseI64ArrayAttr::get(context(), values); };
  Attribute key = ArrayAttr::get(context(), {longs(strides), longs(sizes)});
  auto [entry, isNew] = groupNumbers.try_emplace(key, groups.size());
  if (isNew) {
    auto strideVector = builder.CreateVector(strides.data(), strides.size());
    auto sizeVector = builder.CreateVector(sizes.data(), sizes.size());
    groups.push_back(fb::CreateGroup(builder, strideVector, sizeVector));
  }
  return entry->second;
}

uint32_t ArtifactBuilder::collectiveNumber(exec::CollectiveOp op) {
  SmallVector<Attribute> parts = {op->getPropertiesAsAttribute()};
  for (Value input : op.getInputs())
    parts.push_back(TypeAttr::get(cast<ShapedType>(input.getType()).getElementType()));
  auto [entry, isNew] =
      collectiveNumbers.try_emplace(ArrayAttr::get(context(), parts), collectives.size());
  if (!isNew)
    return entry->second;
  Offsets<fb::CollectiveOperand> operands;
  for (auto [i, input] : llvm::enumerate(op.getInputs())) {
    Type element = cast<ShapedType>(input.getType()).getElementType();
    operands.push_back(fb::CreateCollectiveOperand(
        builder, toElementType(element), op.getOuter()[i], op.getInner()[i], op.getBlock()[i],
        op.getFromMajor() && (*op.getFromMajor())[i]));
  }
  uint32_t group = groupNumber(op.getStrides(), op.getSizes());
  auto operandVector = builder.CreateVector(operands);
  ArrayRef<int64_t> sources = op.getSources().value_or(ArrayRef<int64_t>());
  auto sourceVector = builder.CreateVector(sources.data(), sources.size());
  collectives.push_back(
      fb::CreateCollective(builder, fb::CollectiveKind(op.getKind()),
                           fb::Combine(op.getCombine().value_or(exec::Combine::sum)), group,
                           operandVector, sourceVector));
  return collectives.size() - 1;
}

ArtifactBuilder::Layout ArtifactBuilder::writeLayout(exec::BlockOp block, unsigned argument) {
  dist::MeshOp mesh = dist::findMesh(module);
  auto sharding = block.getArgAttrOfType<dist::ShardingAttr>(argument, dist::attr::kSharding);
  if (!mesh || !sharding)
    return {};
  auto local = cast<ShapedType>(block.getArgument(argument).getType());
  auto dims = dist::Sharding::fromAttr(sharding, mesh.getMesh()).dims;
  SmallVector<int64_t> shape(local.getShape());
  for (auto [size, axes] : llvm::zip(shape, dims))
    size *= mesh.getMesh().getSize(axes);
  auto globalType = block.getArgAttrOfType<TypeAttr>(argument, dist::attr::kGlobalType);
  if (auto global = globalType ? dyn_cast<RankedTensorType>(globalType.getValue()) : nullptr)
    shape.assign(global.getShape().begin(), global.getShape().end());
  Offsets<fb::DimAxes> axes;
  for (const dist::Axes &dim : dims)
    axes.push_back(fb::CreateDimAxes(builder, builder.CreateVector(dim.data(), dim.size())));
  Layout layout;
  layout.globalShape = builder.CreateVector(shape.data(), shape.size());
  layout.dims = builder.CreateVector(axes);
  return layout;
}

auto ArtifactBuilder::writeMesh() -> Offsets<fb::MeshAxis> {
  Offsets<fb::MeshAxis> axes;
  if (dist::MeshOp mesh = dist::findMesh(module))
    for (auto [name, size] : llvm::zip(mesh.getMesh().getNames(), mesh.getMesh().getSizes()))
      axes.push_back(fb::CreateMeshAxis(builder, builder.CreateString(name.str()), size));
  return axes;
}
