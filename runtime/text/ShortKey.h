//===- ShortKey.h - pieces of a few bytes as numbers ------------*- C++ -*-===//
//
// Most pieces of a text are short; comparing and hashing them as two numbers is far faster
// than as strings.
//
//   ShortKey key = ShortKey::of(piece, length, limit);
//   slots[key.hash() >> shift].holds(key)
//
//===----------------------------------------------------------------------===//
#ifndef MINIGPTC_RUNTIME_TEXT_SHORTKEY_H
#define MINIGPTC_RUNTIME_TEXT_SHORTKEY_H

#include <cstddef>
#include <cstdint>
#include <cstring>

namespace minigptc::runtime::text {

struct ShortKey {
  static constexpr size_t kMaxBytes = 16;

  uint64_t low = 0, high = 0; ///< the bytes, and zeros
  uint32_t length = 0;
  bool operator==(const ShortKey &) const = default;

  /// Of 1 to kMaxBytes bytes; nothing is read from `limit` on.
  static ShortKey of(const uint8_t *piece, size_t length, const uint8_t *limit) {
    ShortKey key{.length = uint32_t(length)};
    if (size_t(limit - piece) < kMaxBytes) {
      uint8_t copy[kMaxBytes] = {};
      std::memcpy(copy, piece, length);
      std::memcpy(&key.low, copy, 8);
      std::memcpy(&key.high, copy + 8, 8);
      return key;
    }
    std::memcpy(&key.low, piece, 8);
    if (length <= 8) {
      key.low &= ~uint64_t(0) >> (64 - 8 * length);
      return key;
    }
    std::memcpy(&key.high, piece + 8, 8);
    key.high &= ~uint64_t(0) >> (128 - 8 * length);
    return key;
  }

  /// Its upper bits are the good ones.
  uint64_t hash() const { return (low ^ high * 0x9e3779b97f4a7c15u) * 0xd6e8feb86659fd93u; }
};

} // namespace minigptc::runtime::text

#endif // MINIGPTC_RUNTIME_TEXT_SHORTKEY_H
