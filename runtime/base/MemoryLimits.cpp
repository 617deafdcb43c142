#include "runtime/base/MemoryLimits.h"

#include "runtime/base/Format.h"

#include <algorithm>
#include <fstream>
#include <optional>
#include <sstream>

namespace minigptc::runtime {
namespace {

/// The number after `key` in lines of "key number" or "key: number kB"; without a key,
/// the file's first word. "max" is no number.
std::optional<uint64_t> readNumber(const std::string &path, const std::string &key = "") {
  std::ifstream file(path);
  for (std::string line; std::getline(file, line);) {
    std::istringstream words(line);
    std::string name, unit;
    uint64_t number = 0;
    if (!key.empty() && !((words >> name) && (name == key || name == key + ":")))
      continue;
    if (!(words >> number))
      return std::nullopt;
    return words >> unit && unit == "kB" ? number << 10 : number;
  }
  return std::nullopt;
}

/// Files of one version of control groups.
struct GroupFiles {
  const char *folder, *limit, *usage, *cache;
};
constexpr GroupFiles kVersion1{"/sys/fs/cgroup/memory", "memory.limit_in_bytes",
                               "memory.usage_in_bytes", "total_inactive_file"};
constexpr GroupFiles kVersion2{"/sys/fs/cgroup", "memory.max", "memory.current", "inactive_file"};

/// Lowers `limits` to those of a group and the groups around it. In a container the
/// group's name may be that outside; then the folder's own files are its.
void applyGroup(const std::string &root, const GroupFiles &files, std::string group, uint64_t swap,
                MemoryLimits &limits) {
  for (;;) {
    std::string folder = root + files.folder + group + "/";
    if (std::optional<uint64_t> limit = readNumber(folder + files.limit)) {
      uint64_t used = readNumber(folder + files.usage).value_or(0);
      uint64_t cache = readNumber(folder + "memory.stat", files.cache).value_or(0);
      used -= std::min(used, cache);
      if (*limit < limits.total - std::min(swap, limits.total))
        limits.total = *limit + swap;
      limits.available = std::min(limits.available, *limit - std::min(used, *limit));
    }
    if (group.empty())
      return;
    group.resize(group.rfind('/') == std::string::npos ? 0 : group.rfind('/'));
  }
}

} // namespace

MemoryLimits memoryLimits(const std::string &root) {
  MemoryLimits limits;
  std::string memory = root + "/proc/meminfo";
  uint64_t swap = readNumber(memory, "SwapTotal").value_or(0);
  if (std::optional<uint64_t> total = readNumber(memory, "MemTotal"))
    limits.total = *total + swap;
  if (std::optional<uint64_t> available = readNumber(memory, "MemAvailable"))
    limits.available = *available;
  std::ifstream groups(root + "/proc/self/cgroup");
  // "4:memory:/path", or "0::/path" of version 2.
  for (std::string line; std::getline(groups, line);) {
    size_t first = line.find(':'), second = line.find(':', first + 1);
    if (first == std::string::npos || second == std::string::npos)
      continue;
    std::string controllers = "," + line.substr(first + 1, second - first - 1) + ",";
    std::string group = line.substr(second + 1);
    while (group.ends_with('/'))
      group.pop_back();
    if (controllers.find(",memory,") != std::string::npos)
      applyGroup(root, kVersion1, group, swap, limits);
    else if (controllers == ",,")
      applyGroup(root, kVersion2, group, swap, limits);
  }
  return limits;
}

std::string readableBytes(uint64_t bytes) {
  if (bytes >= uint64_t(1) << 30)
    return format("%.1f GiB", double(bytes) / (1 << 30));
  if (bytes >= uint64_t(1) << 20)
    return format("%.0f MiB", double(bytes) / (1 << 20));
  return bytes >= 1024 ? format("%.0f KiB", double(bytes) / 1024)
                       : std::to_string(bytes) + (bytes == 1 ? " byte" : " bytes");
}

} // namespace minigptc::runtime
