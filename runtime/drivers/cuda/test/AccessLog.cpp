#include "runtime/drivers/cuda/test/AccessLog.h"

#include <algorithm>

namespace minigptc::runtime::cuda::test {

AccessLog::AccessLog(uintptr_t begin, uint64_t bytes) : end(begin + bytes) { pieces[begin]; }

AccessLog::Pieces::iterator AccessLog::cut(uintptr_t at) {
  if (at >= end)
    return pieces.end();
  auto next = pieces.lower_bound(at);
  if (next != pieces.end() && next->first == at)
    return next;
  return pieces.emplace_hint(next, at, std::prev(next)->second);
}

void AccessLog::mergeAround(uintptr_t begin, uintptr_t last) {
  auto piece = pieces.lower_bound(begin);
  if (piece == pieces.end())
    return;
  if (piece != pieces.begin())
    --piece;
  for (auto next = std::next(piece); next != pieces.end() && next->first <= last;) {
    if (next->second == piece->second)
      next = pieces.erase(next);
    else
      piece = next++;
  }
}

void AccessLog::access(uintptr_t from, uintptr_t to, bool write, const AccessMark &by,
                       const VectorClock &clock,
                       const std::function<void(const Conflict &)> &report) {
  auto first = cut(from), last = cut(to);
  for (auto piece = first; piece != last; ++piece) {
    Piece &state = piece->second;
    auto next = std::next(piece);
    uintptr_t pieceEnd = next == pieces.end() ? end : next->first;
    if (!state.write.isBefore(clock))
      report({piece->first, pieceEnd, state.write, true});
    if (!write) {
      std::erase_if(state.reads, [&](const AccessMark &read) { return read.isBefore(clock); });
      state.reads.push_back(by);
      continue;
    }
    for (const AccessMark &read : state.reads)
      if (!read.isBefore(clock))
        report({piece->first, pieceEnd, read, false});
    state.write = by;
    state.reads.clear();
    state.unwritten = false;
  }
  mergeAround(from, to);
}

std::vector<std::pair<uintptr_t, uintptr_t>> AccessLog::unwritten(uintptr_t from,
                                                                  uintptr_t to) const {
  std::vector<std::pair<uintptr_t, uintptr_t>> ranges;
  for (auto piece = std::prev(pieces.upper_bound(from));
       piece != pieces.end() && piece->first < to;) {
    auto next = std::next(piece);
    uintptr_t pieceEnd = next == pieces.end() ? end : next->first;
    if (piece->second.unwritten)
      ranges.push_back({std::max(from, piece->first), std::min(to, pieceEnd)});
    piece = next;
  }
  return ranges;
}

void AccessLog::forgetWrites(uintptr_t from, uintptr_t to) {
  auto first = cut(from), last = cut(to);
  for (; first != last; ++first)
    first->second.unwritten = true;
  mergeAround(from, to);
}

const AccessMark *AccessLog::findAfter(const VectorClock &clock) const {
  for (const auto &[begin, piece] : pieces) {
    if (!piece.write.isBefore(clock))
      return &piece.write;
    for (const AccessMark &read : piece.reads)
      if (!read.isBefore(clock))
        return &read;
  }
  return nullptr;
}

} // namespace minigptc::runtime::cuda::test
