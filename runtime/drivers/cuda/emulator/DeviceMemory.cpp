#include "runtime/drivers/cuda/emulator/DeviceMemory.h"

#include "runtime/drivers/cuda/emulator/ShadowMemory.h"

#include <algorithm>
#include <cinttypes>
#include <cstdio>

namespace minigptc::runtime::emulator {

/// How many allocations that were given back are remembered by name.
static constexpr size_t kRememberedFrees = 1024;

static std::string hexadecimal(uintptr_t value) {
  char text[32];
  std::snprintf(text, sizeof(text), "0x%" PRIxPTR, value);
  return text;
}

DeviceMemory::DeviceMemory() = default;
DeviceMemory::~DeviceMemory() = default;

Status DeviceMemory::add(const void *pointer, uint64_t bytes, std::string name,
                         AllocationOptions options) {
  uintptr_t begin = reinterpret_cast<uintptr_t>(pointer), end = begin + bytes;
  if (!pointer || end < begin)
    return Status(StatusCode::invalidArgument, "no memory to register as '" + name + "'");
  auto next = allocations.lower_bound(begin);
  bool overlaps = next != allocations.end() && next->first < std::max(end, begin + 1);
  overlaps |= next != allocations.begin() && std::prev(next)->second.end() > begin;
  if (overlaps)
    return Status(StatusCode::invalidArgument,
                  "'" + name + "' overlaps memory that is registered: " + describe(begin));
  std::erase_if(freed, [&](const Freed &old) { return old.begin < end && begin < old.end; });
  Allocation &allocation = allocations[begin];
  allocation.begin = begin;
  allocation.bytes = bytes;
  allocation.name = std::move(name);
  allocation.trackWrites = options.trackWrites;
  allocation.shadow = std::make_unique<ShadowMemory>(begin, bytes);
  return {};
}

Status DeviceMemory::remove(const void *pointer) {
  auto found = allocations.find(reinterpret_cast<uintptr_t>(pointer));
  if (found == allocations.end())
    return Status(StatusCode::invalidArgument,
                  "no allocation begins at " + hexadecimal(reinterpret_cast<uintptr_t>(pointer)));
  freed.push_back({found->second.begin, found->second.end(), found->second.name});
  if (freed.size() > kRememberedFrees)
    freed.pop_front();
  allocations.erase(found);
  return {};
}

void DeviceMemory::markWritten(const void *pointer, uint64_t bytes) {
  uintptr_t address = reinterpret_cast<uintptr_t>(pointer);
  Allocation *allocation = find(address, bytes);
  if (allocation && allocation->trackWrites)
    allocation->shadow->markWritten(address, bytes);
}

void DeviceMemory::forget() {
  for (auto &[begin, allocation] : allocations)
    allocation.shadow->forget();
}

void DeviceMemory::collectTouched(uint32_t launch, std::vector<TouchedRange> &ranges) const {
  for (const auto &[begin, allocation] : allocations)
    allocation.shadow->collectTouched(launch, ranges);
}

Allocation *DeviceMemory::find(uintptr_t address, uint64_t bytes) {
  auto next = allocations.upper_bound(address);
  if (next == allocations.begin())
    return nullptr;
  Allocation &allocation = std::prev(next)->second;
  uint64_t offset = address - allocation.begin;
  return offset <= allocation.bytes && bytes <= allocation.bytes - offset ? &allocation : nullptr;
}

bool DeviceMemory::wasFreed(uintptr_t address, std::string &name) const {
  for (auto old = freed.rbegin(); old != freed.rend(); ++old)
    if (address >= old->begin && address < old->end) {
      name = old->name;
      return true;
    }
  return false;
}

std::string DeviceMemory::describe(uintptr_t address) const {
  auto next = allocations.upper_bound(address);
  const Allocation *nearest = nullptr;
  std::string where;
  if (next != allocations.begin()) {
    nearest = &std::prev(next)->second;
    if (address < nearest->end())
      where = "at byte " + std::to_string(address - nearest->begin) + " of";
    else
      where = std::to_string(address - nearest->end()) + " bytes after the end of";
  }
  if (next != allocations.end() &&
      (!nearest ||
       (address >= nearest->end() && next->first - address < address - nearest->end()))) {
    nearest = &next->second;
    where = std::to_string(nearest->begin - address) + " bytes before";
  }
  if (!nearest)
    return "address " + hexadecimal(address) + ", and no device memory is allocated";
  return where + " '" + nearest->name + "' (" + std::to_string(nearest->bytes) + " bytes at " +
         hexadecimal(nearest->begin) + ")";
}

} // namespace minigptc::runtime::emulator
