//===- Hash.h - the 64-bit content hash of artifacts and checkpoints -*- C++ -*-===//
//
// XXH64 (xxHash, 64 bits): fast, for damage and not against attackers.
//
//   uint64_t h = hash64(std::as_bytes(std::span(values)));
//   Hasher64 hasher;                    // the same in pieces
//   hasher.update(first); hasher.update(second);
//   uint64_t same = hasher.finish();
//
//===----------------------------------------------------------------------===//
#ifndef MINIGPTC_RUNTIME_BASE_HASH_H
#define MINIGPTC_RUNTIME_BASE_HASH_H

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

namespace minigptc::runtime {

/// XXH64 of a sequence of bytes that arrives in pieces. Copyable.
class Hasher64 {
public:
  explicit Hasher64(uint64_t seed = 0);
  void update(std::span<const std::byte> bytes);
  /// The hash of all bytes so far; more may follow.
  uint64_t finish() const;

private:
  std::array<uint64_t, 4> lanes_;
  std::array<std::byte, 32> pending_; ///< the bytes since the last whole stripe
  uint64_t seed_, length_ = 0;
};

uint64_t hash64(std::span<const std::byte> bytes, uint64_t seed = 0);

} // namespace minigptc::runtime

#endif // MINIGPTC_RUNTIME_BASE_HASH_H
