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

uint32_t ArtifactBuilder::addPrint(exec::PrintOp op) {
  Offsets<flatbuffers::String> texts;
  for (StringAttr text : op.getTexts().getAsRange<StringAttr>())
    texts.push_back(writeString(text.getValue()));
  Offsets<fb::TensorType> types;
  for (Value value : op.getValues())
    types.push_back(writeType(cast<ShapedType>(value.getType())));
  uint32_t group = groupNumber(op.getStrides(), op.getSizes());
  auto textVector = builder.CreateVector(texts);
  auto typeVector = builder.CreateVector(types);
  prints.push_back(
      fb::CreatePrint(builder, textVector, typeVector, uint32_t(op.getExamples()), group));
  return prints.size() - 1;
}

/// Both ends of a message have its number; they are in two parts of one entry.
FailureOr<uint32_t> ArtifactBuilder::messageNumber(Operation &op, uint64_t tag, Type buffer,
                                                   uint64_t peer, bool sends) {
  auto block = op.getParentOfType<exec::BlockOp>();
  auto stage = block->getAttrOfType<IntegerAttr>(dist::attr::kStage);
  auto entry = block->getAttrOfType<StringAttr>(dist::attr::kStageOf);
  if (!stage || !entry)
    return op.emitError("stands in a block that is no stage's part of an entry");
  uint64_t own = uint64_t(stage.getInt());
  MessageEnds ends{sends ? own : peer, sends ? peer : own, cast<ShapedType>(buffer), op.getLoc()};
  auto [known, isNew] = messageNumbers.try_emplace({entry, tag}, messages.size());
  if (isNew) {
    messages.push_back(ends);
    return known->second;
  }
  const MessageEnds &other = messages[known->second];
  if (other.from != ends.from || other.to != ends.to || other.type != ends.type) {
    InFlightDiagnostic error = op.emitError() << "is an end of message " << tag << ", " << ends.type
                                              << " from stage " << ends.from << " to " << ends.to
                                              << "; its other end says " << other.type << " from "
                                              << other.from << " to " << other.to;
    error.attachNote(other.location) << "the other end is here";
    return error;
  }
  return known->second;
}

auto ArtifactBuilder::writeMessages() -> Offsets<fb::Message> {
  Offsets<fb::Message> offsets;
  for (const MessageEnds &message : messages)
    offsets.push_back(fb::CreateMessage(builder, uint32_t(message.from), uint32_t(message.to),
                                        writeType(message.type)));
  return offsets;
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
