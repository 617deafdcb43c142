//===- ObjectCache.h - object code of kernels, on disk ----------*- C++ -*-===//
//
// A directory of files named by the hash of what the code is made from: the
// kernel's text, the target, and the code generator itself (`kCodegenId` of each
// target: minigptc_add_codegen_id in CMake). Entries carry a
// checksum (a damaged one is removed and made anew), appear whole (temporary name,
// then rename), and the least recently used go when the directory has grown too
// large. Several processes may use it at once. Nothing here fails: a cache that
// cannot be read or written is an empty one.
//
//   ObjectCache cache(ObjectCache::defaultDirectory());
//   std::string key = ObjectCache::keyOf({kCodegenId, "x86_64", text});
//   if (auto object = cache.lookup(key)) …
//   cache.store(key, object);
//
//===----------------------------------------------------------------------===//
#ifndef MINIGPTC_COMPILER_TARGET_COMMON_OBJECTCACHE_H
#define MINIGPTC_COMPILER_TARGET_COMMON_OBJECTCACHE_H

#include "minigptc/compiler/Compile.h"
#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringRef.h"

#include <cstdint>
#include <optional>
#include <string>

namespace minigptc::target {

class ObjectCache {
public:
  static constexpr uint64_t kMaxBytes = uint64_t(256) << 20;

  explicit ObjectCache(std::string directory, uint64_t maxBytes = kMaxBytes);

  /// $XDG_CACHE_HOME/minigptc, else $HOME/.cache/minigptc; empty (no cache) if
  /// neither variable is set.
  static std::string defaultDirectory();
  /// What the options ask for: none, a directory, or the default.
  static std::string directoryOf(const CompileOptions &options);
  /// The hash of all that an entry is made from, LLVM's version included.
  static std::string keyOf(llvm::ArrayRef<llvm::StringRef> parts);

  std::optional<std::string> lookup(llvm::StringRef key) const;
  void store(llvm::StringRef key, llvm::StringRef object) const;
  /// Removes the least recently used entries down to three quarters of the bound
  /// if it is exceeded.
  void trim() const;

  /// Where an entry lies.
  std::string pathOf(llvm::StringRef key) const;

private:
  std::string directory;
  uint64_t maxBytes;
};

} // namespace minigptc::target

#endif // MINIGPTC_COMPILER_TARGET_COMMON_OBJECTCACHE_H
