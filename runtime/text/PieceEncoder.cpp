#include "runtime/text/PieceEncoder.h"

#include "runtime/text/Pieces.h"

#include <algorithm>
#include <functional>

namespace minigptc::runtime::text {
namespace {

/// Up to here looking at all pairs for each merge is faster than a heap.
constexpr size_t kShort = 64;

} // namespace

void PieceCache::insert(const ShortKey &key, std::span<const int32_t> ids) {
  if (ids.size() > kMaxIds)
    return;
  Slot *pair = &slots_[place(key)];
  pair[1] = pair[0];
  pair[0] = {key.low, key.high, uint16_t(key.length), uint16_t(ids.size())};
  std::copy(ids.begin(), ids.end(), pair[0].ids);
}

uint64_t PieceEncoder::candidate(int32_t left, int32_t right) const {
  const Merge *merge = tables_.merges.find(left, right);
  return merge ? uint64_t(merge->rank) << 32 | uint32_t(merge->result) : kNone;
}

void PieceEncoder::mergeShort() {
  size_t count = ids_.size();
  candidates_.resize(count);
  for (size_t i = 0; i + 1 < count; ++i)
    candidates_[i] = candidate(ids_[i], ids_[i + 1]);
  while (count > 1) {
    // The first of the least: equal ones are the same merge.
    size_t at = size_t(std::min_element(candidates_.begin(), candidates_.begin() + count - 1) -
                       candidates_.begin());
    if (candidates_[at] == kNone)
      break;
    ids_[at] = int32_t(uint32_t(candidates_[at]));
    std::copy(ids_.begin() + at + 2, ids_.begin() + count, ids_.begin() + at + 1);
    std::copy(candidates_.begin() + at + 2, candidates_.begin() + count,
              candidates_.begin() + at + 1);
    --count;
    if (at > 0)
      candidates_[at - 1] = candidate(ids_[at - 1], ids_[at]);
    if (at + 1 < count)
      candidates_[at] = candidate(ids_[at], ids_[at + 1]);
  }
  ids_.resize(count);
}

void PieceEncoder::mergeLong() {
  // A list of tokens, each at the place of its first byte; a heap of (rank, place), of
  // which those are void whose pair is another by now.
  uint32_t count = uint32_t(ids_.size());
  candidates_.assign(count, kNone);
  next_.resize(count);
  previous_.resize(count);
  heap_.clear();
  auto entry = [&](uint32_t at) { return (candidates_[at] >> 32) << 32 | at; };
  for (uint32_t i = 0; i < count; ++i) {
    next_[i] = i + 1;
    previous_[i] = i - 1; // of the first: no place
    if (i + 1 < count && (candidates_[i] = candidate(ids_[i], ids_[i + 1])) != kNone)
      heap_.push_back(entry(i));
  }
  std::make_heap(heap_.begin(), heap_.end(), std::greater<>());
  auto renew = [&](uint32_t at) {
    candidates_[at] = next_[at] < count ? candidate(ids_[at], ids_[next_[at]]) : kNone;
    if (candidates_[at] == kNone)
      return;
    heap_.push_back(entry(at));
    std::push_heap(heap_.begin(), heap_.end(), std::greater<>());
  };
  while (!heap_.empty()) {
    uint64_t top = heap_.front();
    std::pop_heap(heap_.begin(), heap_.end(), std::greater<>());
    heap_.pop_back();
    uint32_t at = uint32_t(top);
    if (candidates_[at] == kNone || entry(at) != top)
      continue;
    uint32_t gone = next_[at];
    ids_[at] = int32_t(uint32_t(candidates_[at]));
    candidates_[gone] = kNone;
    next_[at] = next_[gone];
    if (next_[at] < count)
      previous_[next_[at]] = at;
    renew(at);
    if (at > 0)
      renew(previous_[at]);
  }
  size_t kept = 0;
  for (uint32_t at = 0; at < count; at = next_[at])
    ids_[kept++] = ids_[at];
  ids_.resize(kept);
}

void PieceEncoder::merge(const uint8_t *piece, size_t length) {
  ids_.clear();
  if (tables_.definition.wholePieces) {
    std::string_view bytes(reinterpret_cast<const char *>(piece), length);
    if (auto whole = tables_.wholePieces.find(bytes); whole != tables_.wholePieces.end()) {
      ids_.push_back(whole->second);
      return;
    }
  }
  for (size_t i = 0; i < length; ++i)
    ids_.push_back(tables_.byteIds[piece[i]]);
  length <= kShort ? mergeShort() : mergeLong();
}

int32_t *PieceEncoder::encodeNew(const uint8_t *piece, size_t length, const ShortKey *key,
                                 int32_t *out) {
  merge(piece, length);
  if (key)
    cache_.insert(*key, ids_);
  return std::copy(ids_.begin(), ids_.end(), out);
}

int32_t *PieceEncoder::encodePlain(const uint8_t *begin, const uint8_t *end, const uint8_t *limit,
                                   int32_t *out) {
  forEachPiece(tables_.definition.pattern, begin, end,
               [&](const uint8_t *piece, const uint8_t *behind) {
                 size_t length = size_t(behind - piece);
                 if (length > ShortKey::kMaxBytes) {
                   out = encodeNew(piece, length, nullptr, out);
                   return;
                 }
                 ShortKey key = ShortKey::of(piece, length, limit);
                 if (const PieceCache::Slot *slot = cache_.find(key)) {
                   std::memcpy(out, slot->ids, sizeof(slot->ids));
                   out += slot->count;
                   return;
                 }
                 out = encodeNew(piece, length, &key, out);
               });
  return out;
}

int32_t *PieceEncoder::encodeNormal(const uint8_t *begin, const uint8_t *end, const uint8_t *limit,
                                    int32_t *out) {
  if (isNormal(begin, end))
    return encodePlain(begin, end, limit, out);
  normal_.clear();
  appendNormal(begin, end, normal_);
  begin = reinterpret_cast<const uint8_t *>(normal_.data());
  return encodePlain(begin, begin + normal_.size(), begin + normal_.size(), out);
}

int32_t *PieceEncoder::encodeText(const uint8_t *begin, const uint8_t *end, int32_t *out) {
  for (const uint8_t *p = begin; p < end;) {
    std::optional<SpecialMatch> special = tables_.matcher.find(p, end);
    const uint8_t *plainEnd = special ? special->begin : end;
    out = tables_.definition.normalize ? encodeNormal(p, plainEnd, end, out)
                                       : encodePlain(p, plainEnd, end, out);
    if (!special)
      break;
    *out++ = special->id;
    p = special->end;
  }
  return out;
}

} // namespace minigptc::runtime::text
