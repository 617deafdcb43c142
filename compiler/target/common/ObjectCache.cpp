//===- ObjectCache.cpp ----------------------------------------------------===//
#include "compiler/target/common/ObjectCache.h"
#include "llvm/ADT/SmallString.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Config/llvm-config.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/Process.h"
#include "llvm/Support/SHA256.h"
#include "llvm/Support/raw_ostream.h"

#include <algorithm>
#include <chrono>
#include <fcntl.h>
#include <sys/stat.h>

using namespace llvm;
using namespace minigptc;
using namespace minigptc::target;

static constexpr StringLiteral kMagic = "MGPTOBJ1";
static constexpr size_t kHeaderSize = 8 + 32; // magic, SHA-256 of the object

static std::string digest(ArrayRef<StringRef> parts) {
  SHA256 hash;
  for (StringRef part : parts) {
    hash.update(part);
    hash.update(StringRef("\0", 1));
  }
  std::array<uint8_t, 32> bytes = hash.final();
  return std::string(reinterpret_cast<const char *>(bytes.data()), bytes.size());
}

ObjectCache::ObjectCache(std::string directory, uint64_t maxBytes)
    : directory(std::move(directory)), maxBytes(maxBytes) {}

std::string ObjectCache::defaultDirectory() {
  auto in = [](StringRef base, StringRef below) {
    SmallString<128> path(base);
    sys::path::append(path, below, "minigptc");
    return std::string(path);
  };
  auto isSet = [](const std::optional<std::string> &value) { return value && !value->empty(); };
  if (auto cacheHome = sys::Process::GetEnv("XDG_CACHE_HOME"); isSet(cacheHome))
    return in(*cacheHome, "");
  if (auto home = sys::Process::GetEnv("HOME"); isSet(home))
    return in(*home, ".cache");
  return {};
}

std::string ObjectCache::directoryOf(const CompileOptions &options) {
  if (!options.useCache)
    return "";
  return options.cacheDir.empty() ? defaultDirectory() : options.cacheDir;
}

std::string ObjectCache::keyOf(ArrayRef<StringRef> parts) {
  SmallVector<StringRef> all{LLVM_VERSION_STRING};
  all.append(parts.begin(), parts.end());
  return toHex(digest(all), /*LowerCase=*/true);
}

std::string ObjectCache::pathOf(StringRef key) const {
  SmallString<128> path(directory);
  sys::path::append(path, "objects", key.take_front(2), key.drop_front(2));
  return std::string(path);
}

/// Marks the entry as used now, at most once in an hour.
static void touch(const std::string &path) {
  struct stat status;
  if (stat(path.c_str(), &status) != 0)
    return;
  auto age = std::chrono::system_clock::now().time_since_epoch() -
             std::chrono::seconds(status.st_mtim.tv_sec);
  if (age > std::chrono::hours(1))
    utimensat(AT_FDCWD, path.c_str(), nullptr, 0);
}

std::optional<std::string> ObjectCache::lookup(StringRef key) const {
  if (directory.empty())
    return std::nullopt;
  std::string path = pathOf(key);
  auto file = MemoryBuffer::getFile(path, /*IsText=*/false, /*RequiresNullTerminator=*/false,
                                    /*IsVolatile=*/true);
  if (!file)
    return std::nullopt;
  StringRef bytes = (*file)->getBuffer();
  StringRef object = bytes.size() >= kHeaderSize ? bytes.drop_front(kHeaderSize) : StringRef();
  bool intact = bytes.starts_with(kMagic) && bytes.size() > kHeaderSize &&
                bytes.substr(kMagic.size(), 32) == digest({key, object});
  if (!intact) {
    sys::fs::remove(path);
    return std::nullopt;
  }
  touch(path);
  return object.str();
}

void ObjectCache::store(StringRef key, StringRef object) const {
  if (directory.empty())
    return;
  std::string path = pathOf(key);
  if (sys::fs::create_directories(sys::path::parent_path(path)))
    return;
  SmallString<128> temporary;
  int descriptor;
  if (sys::fs::createUniqueFile(path + ".%%%%%%%%.tmp", descriptor, temporary))
    return;
  raw_fd_ostream stream(descriptor, /*shouldClose=*/true);
  stream << kMagic << digest({key, object}) << object;
  stream.close();
  bool failed = stream.has_error();
  stream.clear_error();
  if (failed || sys::fs::rename(temporary, path))
    sys::fs::remove(temporary);
}

namespace {
struct CacheEntry {
  std::string path;
  uint64_t size;
  sys::TimePoint<> used;
};
} // namespace

static std::vector<CacheEntry> listEntries(StringRef directory) {
  std::vector<CacheEntry> entries;
  std::error_code error;
  for (sys::fs::recursive_directory_iterator it(directory, error), end; it != end && !error;
       it.increment(error)) {
    sys::fs::file_status status;
    if (sys::fs::status(it->path(), status) || status.type() != sys::fs::file_type::regular_file)
      continue;
    entries.push_back({it->path(), status.getSize(), status.getLastModificationTime()});
  }
  return entries;
}

void ObjectCache::trim() const {
  if (directory.empty())
    return;
  SmallString<128> objects(directory);
  sys::path::append(objects, "objects");
  std::vector<CacheEntry> entries = listEntries(objects);
  uint64_t total = 0;
  for (const CacheEntry &entry : entries)
    total += entry.size;
  if (total <= maxBytes)
    return;
  std::sort(entries.begin(), entries.end(),
            [](const CacheEntry &a, const CacheEntry &b) { return a.used < b.used; });
  for (const CacheEntry &entry : entries) {
    if (total <= maxBytes / 4 * 3)
      break;
    if (!sys::fs::remove(entry.path))
      total -= entry.size;
  }
}
