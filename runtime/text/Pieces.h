//===- Pieces.h - cutting a text into pieces that merge by themselves -*- C++ -*-===//
//
// The pre-tokenisation patterns, as scanners: a piece ends where the regular expression's
// next match from its beginning would end. They never look back, so that pieces depend on
// what follows only.
//
//   gpt2    's|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+
//   llama3  (?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}|
//            ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+
//   qwen2   as llama3 with \p{N} for \p{N}{1,3}
//
//   forEachPiece<kLlama3>(begin, end, [&](const uint8_t *from, const uint8_t *to) { ... });
//
//===----------------------------------------------------------------------===//
#ifndef MINIGPTC_RUNTIME_TEXT_PIECES_H
#define MINIGPTC_RUNTIME_TEXT_PIECES_H

#include "minigptc/runtime/Tokenizer.h"
#include "runtime/text/Characters.h"

namespace minigptc::runtime::text {

/// What tells the patterns apart.
struct PieceRules {
  bool modern = false; ///< Llama 3's and Qwen's alternatives
  int digits = 0;      ///< numbers in a piece; 0: any
};
inline constexpr PieceRules kGpt2{}, kLlama3{true, 3}, kQwen2{true, 1};

/// Behind the characters of this kind from `p` on.
template <Kind kind> inline const uint8_t *skip(const uint8_t *p, const uint8_t *end) {
  for (;;) {
    while (p < end && byteKinds[*p] == uint8_t(kind))
      ++p;
    if (p == end || *p < 0x80)
      return p;
    Character c = longCharacterAt(p, end);
    if (c.kind != kind)
      return p;
    p += c.length;
  }
}

template <PieceRules rules>
inline const uint8_t *skipNumbers(const uint8_t *p, const uint8_t *end) {
  if constexpr (rules.digits == 0)
    return skip<Kind::number>(p, end);
  for (int count = 0; count < rules.digits && p < end; ++count) {
    Character c = characterAt(p, end);
    if (c.kind != Kind::number)
      break;
    p += c.length;
  }
  return p;
}

/// Behind the contraction at `p`, an apostrophe; null if there is none.
template <PieceRules rules>
inline const uint8_t *contractionEnd(const uint8_t *p, const uint8_t *end) {
  size_t left = size_t(end - p);
  auto letter = [&](size_t i) { return uint8_t(rules.modern ? p[i] | 0x20 : p[i]); };
  if (left < 2)
    return nullptr;
  uint8_t first = letter(1);
  if (first == 's' || first == 'd' || first == 'm' || first == 't')
    return p + 2;
  if (left < 3)
    return nullptr;
  uint8_t second = letter(2);
  if ((first == 'l' && second == 'l') || ((first == 'v' || first == 'r') && second == 'e'))
    return p + 3;
  // Without regard to case the long s is an s, too.
  if (rules.modern && p[1] == 0xc5 && p[2] == 0xbf)
    return p + 3;
  return nullptr;
}

/// The end of the piece that begins at `p`, a white space that no pattern joins with what
/// follows it.
template <PieceRules rules> const uint8_t *blankEnd(const uint8_t *p, const uint8_t *end) {
  const uint8_t *last = p, *behindNewline = nullptr, *q = p;
  while (q < end) {
    Character c = characterAt(q, end);
    if (!isBlank(c.kind))
      break;
    last = q;
    q += c.length;
    if (c.kind == Kind::newline)
      behindNewline = q;
  }
  if (rules.modern && behindNewline)
    return behindNewline;
  // The last blank goes with what follows, or is a piece of its own.
  return q == end || last == p ? q : last;
}

/// The end of the piece that begins at `p` < `end`.
template <PieceRules rules> inline const uint8_t *pieceEnd(const uint8_t *p, const uint8_t *end) {
  if (*p == '\'')
    if (const uint8_t *behind = contractionEnd<rules>(p, end))
      return behind;
  Character c = characterAt(p, end);
  const uint8_t *q = p + c.length;
  if (c.kind == Kind::letter)
    return skip<Kind::letter>(q, end);
  if (c.kind == Kind::number) {
    if constexpr (rules.digits == 0)
      return skip<Kind::number>(q, end);
    return skipNumbers<rules>(p, end);
  }
  auto others = [&](const uint8_t *from) {
    const uint8_t *behind = skip<Kind::other>(from, end);
    if constexpr (rules.modern)
      behind = skip<Kind::newline>(behind, end);
    return behind;
  };
  if (rules.modern || *p == ' ') {
    Kind next = q < end ? characterAt(q, end).kind : Kind::newline;
    if (next == Kind::letter && c.kind != Kind::newline)
      return skip<Kind::letter>(q, end);
    if (!rules.modern && next == Kind::number)
      return skip<Kind::number>(q, end);
    if (next == Kind::other && *p == ' ')
      return others(q);
  }
  return c.kind == Kind::other ? others(q) : blankEnd<rules>(p, end);
}

template <PieceRules rules, typename Visit>
inline void forEachPiece(const uint8_t *p, const uint8_t *end, Visit &&visit) {
  while (p < end) {
    const uint8_t *behind = pieceEnd<rules>(p, end);
    visit(p, behind);
    p = behind;
  }
}

template <typename Visit>
inline void forEachPiece(TextPattern pattern, const uint8_t *p, const uint8_t *end, Visit &&visit) {
  switch (pattern) {
  case TextPattern::gpt2: return forEachPiece<kGpt2>(p, end, visit);
  case TextPattern::llama3: return forEachPiece<kLlama3>(p, end, visit);
  case TextPattern::qwen2: return forEachPiece<kQwen2>(p, end, visit);
  }
}

/// Whether a piece ends between two adjacent characters, whatever is around them. What is
/// before them has then no influence on the pieces behind, nor the other way round: a text
/// can be cut there. (Sufficient, not necessary: a contraction may join an apostrophe to
/// letters, Llama 3's pattern any character, and others take newlines with them.)
inline bool alwaysCut(TextPattern pattern, Kind before, Kind behind) {
  switch (before) {
  case Kind::letter: return behind != Kind::letter;
  case Kind::number: return behind != Kind::number;
  case Kind::other:
    return behind == Kind::number || behind == Kind::space ||
           (behind == Kind::newline && pattern == TextPattern::gpt2);
  default: return false;
  }
}

} // namespace minigptc::runtime::text

#endif // MINIGPTC_RUNTIME_TEXT_PIECES_H
