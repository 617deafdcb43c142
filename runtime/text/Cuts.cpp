#include "runtime/text/Cuts.h"

#include "runtime/text/NormalForm.h"
#include "runtime/text/Pieces.h"

#include <algorithm>

namespace minigptc::runtime::text {

template <typename Visit>
void Cuts::visitCuts(const uint8_t *from, std::span<const uint8_t> text, Visit &&visit) const {
  // Characters and special tokens that begin here are known whole.
  constexpr size_t longestCharacter = 4;
  size_t unknown = std::max(longestCharacter, matcher_.longest());
  if (text.size() <= unknown)
    return;
  const uint8_t *begin = text.data(), *end = begin + text.size(), *known = end - unknown;
  // The character before `from` matters, too. No byte but a continuation is inside of one.
  const uint8_t *p = size_t(from - begin) <= longestCharacter ? begin : from - longestCharacter;
  while (p > begin && p < known && (*p & 0xc0) == 0x80)
    ++p;
  if (p >= known)
    return;
  const uint8_t *q = p; // the character before `p`
  Character before = characterAt(p, end);
  for (p += before.length; p <= known;) {
    Character c = characterAt(p, end);
    // Stable characters stay of their kind, even where they join with what follows.
    if (p >= from && alwaysCut(pattern_, before.kind, c.kind) &&
        (!normalize_ || (isStable(q, end) && isStable(p, end))) &&
        !matcher_.straddles(begin, p, end) && !visit(p))
      return;
    before = c;
    q = p;
    p += c.length;
  }
}

const uint8_t *Cuts::first(const uint8_t *from, std::span<const uint8_t> text) const {
  const uint8_t *found = nullptr;
  visitCuts(from, text, [&](const uint8_t *cut) {
    found = cut;
    return false;
  });
  return found;
}

const uint8_t *Cuts::last(std::span<const uint8_t> text) const {
  const uint8_t *found = nullptr;
  for (size_t window = 256; !found; window *= 4) {
    size_t begin = text.size() - std::min(window, text.size());
    visitCuts(text.data() + begin, text, [&](const uint8_t *cut) {
      found = cut;
      return true;
    });
    if (begin == 0)
      break;
  }
  return found;
}

} // namespace minigptc::runtime::text
