//===- SpecialMatcher.h - finding special tokens in a text ------*- C++ -*-===//
//
//   SpecialMatcher matcher(specials);
//   if (std::optional<SpecialMatch> m = matcher.find(p, end))    // the leftmost, the longest there
//     ... [m->begin, m->end) is the token m->id
//
//===----------------------------------------------------------------------===//
#ifndef MINIGPTC_RUNTIME_TEXT_SPECIALMATCHER_H
#define MINIGPTC_RUNTIME_TEXT_SPECIALMATCHER_H

#include "minigptc/runtime/Tokenizer.h"

#include <array>

namespace minigptc::runtime::text {

struct SpecialMatch {
  const uint8_t *begin, *end;
  int32_t id;
};

/// A trie of the tokens' texts. Immutable, thread-safe.
class SpecialMatcher {
public:
  explicit SpecialMatcher(const std::vector<SpecialToken> &specials = {});

  /// The leftmost match in [p, end), of those that begin there the longest.
  std::optional<SpecialMatch> find(const uint8_t *p, const uint8_t *end) const;
  /// Whether a token of the text begins before `cut` and ends behind it.
  bool straddles(const uint8_t *begin, const uint8_t *cut, const uint8_t *end) const;
  /// Bytes of the longest token; 0 if there are none.
  size_t longest() const { return longest_; }

private:
  struct Node {
    std::vector<std::pair<uint8_t, uint32_t>> children; ///< ordered by byte
    int32_t id = -1;
  };
  /// The node below `node` for a byte; 0, the root, if there is none.
  uint32_t child(uint32_t node, uint8_t byte) const;
  void insert(const SpecialToken &special);
  /// The longest token that begins at `p`.
  std::optional<SpecialMatch> longestAt(const uint8_t *p, const uint8_t *end) const;
  /// Where the next token may begin.
  const uint8_t *candidate(const uint8_t *p, const uint8_t *end) const;

  std::vector<Node> nodes_;
  std::array<bool, 256> begins_{}; ///< by first byte
  int firstBytes_ = 0, onlyByte_ = 0;
  size_t longest_ = 0;
};

} // namespace minigptc::runtime::text

#endif // MINIGPTC_RUNTIME_TEXT_SPECIALMATCHER_H
