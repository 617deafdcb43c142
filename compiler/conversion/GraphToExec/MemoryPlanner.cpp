//===- MemoryPlanner.cpp --------------------------------------------------===//
#include "compiler/conversion/GraphToExec/MemoryPlanner.h"

#include <algorithm>
#include <map>
#include <numeric>
#include <tuple>

using namespace minigptc;

namespace {
struct Placed {
  int64_t offset, size;
  size_t buffer;
};

bool overlap(const Lifetime &a, const Lifetime &b) { return a.begin <= b.end && b.begin <= a.end; }

/// The start of the smallest gap of at least `size` bytes between the buffers
/// that are alive with this one; `placed` is sorted by offset.
int64_t findGap(const std::vector<Placed> &placed, const std::vector<Lifetime> &buffers,
                const Lifetime &buffer, int64_t size) {
  int64_t best = -1, bestSize = 0, free = 0; // From `free` on nothing seen so far is in the way.
  for (const Placed &other : placed) {
    if (!overlap(buffers[other.buffer], buffer))
      continue;
    int64_t gap = other.offset - free;
    if (gap >= size && (best < 0 || gap < bestSize)) {
      best = free;
      bestSize = gap;
    }
    free = std::max(free, other.offset + other.size);
  }
  return best < 0 ? free : best;
}
} // namespace

MemoryPlan minigptc::planMemory(const std::vector<Lifetime> &buffers) {
  std::vector<size_t> order(buffers.size());
  std::iota(order.begin(), order.end(), 0);
  std::sort(order.begin(), order.end(), [&](size_t a, size_t b) {
    return std::tuple(-buffers[a].bytes, buffers[a].begin, a) <
           std::tuple(-buffers[b].bytes, buffers[b].begin, b);
  });
  MemoryPlan plan;
  plan.offsets.assign(buffers.size(), 0);
  std::vector<Placed> placed;
  for (size_t index : order) {
    int64_t size = alignBuffer(buffers[index].bytes);
    if (size == 0)
      continue;
    Placed entry = {findGap(placed, buffers, buffers[index], size), size, index};
    plan.offsets[index] = entry.offset;
    plan.size = std::max(plan.size, entry.offset + size);
    auto behind =
        std::upper_bound(placed.begin(), placed.end(), entry,
                         [](const Placed &a, const Placed &b) { return a.offset < b.offset; });
    placed.insert(behind, entry);
  }
  return plan;
}

int64_t minigptc::getPeak(const std::vector<Lifetime> &buffers) {
  std::map<int64_t, int64_t> changes; // at an instruction: bytes born less bytes dead before it
  for (const Lifetime &buffer : buffers) {
    changes[buffer.begin] += alignBuffer(buffer.bytes);
    changes[buffer.end + 1] -= alignBuffer(buffer.bytes);
  }
  int64_t live = 0, peak = 0;
  for (auto [time, change] : changes)
    peak = std::max(peak, live += change);
  return peak;
}
