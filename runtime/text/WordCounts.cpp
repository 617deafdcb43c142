#include "runtime/text/WordCounts.h"

namespace minigptc::runtime::text {

void WordCounts::addLong(std::string_view word, int64_t count) {
  auto at = long_.find(word);
  if (at == long_.end())
    at = long_.emplace(word, 0).first;
  at->second += count;
}

void WordCounts::grow() {
  std::vector<Slot> old(slots_.size() * 2);
  old.swap(slots_);
  for (const Slot &slot : old)
    if (slot.key.length)
      slotOf(slot.key) = slot;
}

void WordCounts::addAll(const WordCounts &others) {
  for (const Slot &slot : others.slots_)
    if (slot.key.length)
      addShort(slot.key, slot.count);
  for (const auto &[word, count] : others.long_)
    addLong(word, count);
}

} // namespace minigptc::runtime::text
