#include "runtime/text/MergeLearner.h"

#include <algorithm>

namespace minigptc::runtime::text {

MergeLearner::MergeLearner(Definition &definition)
    : definition_(definition), tokens_{kBoundary}, starts_{0} {
  for (int32_t byte = 0; byte < 256; ++byte)
    ids_.emplace(definition.tokens[size_t(byte)], byte);
}

Status MergeLearner::addWord(std::string_view word, int64_t count) {
  if (word.size() < 2)
    return Status::success();
  if (tokens_.size() + word.size() + 1 > UINT32_MAX)
    return Status(StatusCode::resourceExhausted,
                  "the texts have more than 4 GiB of different words")
        .withHelp("learn from a part of them");
  uint32_t number = uint32_t(wordCounts_.size());
  wordCounts_.push_back(count);
  for (size_t i = 0; i < word.size(); ++i) {
    uint32_t at = uint32_t(tokens_.size());
    tokens_.push_back(uint8_t(word[i]));
    starts_.push_back(at);
    if (i > 0)
      appear(tokens_[at - 1], tokens_[at], {at - 1, number});
  }
  tokens_.push_back(kBoundary);
  starts_.push_back(uint32_t(starts_.size()));
  return Status::success();
}

uint32_t MergeLearner::pairOf(int32_t left, int32_t right) {
  if (const Merge *known = pairIndex_.find(left, right))
    return uint32_t(known->result);
  uint32_t number = uint32_t(pairs_.size());
  pairs_.push_back({left, right, 0, {}});
  if (pairs_.size() > indexCapacity_) {
    indexCapacity_ = std::max<size_t>(4096, 2 * indexCapacity_);
    pairIndex_ = MergeTable(indexCapacity_);
    for (uint32_t i = 0; i < number; ++i)
      pairIndex_.insert(pairs_[i].left, pairs_[i].right, {0, int32_t(i)});
  }
  pairIndex_.insert(left, right, {0, int32_t(number)});
  return number;
}

void MergeLearner::appear(int32_t left, int32_t right, Place place) {
  uint32_t number = pairOf(left, right);
  Pair &pair = pairs_[number];
  pair.count += wordCounts_[place.word];
  pair.places.push_back(place);
  grown_.push_back(number);
}

void MergeLearner::vanish(int32_t left, int32_t right, const Place &place) {
  pairs_[pairOf(left, right)].count -= wordCounts_[place.word];
}

bool MergeLearner::ranksLower(const Ranked &a, const Ranked &b) const {
  if (a.count != b.count)
    return a.count < b.count;
  const Pair &p = pairs_[a.pair], &q = pairs_[b.pair];
  const std::vector<std::string> &tokens = definition_.tokens;
  if (p.left != q.left)
    if (int order = tokens[size_t(p.left)].compare(tokens[size_t(q.left)]))
      return order < 0;
  return tokens[size_t(p.right)] < tokens[size_t(q.right)];
}

void MergeLearner::push(uint32_t pair) {
  heap_.push_back({pairs_[pair].count, pair});
  std::push_heap(heap_.begin(), heap_.end(),
                 [&](const Ranked &a, const Ranked &b) { return ranksLower(a, b); });
}

int64_t MergeLearner::takeBest() {
  while (!heap_.empty()) {
    Ranked best = heap_.front();
    std::pop_heap(heap_.begin(), heap_.end(),
                  [&](const Ranked &a, const Ranked &b) { return ranksLower(a, b); });
    heap_.pop_back();
    int64_t count = pairs_[best.pair].count;
    if (count == best.count && count > 0)
      return best.pair;
    // Where it has grown, a later entry says so.
    if (count > 0 && count < best.count)
      push(best.pair);
  }
  return -1;
}

int32_t MergeLearner::resultOf(const Pair &pair) {
  std::string bytes =
      definition_.tokens[size_t(pair.left)] + definition_.tokens[size_t(pair.right)];
  // Other pairs may have made the same bytes: a token is what its bytes are.
  auto [known, isNew] = ids_.emplace(std::move(bytes), int32_t(definition_.tokens.size()));
  if (isNew)
    definition_.tokens.push_back(known->first);
  return known->second;
}

void MergeLearner::mergeAt(const Place &place, int32_t left, int32_t right, int32_t result) {
  uint32_t at = place.at, middle = uint32_t(at + lengthOf(left));
  if (tokens_[at] != left || tokens_[middle] != right)
    return;
  uint32_t before = starts_[at - 1], behind = uint32_t(middle + lengthOf(right));
  if (tokens_[before] >= 0) {
    vanish(tokens_[before], left, place);
    appear(tokens_[before], result, {before, place.word});
  }
  if (tokens_[behind] >= 0) {
    vanish(right, tokens_[behind], place);
    appear(result, tokens_[behind], place);
  }
  tokens_[at] = result;
  tokens_[middle] = kInside;
  starts_[behind - 1] = at;
}

void MergeLearner::merge(uint32_t number) {
  int32_t left = pairs_[number].left, right = pairs_[number].right;
  int32_t result = resultOf(pairs_[number]);
  definition_.merges.push_back({left, right, result});
  std::vector<Place> places = std::move(pairs_[number].places);
  // Leftmost first, where occurrences overlap.
  auto before = [](const Place &a, const Place &b) { return a.at < b.at; };
  if (!std::is_sorted(places.begin(), places.end(), before))
    std::sort(places.begin(), places.end(), before);
  grown_.clear();
  for (const Place &place : places)
    mergeAt(place, left, right, result);
  pairs_[number].count = 0;
  pairs_[number].places = {};
  std::sort(grown_.begin(), grown_.end());
  grown_.erase(std::unique(grown_.begin(), grown_.end()), grown_.end());
  for (uint32_t pair : grown_)
    if (pairs_[pair].count > 0)
      push(pair);
}

bool MergeLearner::learn(int64_t size) {
  grown_.clear();
  for (uint32_t pair = 0; pair < pairs_.size(); ++pair)
    push(pair);
  while (int64_t(definition_.tokens.size()) < size) {
    int64_t best = takeBest();
    if (best < 0)
      return false;
    merge(uint32_t(best));
  }
  return true;
}

} // namespace minigptc::runtime::text
