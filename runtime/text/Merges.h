//===- Merges.h - which adjacent tokens become one --------------*- C++ -*-===//
//
//   MergeTable merges(pairs.size());
//   merges.insert(left, right, {rank, result});
//   if (const Merge *m = merges.find(left, right)) ...
//
//===----------------------------------------------------------------------===//
#ifndef MINIGPTC_RUNTIME_TEXT_MERGES_H
#define MINIGPTC_RUNTIME_TEXT_MERGES_H

#include <bit>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace minigptc::runtime::text {

struct Merge {
  uint32_t rank = 0;
  int32_t result = 0;
};

/// Pairs of ids to merges: a hash table with open addressing, at most half full.
class MergeTable {
public:
  explicit MergeTable(size_t merges = 0)
      : slots_(std::bit_ceil(2 * merges + 2)), mask_(slots_.size() - 1) {}

  /// False if the pair is there already.
  bool insert(int32_t left, int32_t right, Merge merge) {
    uint64_t key = keyOf(left, right);
    size_t at = place(key);
    for (; slots_[at].key != kEmpty; at = (at + 1) & mask_)
      if (slots_[at].key == key)
        return false;
    slots_[at] = {key, merge};
    return true;
  }

  const Merge *find(int32_t left, int32_t right) const {
    uint64_t key = keyOf(left, right);
    for (size_t at = place(key); slots_[at].key != kEmpty; at = (at + 1) & mask_)
      if (slots_[at].key == key)
        return &slots_[at].merge;
    return nullptr;
  }

private:
  static constexpr uint64_t kEmpty = ~uint64_t(0); ///< no key: ids are not negative
  struct Slot {
    uint64_t key = kEmpty;
    Merge merge;
  };
  static uint64_t keyOf(int32_t left, int32_t right) {
    return uint64_t(uint32_t(left)) << 32 | uint32_t(right);
  }
  size_t place(uint64_t key) const {
    key *= 0x9e3779b97f4a7c15u;
    return size_t(key ^ key >> 32) & mask_;
  }

  std::vector<Slot> slots_;
  size_t mask_;
};

} // namespace minigptc::runtime::text

#endif // MINIGPTC_RUNTIME_TEXT_MERGES_H
