#include "runtime/drivers/cuda/test/DeviceHeap.h"

#include <algorithm>
#include <cstring>

namespace minigptc::runtime::cuda::test {

/// As cuMemAlloc aligns; guard zones are as wide.
static constexpr uint64_t kAlignment = 512;
static constexpr std::byte kGuard{0xa5};
static constexpr int kPoison = 0xff; ///< NaN as any float
static constexpr size_t kKeptFrees = 16;
static constexpr uint64_t kKeptBytes = uint64_t(16) << 20;

StatusOr<DeviceAllocation *> DeviceHeap::allocate(uint64_t bytes) {
  uint64_t rounded = (bytes + kAlignment - 1) / kAlignment * kAlignment;
  if (rounded < bytes || rounded > available())
    return Status(StatusCode::resourceExhausted,
                  "emulated device " + std::to_string(device) + " is out of memory");
  auto *raw = static_cast<std::byte *>(std::aligned_alloc(kAlignment, rounded + 2 * kAlignment));
  if (!raw)
    return Status(StatusCode::resourceExhausted, "no memory for an emulated device's");
  std::fill_n(raw, rounded + 2 * kAlignment, kGuard);
  uintptr_t begin = reinterpret_cast<uintptr_t>(raw + kAlignment);
  std::memset(raw + kAlignment, kPoison, bytes);
  DeviceAllocation &allocation = allocations[begin];
  allocation.begin = begin;
  allocation.bytes = bytes;
  allocation.name = "allocation " + std::to_string(++made) + " of device " +
                    std::to_string(device) + " (" + std::to_string(bytes) + " bytes)";
  allocation.raw.reset(raw);
  allocation.log = AccessLog(begin, bytes);
  used += rounded;
  if (Status added =
          runner.memory().add(raw + kAlignment, bytes, allocation.name, {.trackWrites = true});
      !added)
    return added;
  return &allocation;
}

DeviceAllocation *DeviceHeap::find(uintptr_t address, uint64_t bytes) {
  auto next = allocations.upper_bound(address);
  if (next == allocations.begin())
    return nullptr;
  DeviceAllocation &allocation = std::prev(next)->second;
  uint64_t offset = address - allocation.begin;
  return offset < allocation.bytes && bytes <= allocation.bytes - offset ? &allocation : nullptr;
}

static void checkGuard(const DeviceAllocation &allocation,
                       const std::function<void(const std::string &)> &report) {
  const std::byte *begin = allocation.raw.get(), *inside = begin + kAlignment;
  const std::byte *behind = inside + allocation.bytes;
  uint64_t rounded = (allocation.bytes + kAlignment - 1) / kAlignment * kAlignment;
  const std::byte *end = inside + rounded + kAlignment;
  auto changed = [](std::byte value) { return value != kGuard; };
  if (const std::byte *at = std::find_if(behind, end, changed); at != end)
    report("byte " + std::to_string(at - behind) + " behind " + allocation.name);
  if (std::any_of(begin, inside, changed))
    report("bytes before " + allocation.name);
}

void DeviceHeap::free(DeviceAllocation &allocation,
                      const std::function<void(const std::string &)> &report) {
  checkGuard(allocation, report);
  (void)runner.memory().remove(reinterpret_cast<void *>(allocation.begin)).ok();
  used -= (allocation.bytes + kAlignment - 1) / kAlignment * kAlignment;
  auto node = allocations.extract(allocation.begin);
  if (node.mapped().bytes > kKeptBytes)
    return;
  freed.push_back(std::move(node.mapped()));
  if (freed.size() > kKeptFrees)
    freed.pop_front();
}

void DeviceHeap::checkGuards(const std::function<void(const std::string &)> &report) const {
  for (const auto &[begin, allocation] : allocations)
    checkGuard(allocation, report);
}

} // namespace minigptc::runtime::cuda::test
