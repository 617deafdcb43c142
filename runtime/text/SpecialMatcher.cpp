#include "runtime/text/SpecialMatcher.h"

#include <algorithm>
#include <cstring>

namespace minigptc::runtime::text {

SpecialMatcher::SpecialMatcher(const std::vector<SpecialToken> &specials) : nodes_(1) {
  for (const SpecialToken &special : specials)
    insert(special);
}

uint32_t SpecialMatcher::child(uint32_t node, uint8_t byte) const {
  const auto &children = nodes_[node].children;
  auto at = std::lower_bound(children.begin(), children.end(), std::pair(byte, uint32_t(0)));
  return at != children.end() && at->first == byte ? at->second : 0;
}

void SpecialMatcher::insert(const SpecialToken &special) {
  uint32_t node = 0;
  for (char c : special.text) {
    uint8_t byte = uint8_t(c);
    uint32_t next = child(node, byte);
    if (!next) {
      next = uint32_t(nodes_.size());
      auto &children = nodes_[node].children;
      children.insert(std::lower_bound(children.begin(), children.end(), std::pair(byte, 0u)),
                      {byte, next});
      nodes_.emplace_back();
    }
    node = next;
  }
  nodes_[node].id = special.id;
  uint8_t first = uint8_t(special.text[0]);
  firstBytes_ += !begins_[first];
  begins_[first] = true;
  onlyByte_ = first;
  longest_ = std::max(longest_, special.text.size());
}

const uint8_t *SpecialMatcher::candidate(const uint8_t *p, const uint8_t *end) const {
  if (firstBytes_ == 1) {
    const void *found = std::memchr(p, onlyByte_, size_t(end - p));
    return found ? static_cast<const uint8_t *>(found) : end;
  }
  while (p < end && !begins_[*p])
    ++p;
  return p;
}

std::optional<SpecialMatch> SpecialMatcher::longestAt(const uint8_t *p, const uint8_t *end) const {
  std::optional<SpecialMatch> match;
  uint32_t node = 0;
  for (const uint8_t *q = p; q < end && (node = child(node, *q)) != 0;) {
    ++q;
    if (nodes_[node].id >= 0)
      match = SpecialMatch{p, q, nodes_[node].id};
  }
  return match;
}

std::optional<SpecialMatch> SpecialMatcher::find(const uint8_t *p, const uint8_t *end) const {
  if (firstBytes_ == 0)
    return std::nullopt;
  for (; (p = candidate(p, end)) != end; ++p)
    if (std::optional<SpecialMatch> match = longestAt(p, end))
      return match;
  return std::nullopt;
}

bool SpecialMatcher::straddles(const uint8_t *begin, const uint8_t *cut, const uint8_t *end) const {
  if (firstBytes_ == 0)
    return false;
  const uint8_t *from = size_t(cut - begin) < longest_ ? begin : cut - (longest_ - 1);
  for (const uint8_t *p = from; (p = candidate(p, cut)) != cut; ++p)
    if (std::optional<SpecialMatch> match = longestAt(p, end); match && match->end > cut)
      return true;
  return false;
}

} // namespace minigptc::runtime::text
