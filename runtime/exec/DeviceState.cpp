#include "runtime/exec/DeviceState.h"

#include "runtime/base/Log.h"
#include "runtime/base/MemoryLimits.h"

#include <algorithm>

namespace minigptc::runtime {

StatusOr<std::unique_ptr<DeviceState>> DeviceState::create(const Program &program, Device &device) {
  std::unique_ptr<DeviceState> state(new DeviceState(program, device));
  MINIGPTC_RETURN_IF_ERROR(state->uploadConstants());
  return state;
}

Status DeviceState::uploadConstants() {
  constexpr uint64_t alignment = 256;
  uint64_t bytes = 0;
  std::vector<uint64_t> offsets;
  for (std::span<const std::byte> constant : program_.constants) {
    offsets.push_back(bytes);
    bytes += (constant.size() + alignment - 1) / alignment * alignment;
  }
  StatusOr<std::unique_ptr<Buffer>> memory = device_.allocate(bytes);
  if (!memory)
    return memory.status();
  constantMemory_ = std::move(*memory);
  for (size_t i = 0; i < offsets.size(); ++i) {
    constants_.push_back(constantMemory_->data() + offsets[i]);
    MINIGPTC_RETURN_IF_ERROR(device_.upload(constants_.back(), program_.constants[i]));
  }
  return {};
}

StatusOr<EntryMemory *> DeviceState::memoryOf(const Entry &entry) {
  auto found = entries_.find(&entry);
  if (found != entries_.end())
    return &found->second;
  EntryMemory memory;
  std::vector<void *> outputs(entry.outputs.size());
  auto allocate = [&](const ParameterDecl &decl) -> StatusOr<void *> {
    StatusOr<std::unique_ptr<Buffer>> buffer = device_.allocate(uint64_t(decl.type.numBytes()));
    if (!buffer)
      return Status(buffer.status().code(), buffer.status().message() + ", for " +
                                                quote(decl.name) + describePeak(program_, entry))
          .withHelp(buffer.status().help());
    memory.buffers.push_back(std::move(*buffer));
    return static_cast<void *>(memory.buffers.back()->data());
  };
  for (const ParameterDecl &input : entry.inputs) {
    StatusOr<void *> address = allocate(input);
    if (!address)
      return address.status();
    memory.addresses.push_back(*address);
    if (input.donatedTo >= 0)
      outputs[size_t(input.donatedTo)] = *address;
  }
  for (size_t i = 0; i < outputs.size(); ++i) {
    if (!outputs[i]) {
      StatusOr<void *> address = allocate(entry.outputs[i]);
      if (!address)
        return address.status();
      outputs[i] = *address;
    }
    memory.addresses.push_back(outputs[i]);
  }
  return &entries_.emplace(&entry, std::move(memory)).first->second;
}

Status DeviceState::upload(const EntryMemory &memory, const Entry &entry,
                           std::span<void *const> host) {
  for (size_t i = 0; i < entry.inputs.size(); ++i)
    MINIGPTC_RETURN_IF_ERROR(
        device_.upload(memory.addresses[i], {static_cast<const std::byte *>(host[i]),
                                             size_t(entry.inputs[i].type.numBytes())}));
  return {};
}

Status DeviceState::download(const EntryMemory &memory, const Entry &entry,
                             std::span<void *const> host) {
  size_t inputs = entry.inputs.size();
  for (size_t i = 0; i < entry.outputs.size(); ++i)
    MINIGPTC_RETURN_IF_ERROR(device_.download(
        {static_cast<std::byte *>(host[inputs + i]), size_t(entry.outputs[i].type.numBytes())},
        memory.addresses[inputs + i]));
  return {};
}

void DeviceState::forgetRecordings() {
  for (auto &[entry, memory] : entries_)
    memory.forgetRecording();
}

void DeviceState::forgetRuns() {
  forgetRecordings();
  for (auto &[entry, memory] : entries_)
    memory.runs = 0;
}

std::string describePeak(const Program &program, const Entry &entry) {
  constexpr size_t most = 3;
  for (const MemoryReport &report : program.memory) {
    if (report.entry != entry.name || report.items.empty())
      continue;
    std::string text = "; the plan of " + quote(entry.name) + " takes " +
                       readableBytes(report.total) + ", of which";
    for (size_t i = 0; i < std::min(most, report.items.size()); ++i) {
      const MemoryItem &item = report.items[i];
      std::string place = program.placeOf(item.location);
      text += (i ? ", " : " ") + readableBytes(item.bytes) + " are " + quote(item.tensor) +
              (place.empty() ? "" : " (" + place + ")");
    }
    return text;
  }
  return "";
}

} // namespace minigptc::runtime
