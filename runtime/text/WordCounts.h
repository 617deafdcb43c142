//===- WordCounts.h - how often each piece of a text occurs -----*- C++ -*-===//
//
//   WordCounts counts;
//   counts.add(piece, length, limit);
//   counts.addAll(others);
//   counts.visit([](std::string_view word, int64_t count) { ... });   // in no special order
//
//===----------------------------------------------------------------------===//
#ifndef MINIGPTC_RUNTIME_TEXT_WORDCOUNTS_H
#define MINIGPTC_RUNTIME_TEXT_WORDCOUNTS_H

#include "runtime/text/ShortKey.h"
#include "runtime/text/TokenizerTables.h"

namespace minigptc::runtime::text {

/// Not thread-safe. Short words are in a hash table of their own, at most half full.
class WordCounts {
public:
  WordCounts() : slots_(size_t(1) << 12) {}

  /// Nothing is read from `limit` on.
  void add(const uint8_t *piece, size_t length, const uint8_t *limit, int64_t count = 1) {
    if (length > ShortKey::kMaxBytes)
      return addLong({reinterpret_cast<const char *>(piece), length}, count);
    addShort(ShortKey::of(piece, length, limit), count);
  }
  void addAll(const WordCounts &others);

  template <typename Visit> void visit(Visit &&visit) const {
    for (const Slot &slot : slots_)
      if (slot.key.length) {
        char bytes[ShortKey::kMaxBytes];
        std::memcpy(bytes, &slot.key.low, 8);
        std::memcpy(bytes + 8, &slot.key.high, 8);
        visit(std::string_view(bytes, slot.key.length), slot.count);
      }
    for (const auto &[word, count] : long_)
      visit(std::string_view(word), count);
  }

private:
  struct Slot {
    ShortKey key; ///< length 0: free
    int64_t count = 0;
  };
  void addShort(const ShortKey &key, int64_t count) {
    Slot &slot = slotOf(key);
    if (!slot.key.length) {
      slot.key = key;
      slot.count = count;
      if (++used_ * 2 > slots_.size())
        grow();
      return;
    }
    slot.count += count;
  }
  /// The slot that has the key, or else where it belongs.
  Slot &slotOf(const ShortKey &key) {
    size_t mask = slots_.size() - 1;
    for (size_t at = (key.hash() >> 32) & mask;; at = (at + 1) & mask)
      if (!slots_[at].key.length || slots_[at].key == key)
        return slots_[at];
  }
  void addLong(std::string_view word, int64_t count);
  void grow();

  std::vector<Slot> slots_;
  size_t used_ = 0;
  BytesMap<int64_t> long_;
};

} // namespace minigptc::runtime::text

#endif // MINIGPTC_RUNTIME_TEXT_WORDCOUNTS_H
