//===- ObjectCache.h - object code of kernels, on disk ----------*- C++ -*-===//
//
// A directory of files named by the hash of what the code is made from: the
// kernel's text, the target, and the code generator itself. Entries carry a
// checksum (a damaged one is removed and made anew), appear whole (temporary name,
// then rename), and the least recently used go when the directory has grown too
// large. Several processes may use it at once. Nothing here fails: a cache that
// cannot be read or written is an empty one.
//
//   ObjectCache cache(ObjectCache::defaultDirectory());
//   std::string key = ObjectCache::keyOf(text, isa);
//   if (auto object = cache.lookup(key)) …
//   cache.store(key, object);
//
//===----------------------------------------------------------------------===//
#ifndef MINIGPTC_COMPILER_TARGET_CPU_OBJECTCACHE_H
#define MINIGPTC_COMPILER_TARGET_CPU_OBJECTCACHE_H

#include "compiler/target/cpu/Isa.h"
#include "llvm/ADT/StringRef.h"

#include <cstdint>
#include <optional>
#include <string>

namespace minigptc::cpu {

class ObjectCache {
public:
  static constexpr uint64_t kMaxBytes = uint64_t(256) << 20;

  explicit ObjectCache(std::string directory, uint64_t maxBytes = kMaxBytes);

  /// $XDG_CACHE_HOME/minigptc, else $HOME/.cache/minigptc; empty (no cache) if
  /// neither variable is set.
  static std::string defaultDirectory();
  static std::string keyOf(llvm::StringRef kernelText, const Isa &isa = Isa::baseline());

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

} // namespace minigptc::cpu

#endif // MINIGPTC_COMPILER_TARGET_CPU_OBJECTCACHE_H
