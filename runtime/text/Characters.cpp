#include "runtime/text/Characters.h"

#include <memory>

namespace minigptc::runtime::text {
namespace {

struct CodePointRange {
  uint32_t first, last;
};
#include "runtime/text/UnicodeRanges.inc"

/// White_Space but for carriage return and line feed.
constexpr CodePointRange kSpaces[] = {{0x9, 0x9},       {0xB, 0xC},       {0x20, 0x20},
                                      {0x85, 0x85},     {0xA0, 0xA0},     {0x1680, 0x1680},
                                      {0x2000, 0x200A}, {0x2028, 0x2029}, {0x202F, 0x202F},
                                      {0x205F, 0x205F}, {0x3000, 0x3000}};

constexpr uint32_t kCodePoints = 0x110000;

/// A kind for each code point. Only pages with something else than `other` take memory.
struct KindTable {
  KindTable() {
    for (CodePointRange range : kLetters)
      fill(range, Kind::letter);
    for (CodePointRange range : kNumbers)
      fill(range, Kind::number);
    for (CodePointRange range : kSpaces)
      fill(range, Kind::space);
    fill({'\n', '\n'}, Kind::newline);
    fill({'\r', '\r'}, Kind::newline);
  }
  void fill(CodePointRange range, Kind kind) {
    for (uint32_t code = range.first; code <= range.last; ++code)
      kinds[code] = kind;
  }
  std::unique_ptr<Kind[]> kinds{new Kind[kCodePoints]()};
};

const Kind *kinds() {
  static const KindTable table;
  return table.kinds.get();
}

constexpr std::array<uint8_t, 256> makeByteKinds() {
  std::array<uint8_t, 256> table{};
  for (int c = 0; c < 256; ++c) {
    Kind kind = Kind::other;
    if ((c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'))
      kind = Kind::letter;
    else if (c >= '0' && c <= '9')
      kind = Kind::number;
    else if (c == '\n' || c == '\r')
      kind = Kind::newline;
    else if (c == ' ' || c == '\t' || c == '\v' || c == '\f')
      kind = Kind::space;
    table[size_t(c)] = c < 0x80 ? uint8_t(kind) : several;
  }
  return table;
}

} // namespace

const std::array<uint8_t, 256> byteKinds = makeByteKinds();

Kind kindOf(uint32_t code) { return code < kCodePoints ? kinds()[code] : Kind::other; }

Character longCharacterAt(const uint8_t *p, const uint8_t *end) {
  uint32_t code = 0;
  uint32_t length = decodeSequence(p, end, code);
  return length ? Character{kinds()[code], length} : Character{};
}

} // namespace minigptc::runtime::text
