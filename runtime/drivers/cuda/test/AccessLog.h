//===- AccessLog.h - which operations touched a range of memory -*- C++ -*-===//
//
// For each piece of an allocation: its last write, and the reads since then. Pieces are cut
// where accesses begin and end, and grow together again where they have become equal.
//
//   AccessLog log(begin, bytes);
//   log.access(begin, begin + 64, /*write=*/true, operation, [&](const Conflict &c) { … });
//
// Operations must come in an order that agrees with their clocks. The last write stands for
// all before: one that is unordered with an earlier write was reported when it came.
//
//===----------------------------------------------------------------------===//
#ifndef MINIGPTC_RUNTIME_DRIVERS_CUDA_TEST_ACCESSLOG_H
#define MINIGPTC_RUNTIME_DRIVERS_CUDA_TEST_ACCESSLOG_H

#include "runtime/drivers/cuda/test/Operation.h"

#include <cstdint>
#include <functional>
#include <map>
#include <utility>

namespace minigptc::runtime::cuda::test {

struct AccessMark {
  uint32_t lane = 0;
  uint64_t time = 0; ///< 0: nobody
  std::shared_ptr<const std::string> name;
  bool isBefore(const VectorClock &clock) const { return clock[lane] >= time; }
  bool operator==(const AccessMark &other) const {
    return lane == other.lane && time == other.time;
  }
};

struct Conflict {
  uintptr_t begin, end;
  AccessMark other;
  bool otherWrites;
};

class AccessLog {
public:
  AccessLog(uintptr_t begin, uint64_t bytes);

  /// Reports each piece where an earlier access is not ordered before.
  void access(uintptr_t begin, uintptr_t end, bool write, const AccessMark &by,
              const VectorClock &clock, const std::function<void(const Conflict &)> &report);
  /// The ranges that nobody has written, in order.
  std::vector<std::pair<uintptr_t, uintptr_t>> unwritten(uintptr_t begin, uintptr_t end) const;
  /// The target of a copy is as unwritten as its source.
  void forgetWrites(uintptr_t begin, uintptr_t end);
  /// An access that is not ordered before `clock`, or null.
  const AccessMark *findAfter(const VectorClock &clock) const;

private:
  struct Piece {
    AccessMark write;
    std::vector<AccessMark> reads;
    bool unwritten = true; ///< what the write left is nothing anybody chose
    bool operator==(const Piece &) const = default;
  };
  using Pieces = std::map<uintptr_t, Piece>;

  Pieces::iterator cut(uintptr_t at);
  void mergeAround(uintptr_t begin, uintptr_t end);

  Pieces pieces; ///< by begin; the last one ends at `end`
  uintptr_t end;
};

} // namespace minigptc::runtime::cuda::test

#endif // MINIGPTC_RUNTIME_DRIVERS_CUDA_TEST_ACCESSLOG_H
