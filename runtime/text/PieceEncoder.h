//===- PieceEncoder.h - from the bytes of a piece to ids --------*- C++ -*-===//
//
// Merges the leftmost pair of lowest rank, again and again; remembers short pieces, of which
// a text has the same over and over.
//
//   PieceEncoder encoder(tables);                  // one for each thread
//   int32_t *behind = encoder.encodeText(begin, end, ids);
//
//===----------------------------------------------------------------------===//
#ifndef MINIGPTC_RUNTIME_TEXT_PIECEENCODER_H
#define MINIGPTC_RUNTIME_TEXT_PIECEENCODER_H

#include "runtime/text/NormalForm.h"
#include "runtime/text/ShortKey.h"
#include "runtime/text/TokenizerTables.h"

#include <algorithm>
#include <bit>

namespace minigptc::runtime::text {

/// Ids of short pieces. Slots come in pairs, the younger first; what does not fit is
/// computed again.
class PieceCache {
public:
  static constexpr size_t kMaxIds = 3;
  struct Slot {
    uint64_t low = 0, high = 0;
    uint16_t length = 0, count = 0; ///< length 0: free
    int32_t ids[kMaxIds] = {};
    bool holds(const ShortKey &key) const {
      return low == key.low && high == key.high && length == key.length;
    }
  };

  /// For a text of so many bytes; 2 MiB at most.
  explicit PieceCache(size_t textBytes)
      : shift_(64 - std::clamp<int>(std::bit_width(textBytes / 8), 4, 16)),
        slots_(size_t(1) << (64 - shift_)) {}

  const Slot *find(const ShortKey &key) const {
    const Slot *pair = &slots_[place(key)];
    return pair[0].holds(key) ? pair : pair[1].holds(key) ? pair + 1 : nullptr;
  }
  void insert(const ShortKey &key, std::span<const int32_t> ids);

private:
  size_t place(const ShortKey &key) const { return size_t(key.hash() >> shift_) & ~size_t(1); }
  int shift_;
  std::vector<Slot> slots_;
};

/// Not thread-safe. Does not own the tables.
class alignas(128) PieceEncoder {
public:
  explicit PieceEncoder(const TokenizerTables &tables, size_t textBytes = ~size_t(0))
      : tables_(tables), cache_(textBytes) {}

  /// Room for the ids of a text: an id stands for a byte or more.
  static size_t room(const TokenizerTables &tables, size_t textBytes) {
    return textBytes * (tables.definition.normalize ? kNormalGrowth : 1) + kSlack;
  }

  /// Writes the ids of a text, special tokens and all, to `out`, which has the room. The end
  /// of what counts.
  int32_t *encodeText(const uint8_t *begin, const uint8_t *end, int32_t *out);

private:
  /// Ids that are written at once, though fewer may count.
  static constexpr size_t kSlack = PieceCache::kMaxIds;
  /// A text without special tokens; `limit` is the end of what may be read.
  int32_t *encodePlain(const uint8_t *begin, const uint8_t *end, const uint8_t *limit,
                       int32_t *out);
  int32_t *encodeNormal(const uint8_t *begin, const uint8_t *end, const uint8_t *limit,
                        int32_t *out);
  int32_t *encodeNew(const uint8_t *piece, size_t length, const ShortKey *key, int32_t *out);
  /// Each fills `ids_` with what becomes of it.
  void merge(const uint8_t *piece, size_t length);
  void mergeShort();
  void mergeLong();
  /// The merge of two adjacent tokens: its rank above its result; `kNone`, the greatest, for none.
  uint64_t candidate(int32_t left, int32_t right) const;

  static constexpr uint64_t kNone = ~uint64_t(0);
  const TokenizerTables &tables_;
  PieceCache cache_;
  std::vector<int32_t> ids_;
  std::vector<uint64_t> candidates_, heap_;
  std::vector<uint32_t> next_, previous_;
  std::string normal_;
};

} // namespace minigptc::runtime::text

#endif // MINIGPTC_RUNTIME_TEXT_PIECEENCODER_H
