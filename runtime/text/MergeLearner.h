//===- MergeLearner.h - which pairs merge, learned from words ---*- C++ -*-===//
//
// The heart of training: the most frequent pair of adjacent tokens becomes a token, again and
// again; of equally frequent pairs the one whose byte strings are lexicographically greatest,
// the left ones compared first.
//
//   MergeLearner learner(definition);             // bytes and special tokens
//   learner.addWord("low", 5);
//   learner.learn(5000);                          // tokens in all; more merges and tokens
//
// All words lie in one array, a boundary before each. A merge visits the places of its pair
// only, and changes the counts of the pairs next to them: what training costs is the number
// of merges that are made in distinct words.
//
//===----------------------------------------------------------------------===//
#ifndef MINIGPTC_RUNTIME_TEXT_MERGELEARNER_H
#define MINIGPTC_RUNTIME_TEXT_MERGELEARNER_H

#include "runtime/text/TokenizerTables.h"

namespace minigptc::runtime::text {

/// Does not own the definition, whose tokens 0 … 255 are the bytes.
class MergeLearner {
public:
  explicit MergeLearner(Definition &definition);

  /// resourceExhausted beyond 4 GiB of distinct words.
  Status addWord(std::string_view word, int64_t count);
  /// Adds merges until there are `size` tokens. False if no pairs are left before.
  bool learn(int64_t size);

private:
  struct Place {
    uint32_t at, word;
  };
  struct Pair {
    int32_t left, right;
    int64_t count = 0;         ///< of adjacent occurrences, overlapping ones too
    std::vector<Place> places; ///< of `left`; some may have another pair by now
  };
  /// May be out of date: a pair whose count has fallen is put back when it is met.
  struct Ranked {
    int64_t count;
    uint32_t pair;
  };

  bool ranksLower(const Ranked &a, const Ranked &b) const;
  void push(uint32_t pair);
  /// The pair to be merged next, or -1.
  int64_t takeBest();
  uint32_t pairOf(int32_t left, int32_t right);
  void appear(int32_t left, int32_t right, Place place);
  void vanish(int32_t left, int32_t right, const Place &place);
  int32_t resultOf(const Pair &pair);
  void merge(uint32_t pair);
  void mergeAt(const Place &place, int32_t left, int32_t right, int32_t result);
  size_t lengthOf(int32_t token) const { return definition_.tokens[size_t(token)].size(); }

  static constexpr int32_t kBoundary = -1, kInside = -2;
  Definition &definition_;
  BytesMap<int32_t> ids_;        ///< of bytes and merged tokens
  std::vector<int32_t> tokens_;  ///< by place: the token that begins there, or one of the above
  std::vector<uint32_t> starts_; ///< by place of a token's last byte: of its first
  std::vector<int64_t> wordCounts_;
  std::vector<Pair> pairs_;
  MergeTable pairIndex_; ///< `result` is the number of the pair
  size_t indexCapacity_ = 0;
  std::vector<Ranked> heap_;
  std::vector<uint32_t> grown_; ///< pairs whose counts the current merge has raised
};

} // namespace minigptc::runtime::text

#endif // MINIGPTC_RUNTIME_TEXT_MERGELEARNER_H
