//===- Characters.h - what kinds of characters a text has -------*- C++ -*-===//
//
// Texts are bytes. A character is a well-formed UTF-8 sequence; a byte that belongs to none
// is a character of its own, of kind `other`.
//
//   Character c = characterAt(begin, end);    // begin < end
//   begin += c.length;
//
//===----------------------------------------------------------------------===//
#ifndef MINIGPTC_RUNTIME_TEXT_CHARACTERS_H
#define MINIGPTC_RUNTIME_TEXT_CHARACTERS_H

#include <array>
#include <cstddef>
#include <cstdint>

namespace minigptc::runtime::text {

/// The kinds that pre-tokenisation patterns tell apart. The order matters: what is `space`
/// or greater is white space.
enum class Kind : uint8_t {
  other,
  letter, ///< \p{L}
  number, ///< \p{N}
  space,  ///< \s, but for `newline`
  newline ///< carriage return, line feed
};
inline bool isBlank(Kind kind) { return kind >= Kind::space; }

/// What a byte begins: the kind of an ASCII character, or `several`.
inline constexpr uint8_t several = 0xff;
extern const std::array<uint8_t, 256> byteKinds;

struct Character {
  Kind kind = Kind::other;
  uint32_t length = 1; ///< in bytes
};

/// Length of the well-formed sequence of two to four bytes at `p`, and its code point; 0
/// where there is none.
inline uint32_t decodeSequence(const uint8_t *p, const uint8_t *end, uint32_t &code) {
  size_t left = size_t(end - p);
  auto tail = [&](size_t i) { return (p[i] & 0xc0) == 0x80; };
  if (p[0] < 0xe0) {
    if (p[0] < 0xc2 || left < 2 || !tail(1))
      return 0;
    code = (p[0] & 0x1fu) << 6 | (p[1] & 0x3fu);
    return 2;
  }
  if (p[0] < 0xf0) {
    if (left < 3 || !tail(1) || !tail(2))
      return 0;
    code = (p[0] & 0xfu) << 12 | (p[1] & 0x3fu) << 6 | (p[2] & 0x3fu);
    return code < 0x800 || (code >= 0xd800 && code < 0xe000) ? 0 : 3;
  }
  if (p[0] > 0xf4 || left < 4 || !tail(1) || !tail(2) || !tail(3))
    return 0;
  code = (p[0] & 7u) << 18 | (p[1] & 0x3fu) << 12 | (p[2] & 0x3fu) << 6 | (p[3] & 0x3fu);
  return code < 0x10000 || code > 0x10ffff ? 0 : 4;
}

/// The kind of a code point, by Unicode 16.0.
Kind kindOf(uint32_t code);

/// The character at `p` if it is no ASCII character.
Character longCharacterAt(const uint8_t *p, const uint8_t *end);

inline Character characterAt(const uint8_t *p, const uint8_t *end) {
  uint8_t kind = byteKinds[*p];
  return kind != several ? Character{Kind(kind), 1} : longCharacterAt(p, end);
}

} // namespace minigptc::runtime::text

#endif // MINIGPTC_RUNTIME_TEXT_CHARACTERS_H
