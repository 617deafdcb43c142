#include "runtime/exec/Placement.h"

#include "runtime/base/Log.h"
#include "runtime/base/Shards.h"

#include <algorithm>
#include <map>

namespace minigptc::runtime {
namespace {

Status outOfMemory(const std::string &name) {
  return Status(StatusCode::resourceExhausted, "not enough memory for " + quote(name));
}

bool isCut(const ParameterInfo &info) {
  return info.partShape && *info.partShape != info.type.shape;
}

std::byte *bufferOf(Array &array, int64_t device) {
  return array.isSharded() ? array.shardData(device) : array.data();
}

} // namespace

/// The array as the devices read it; invalid if memory is short.
Array Placement::placed(const Array &array, const ParameterInfo &info, const Mesh &mesh) const {
  if (!many_)
    return array.whole();
  if (array.liesOn(mesh, info.spec))
    return array;
  // All can read what is whole.
  if (!array.isSharded() && !isCut(info) && info.spec.dims.empty())
    return array;
  return Array::shardedFrom(array, mesh, info.spec, here_);
}

/// An array that lies otherwise, with parts that this process has not.
static Status cannotCut(const Array &array, const ParameterInfo &info) {
  MINIGPTC_RETURN_IF_ERROR(array.fetch());
  return outOfMemory(info.name);
}

StatusOr<Placement> Placement::create(const EntryInfo &entry, const Mesh &mesh, DeviceRange here,
                                      std::vector<Array> &inputs, Memory memory) {
  Placement placement(entry, here, mesh.numDevices() > 1);
  if (memory == Memory::devices) {
    MINIGPTC_RETURN_IF_ERROR(placement.placeOnDevices(mesh, inputs));
    return placement;
  }
  placement.outputs_.resize(entry.outputs.size());
  MINIGPTC_RETURN_IF_ERROR(placement.placeInputs(mesh, inputs));
  MINIGPTC_RETURN_IF_ERROR(placement.makeOutputs(mesh));
  return placement;
}

Status Placement::placeInputs(const Mesh &mesh, std::vector<Array> &inputs) {
  for (size_t i = 0; i < inputs.size(); ++i) {
    const ParameterInfo &info = entry_->inputs[i];
    Array array;
    if (info.donatedTo < 0) {
      array = placed(inputs[i], info, mesh);
    } else if (many_ ? inputs[i].liesOn(mesh, info.spec) : !inputs[i].isSharded()) {
      array = inputs[i].useCount() == 1 ? inputs[i] : inputs[i].clone();
    } else {
      array = many_ ? Array::shardedFrom(inputs[i], mesh, info.spec, here_) : inputs[i].whole();
    }
    if (!array.valid())
      return cannotCut(inputs[i], info);
    if (info.donatedTo >= 0) // What the block reads is what it overwrites.
      outputs_[size_t(info.donatedTo)] = inputs[i] = array;
    inputs_.push_back(std::move(array));
  }
  return {};
}

Status Placement::placeOnDevices(const Mesh &mesh, const std::vector<Array> &inputs) {
  for (size_t i = 0; i < inputs.size(); ++i) {
    const ParameterInfo &info = entry_->inputs[i];
    bool lies = many_ ? inputs[i].liesOn(mesh, info.spec) : !inputs[i].isSharded();
    owned_.push_back(!lies || inputs[i].useCount() == 1);
    inputs_.push_back(lies    ? inputs[i]
                      : many_ ? Array::shardedFrom(inputs[i], mesh, info.spec, here_)
                              : inputs[i].whole());
    if (!inputs_.back().valid())
      return cannotCut(inputs[i], info);
  }
  return {};
}

std::vector<DeviceArguments> Placement::deviceArguments() const {
  std::vector<DeviceArguments> arguments(static_cast<size_t>(here_.count));
  for (size_t d = 0; d < arguments.size(); ++d) {
    arguments[d].owned = owned_;
    for (const Array &input : inputs_)
      arguments[d].inputs.push_back(ArrayParts::buffer(input, here_.first + int64_t(d)));
  }
  return arguments;
}

void Placement::setOutputs(std::span<const DeviceArguments> arguments, const Mesh &mesh,
                           std::vector<Array> &inputs) {
  for (size_t i = 0; i < entry_->outputs.size(); ++i) {
    const ParameterInfo &info = entry_->outputs[i];
    std::vector<std::shared_ptr<ArrayBuffer>> buffers;
    for (const DeviceArguments &device : arguments)
      buffers.push_back(device.outputs[i]);
    outputs_.push_back(
        many_ ? ArrayParts::sharded(info.type, mesh, info.spec, here_, std::move(buffers))
              : ArrayParts::whole(info.type, std::move(buffers.front())));
  }
  for (size_t i = 0; i < inputs.size(); ++i)
    if (int output = entry_->inputs[i].donatedTo; output >= 0)
      inputs[i] = outputs_[size_t(output)];
}

Status Placement::makeOutputs(const Mesh &mesh) {
  for (size_t i = 0; i < outputs_.size(); ++i) {
    const ParameterInfo &info = entry_->outputs[i];
    if (!outputs_[i].valid())
      outputs_[i] = many_ ? Array::sharded(info.type, mesh, info.spec, here_)
                          : Array::uninitialized(info.type);
    if (!outputs_[i].valid())
      return outOfMemory(info.name);
  }
  return {};
}

std::vector<void *> Placement::arguments(int64_t device) {
  std::vector<void *> arguments;
  for (std::vector<Array> *arrays : {&inputs_, &outputs_})
    for (Array &array : *arrays)
      arguments.push_back(bufferOf(array, device));
  return arguments;
}

std::vector<std::span<std::byte>> Placement::donated(int64_t device) {
  std::vector<std::span<std::byte>> spans;
  for (size_t i = 0; i < inputs_.size(); ++i)
    if (const ParameterInfo &info = entry_->inputs[i]; info.donatedTo >= 0)
      if (std::byte *data = bufferOf(inputs_[i], device))
        spans.emplace_back(data, size_t(info.bytesOnDevice()));
  return spans;
}

static Status checkReplicas(const std::string &name, const Array &array) {
  std::map<Shape, std::pair<int64_t, std::vector<std::byte>>> first; // by the part's start
  for (const ShardPart &part : allParts(array)) {
    MINIGPTC_RETURN_IF_ERROR(array.shard(part.device).fetch());
    std::vector<std::byte> bytes = packPart(array, part);
    auto [found, isNew] = first.try_emplace(part.slice.start, part.device, bytes);
    const auto &[other, expected] = found->second;
    if (isNew || bytes == expected)
      continue;
    auto differs = std::ranges::mismatch(bytes, expected).in1 - bytes.begin();
    return Status(StatusCode::internal,
                  "output " + quote(name) + " is not the same on devices " + std::to_string(other) +
                      " and " + std::to_string(part.device) + ", first at element " +
                      std::to_string(differs / sizeOf(array.dtype())) + " of their part");
  }
  return {};
}

Status checkReplicas(const EntryInfo &entry, std::span<const Array> outputs) {
  for (size_t i = 0; i < outputs.size(); ++i)
    if (outputs[i].isSharded())
      MINIGPTC_RETURN_IF_ERROR(checkReplicas(entry.outputs[i].name, outputs[i]));
  return {};
}

} // namespace minigptc::runtime
