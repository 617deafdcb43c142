#include "runtime/text/NormalForm.h"

#include "runtime/text/Characters.h"

#include <algorithm>
#include <unordered_map>
#include <vector>

namespace minigptc::runtime::text {
namespace {

struct Decomposition {
  uint32_t code, first, second; ///< second 0: none
  bool composes;                ///< first and second make it
};
struct ClassRange {
  uint32_t first, last;
  uint8_t combiningClass;
};
#include "runtime/text/NormalForms.inc"

constexpr uint32_t kSyllables = 0xac00, kLeads = 0x1100, kVowels = 0x1161, kTails = 0x11a7;
constexpr uint32_t kLeadCount = 19, kVowelCount = 21, kTailCount = 28;
constexpr uint32_t kSyllableCount = kLeadCount * kVowelCount * kTailCount;

struct Tables {
  Tables() : unstable(0x110000) {
    for (const ClassRange &range : kClasses)
      std::fill(unstable.begin() + range.first, unstable.begin() + range.last + 1, true);
    for (const Decomposition &d : kDecompositions) {
      unstable[d.composes ? d.second : d.code] = true;
      if (d.composes)
        composites.emplace(uint64_t(d.first) << 32 | d.second, d.code);
    }
    std::fill_n(unstable.begin() + kVowels, kVowelCount, true);
    std::fill_n(unstable.begin() + kTails + 1, kTailCount - 1, true);
  }
  std::vector<bool> unstable; ///< by code point
  std::unordered_map<uint64_t, uint32_t> composites;
};

const Tables &tables() {
  static const Tables tables;
  return tables;
}

uint8_t classOf(uint32_t code) {
  const ClassRange *range =
      std::lower_bound(std::begin(kClasses), std::end(kClasses), code,
                       [](const ClassRange &range, uint32_t code) { return range.last < code; });
  return range != std::end(kClasses) && range->first <= code ? range->combiningClass : 0;
}

void decompose(uint32_t code, std::vector<uint32_t> &out) {
  if (code >= kSyllables && code < kSyllables + kSyllableCount) {
    uint32_t index = code - kSyllables;
    out.push_back(kLeads + index / (kVowelCount * kTailCount));
    out.push_back(kVowels + index / kTailCount % kVowelCount);
    if (index % kTailCount)
      out.push_back(kTails + index % kTailCount);
    return;
  }
  const Decomposition *d =
      std::lower_bound(std::begin(kDecompositions), std::end(kDecompositions), code,
                       [](const Decomposition &d, uint32_t code) { return d.code < code; });
  if (d == std::end(kDecompositions) || d->code != code) {
    out.push_back(code);
    return;
  }
  decompose(d->first, out);
  if (d->second)
    decompose(d->second, out);
}

/// The character that two make; 0 if there is none.
uint32_t compose(uint32_t first, uint32_t second) {
  if (first - kLeads < kLeadCount && second - kVowels < kVowelCount)
    return kSyllables + ((first - kLeads) * kVowelCount + (second - kVowels)) * kTailCount;
  if (first - kSyllables < kSyllableCount && (first - kSyllables) % kTailCount == 0 &&
      second - kTails - 1 < kTailCount - 1)
    return first + (second - kTails);
  auto composite = tables().composites.find(uint64_t(first) << 32 | second);
  return composite == tables().composites.end() ? 0 : composite->second;
}

/// Marks behind a character in the order of their classes; equal ones stay in their order.
void orderMarks(std::vector<uint32_t> &codes) {
  struct Mark {
    uint8_t combiningClass;
    size_t place;
    uint32_t code;
    auto operator<=>(const Mark &) const = default;
  };
  std::vector<Mark> marks;
  for (size_t begin = 0, end = 0; end <= codes.size(); ++end) {
    uint8_t combiningClass = end < codes.size() ? classOf(codes[end]) : 0;
    if (combiningClass) {
      marks.push_back({combiningClass, end, codes[end]});
      continue;
    }
    std::sort(marks.begin(), marks.end());
    for (const Mark &mark : marks)
      codes[begin++] = mark.code;
    marks.clear();
    begin = end + 1;
  }
}

/// Joins each character with the last starter, unless one between them is in the way.
void composeAll(std::vector<uint32_t> &codes) {
  size_t kept = 0, starter = SIZE_MAX;
  int classBefore = -1; // of what is kept behind the starter
  for (uint32_t code : codes) {
    int itsClass = classOf(code);
    if (starter != SIZE_MAX && classBefore < itsClass)
      if (uint32_t composite = compose(codes[starter], code)) {
        codes[starter] = composite;
        continue;
      }
    if (itsClass == 0)
      starter = kept;
    classBefore = itsClass == 0 ? -1 : itsClass;
    codes[kept++] = code;
  }
  codes.resize(kept);
}

/// A valid text that begins with a stable character or the text, all others being unstable.
void appendRegion(const uint8_t *p, const uint8_t *end, std::string &out) {
  std::vector<uint32_t> codes;
  while (p < end) {
    uint32_t code = *p;
    p += *p < 0x80 ? 1 : decodeSequence(p, end, code);
    decompose(code, codes);
  }
  orderMarks(codes);
  composeAll(codes);
  for (uint32_t code : codes)
    appendUtf8(code, out);
}

/// Length of the unstable character at `p`, or 0.
uint32_t unstableLength(const uint8_t *p, const uint8_t *end) {
  uint32_t code = 0;
  if (*p < 0xcc) // all below U+0300
    return 0;
  uint32_t length = decodeSequence(p, end, code);
  return length && tables().unstable[code] ? length : 0;
}

} // namespace

void appendUtf8(uint32_t code, std::string &out) {
  if (code < 0x80) {
    out += char(code);
    return;
  }
  int tails = code < 0x800 ? 1 : code < 0x10000 ? 2 : 3;
  static constexpr uint8_t lead[] = {0, 0xc0, 0xe0, 0xf0};
  out += char(lead[tails] | code >> (6 * tails));
  while (tails-- > 0)
    out += char(0x80 | ((code >> (6 * tails)) & 0x3f));
}

bool isStable(const uint8_t *p, const uint8_t *end) { return !unstableLength(p, end); }

bool isNormal(const uint8_t *p, const uint8_t *end) {
  while (p < end) {
    if (unstableLength(p, end))
      return false;
    p += *p < 0x80 ? 1 : characterAt(p, end).length;
  }
  return true;
}

void appendNormal(const uint8_t *p, const uint8_t *end, std::string &out) {
  const uint8_t *copied = p, *stable = nullptr; // the character before `p`, if it may join
  while (p < end) {
    uint32_t length = unstableLength(p, end);
    if (!length) {
      uint32_t code = 0;
      length = *p < 0x80 ? 1 : decodeSequence(p, end, code);
      stable = length ? p : nullptr;
      p += std::max(length, 1u);
      continue;
    }
    const uint8_t *begin = stable ? stable : p;
    while (p < end && (length = unstableLength(p, end)) != 0)
      p += length;
    out.append(copied, begin);
    appendRegion(begin, p, out);
    copied = p;
    stable = nullptr;
  }
  out.append(copied, end);
}

} // namespace minigptc::runtime::text
