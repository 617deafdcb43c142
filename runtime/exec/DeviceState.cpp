#include "runtime/exec/DeviceState.h"

#include "runtime/base/Log.h"
#include "runtime/base/MemoryLimits.h"

#include <algorithm>

namespace minigptc::runtime {

StatusOr<std::unique_ptr<DeviceState>>
DeviceState::create(const Program &program, std::shared_ptr<Device> device, int64_t stage) {
  std::unique_ptr<DeviceState> state(new DeviceState(program, std::move(device), stage));
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
  StatusOr<std::unique_ptr<Buffer>> memory = device_->allocate(bytes);
  if (!memory)
    return memory.status();
  constantMemory_ = std::move(*memory);
  for (size_t i = 0; i < offsets.size(); ++i) {
    constants_.push_back(constantMemory_->data() + offsets[i]);
    MINIGPTC_RETURN_IF_ERROR(device_->upload(constants_.back(), program_.constants[i]));
  }
  return {};
}

EntryMemory &DeviceState::memoryOf(const Entry &entry) {
  return entries_.try_emplace(&entry, entry, device_, stage_).first->second;
}

void DeviceState::forgetRecordings() {
  for (auto &[entry, memory] : entries_)
    memory.forgetRecording();
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
